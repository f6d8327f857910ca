// rz.h: generating without callbacks, and stepping by hand.
#include "api/request.h"
#include "api/versioned.h"

using namespace rz::api;

rz_status rz_generation_start(rz_model *model, const rz_prompt *prompt, const rz_generate_options *options,
                              rz_generation **out, rz_error *err) {
  return guard(err, [&] {
    need(out, "out");
    *out = nullptr;
    rz::Engine &engine = engine_of(model);
    std::unique_ptr<rz_generation> handle(new rz_generation{ModelReference(model), nullptr});
    handle->generation = make_generation(model, prompt, options);
    rz::Generation::start(engine, {&handle->generation, 1});
    *out = handle.release();
  });
}

rz_status rz_generation_next(rz_generation *handle, int32_t timeout_ms, rz_event *out, rz_error *err) {
  return guard(err, [&]() -> rz_status {
    need(handle, "generation");
    check_out(out, "out");
    if (timeout_ms < -1)
      rz::fail(rz::Status::Argument, "timeout_ms: expected -1 or more, found %d", timeout_ms);
    rz::Generation &generation = *handle->generation;
    rz::Clock::time_point until = rz::Clock::time_point::max();
    if (timeout_ms >= 0) until = rz::Clock::now() + std::chrono::milliseconds(timeout_ms);
    const rz::Event *event = nullptr;
    switch (generation.next(until, &event)) {
      case rz::Generation::Next::Event:
        give(to_event(*event, 0), out);
        return RZ_OK;
      case rz::Generation::Next::End:
        give(end_event(generation, 0), out);
        if (const auto &failure = generation.failure())
          return report(err, failure->status(), failure->what());
        return RZ_OK;
      case rz::Generation::Next::Nothing:
        break;
    }
    give(rz_event{}, out);
    return report(err, rz::Status::Timeout, "nothing happened within timeout_ms");
  });
}

void rz_generation_cancel(rz_generation *handle) {
  if (handle) guard(nullptr, [&] { handle->generation->cancel(); });
}

rz_status rz_generation_get_stats(const rz_generation *handle, rz_stats *out, rz_error *err) {
  return guard(err, [&] {
    need(handle, "generation");
    check_out(out, "out");
    give(to_stats(*handle->generation), out);
  });
}

void rz_generation_free(rz_generation *handle) { delete handle; }

rz_status rz_model_step(rz_model *model, uint32_t budget_us, int32_t *work_left, rz_error *err) {
  return guard(err, [&] {
    const bool left = engine_of(model).step(budget_us);
    if (work_left) *work_left = left ? 1 : 0;
  });
}
