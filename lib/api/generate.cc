// rz.h: generating with a callback, one request or many at once.
#include "api/request.h"
#include "api/versioned.h"
#include "engine/generation_group.h"

namespace rz::api {

namespace {

// Calls fn for every event until all have ended; then fills the stats and throws the first error.
void drive(Engine &engine, std::vector<std::unique_ptr<Generation>> generations, rz_event_fn fn, void *user,
           rz_stats *stats) {
  const size_t n = generations.size();
  std::vector<char> stopped(n, 0);  // by its callback: it is not called again
  GenerationGroup group(engine, std::move(generations));
  std::optional<Error> first_error;
  while (const std::optional<GenerationGroup::News> news = group.next()) {
    Generation &generation = *news->generation;
    const auto request = static_cast<uint32_t>(news->index);
    rz_event event = news->event ? to_event(*news->event, request) : end_event(generation, request);
    event.struct_size = sizeof event;
    if (!stopped[news->index] && fn(user, &event) != 0) {
      stopped[news->index] = 1;
      generation.stop_by_callback();
    }
    if (news->event) continue;
    if (stats) give(to_stats(generation), element(stats, news->index));
    if (generation.failure() && !first_error) first_error = *generation.failure();
  }
  if (first_error) throw Error(*first_error);
}

void check_stats(rz_stats *stats, size_t n) {
  if (!stats) return;
  check_out(stats, "stats");
  check_stride(stats, n, "stats");
  for (size_t i = 1; i < n; ++i) element(stats, i)->struct_size = stats->struct_size;
}

}  // namespace

}  // namespace rz::api

using namespace rz::api;

rz_status rz_generate_stream(rz_model *model, const rz_prompt *prompt, const rz_generate_options *options,
                             rz_event_fn fn, void *user, rz_stats *stats, rz_error *err) {
  return guard(err, [&] {
    rz::Engine &engine = engine_of(model);
    if (!fn) rz::fail(rz::Status::Argument, "fn: expected a function, found NULL");
    check_stats(stats, 1);
    std::vector<std::unique_ptr<rz::Generation>> one;
    one.push_back(make_generation(model, prompt, options));
    drive(engine, std::move(one), fn, user, stats);
  });
}

rz_status rz_generate_batch(rz_model *model, const rz_prompt *prompts, size_t n_prompts,
                            const rz_generate_options *options, rz_event_fn fn, void *user, rz_stats *stats,
                            rz_error *err) {
  return guard(err, [&] {
    rz::Engine &engine = engine_of(model);
    if (!fn) rz::fail(rz::Status::Argument, "fn: expected a function, found NULL");
    if (n_prompts == 0) return;
    take(prompts, "prompts");
    check_stride(prompts, n_prompts, "prompts");
    check_stats(stats, n_prompts);
    if (n_prompts > 1 && take_or_default(options, "options").session) {
      rz::fail(rz::Status::Argument, "options.session: one session cannot continue with %zu prompts",
               n_prompts);
    }
    std::vector<std::unique_ptr<rz::Generation>> generations;
    for (size_t i = 0; i < n_prompts; ++i) {
      generations.push_back(make_generation(model, element(prompts, i), options));
    }
    drive(engine, std::move(generations), fn, user, stats);
  });
}
