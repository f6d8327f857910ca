#include "api/host.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "support/shared_data.h"

namespace rz::test {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStack = 1 << 20;
#else
constexpr size_t kStack = 64 << 10;
#endif

std::string write(uint64_t seed) {
  TinyModel model = tiny_model("llama");
  model.seed = seed;
  return write_tiny_model(model, scratch_folder()).string();
}

int32_t add_to(void *user, const rz_event *event) {
  static_cast<Result *>(user)->add(*event);
  return 0;
}

int32_t add_to_one_of(void *user, const rz_event *event) {
  (*static_cast<std::vector<Result> *>(user))[event->request].add(*event);
  return 0;
}

}  // namespace

const std::string &tiny_path() {
  static const std::string path = write(1);
  return path;
}

const std::string &other_tiny_path() {
  static const std::string path = write(2);
  return path;
}

rz_model_options model_options(uint32_t flags) {
  rz_model_options options = RZ_INIT(rz_model_options);
  options.flags = flags;
  options.threads = 2;
  options.device = "cpu";  // "auto" would be a GPU where there is one
  return options;
}

ModelHandle load(const rz_model_options *options, const std::string &path) {
  const rz_model_options usual = model_options();
  rz_error err = RZ_INIT(rz_error);
  ModelHandle model;
  EXPECT_EQ(rz_model_load(path.c_str(), options ? options : &usual, model.out(), &err), RZ_OK) << err.message;
  return model;
}

rz_prompt text_prompt(const char *text) {
  rz_prompt prompt = RZ_INIT(rz_prompt);
  prompt.text = text;
  prompt.text_len = RZ_ZSTR;
  return prompt;
}

rz_prompt token_prompt(const Tokens &tokens) {
  rz_prompt prompt = RZ_INIT(rz_prompt);
  prompt.tokens = tokens.data();
  prompt.n_tokens = tokens.size();
  return prompt;
}

Tokens some_tokens(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens(n);
  for (int32_t &token : tokens) token = 259 + static_cast<int32_t>(random() % 120);
  return tokens;
}

rz_generate_options generate_options(int32_t max_tokens) {
  rz_generate_options options = RZ_INIT(rz_generate_options);
  options.flags = RZ_GENERATE_IGNORE_EOS;
  options.max_tokens = max_tokens;
  return options;
}

void Result::add(const rz_event &event) {
  text.append(event.text, event.text_len);
  if (event.type == RZ_EVENT_END) finish = event.finish;
  if (event.type != RZ_EVENT_TOKEN) return;
  EXPECT_EQ(event.index, tokens.size());
  tokens.push_back(event.token);
  logprobs.push_back(event.logprob);
  pieces.emplace_back(event.text, event.text_len);
}

Result stream(rz_model *model, const rz_prompt &prompt, const rz_generate_options &options) {
  Result result;
  rz_error err = RZ_INIT(rz_error);
  result.status = rz_generate_stream(model, &prompt, &options, add_to, &result, &result.stats, &err);
  result.message = err.message;
  return result;
}

Result pull(rz_model *model, const rz_prompt &prompt, const rz_generate_options &options) {
  Result result;
  rz_error err = RZ_INIT(rz_error);
  GenerationHandle generation;
  result.status = rz_generation_start(model, &prompt, &options, generation.out(), &err);
  rz_event event = RZ_INIT(rz_event);
  while (result.status == RZ_OK && event.type != RZ_EVENT_END) {
    result.status = rz_generation_next(generation, -1, &event, &err);
    if (event.type != 0) result.add(event);
  }
  if (generation) rz_generation_get_stats(generation, &result.stats, nullptr);
  result.message = err.message;
  return result;
}

std::vector<Result> batch(rz_model *model, const std::vector<rz_prompt> &prompts,
                          const rz_generate_options &options) {
  std::vector<Result> results(prompts.size());
  std::vector<rz_stats> stats(prompts.size(), RZ_INIT(rz_stats));
  rz_error err = RZ_INIT(rz_error);
  const rz_status status = rz_generate_batch(model, prompts.data(), prompts.size(), &options, add_to_one_of,
                                             &results, stats.data(), &err);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].status = status;
    results[i].message = err.message;
    results[i].stats = stats[i];
  }
  return results;
}

void on_small_stack(void (*work)(void *), void *user) {
  struct Call {
    void (*work)(void *);
    void *user;
  } call{work, user};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto run = [](void *c) -> void * {
    static_cast<Call *>(c)->work(static_cast<Call *>(c)->user);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &call), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace rz::test
