// What a host is promised about its processors: a model that is not computing uses none, and more threads
// than processors do not slow it down.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "api/host.h"
#include "base/cores.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

using Clock = std::chrono::steady_clock;

// 20 MB of weights in ops of about a megabyte, as those of real models: worth sharing, and over in some tens
// of microseconds, so that waiting for each other shows.
const std::string &shared_work_path() {
  static const std::string path = [] {
    TinyModel model = tiny_model("llama", Type::Q8_0);
    model.layers = 6;
    model.hidden = 512;
    model.heads = 8;
    model.kv_heads = 4;
    model.head_dim = 64;
    model.ffn = 1536;
    return write_tiny_model(model, scratch_folder()).string();
  }();
  return path;
}

ModelHandle load_with(int32_t threads) {
  rz_model_options options = model_options(RZ_MODEL_PREFIX_CACHE_OFF);
  options.threads = threads;
  return load(&options, shared_work_path());
}

double cpu_seconds() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval &t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double decode_seconds(rz_model *model) {
  const auto start = Clock::now();
  const Result result = stream(model, token_prompt(some_tokens(4, 1)), generate_options(64));
  EXPECT_EQ(result.tokens.size(), 64u) << result.message;
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

TEST(Threads, UseNoProcessorBetweenGenerations) {
  for (const int32_t threads : {2, 8}) {
    const ModelHandle model = load_with(threads);
    SessionHandle session;
    RZ_OK_OR_FAIL(rz_session_open(model, nullptr, session.out(), &err));
    const Tokens tokens = some_tokens(8, 2);
    RZ_OK_OR_FAIL(rz_session_eval(session, tokens.data(), tokens.size(), nullptr, 0, &err));
    decode_seconds(model);
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(cpu_seconds() - before, 0.010) << threads << " threads";
    decode_seconds(model);  // it was asleep, not gone
  }
}

// Runs take turns, so that whoever else uses the machine disturbs both alike; what is left of that may still
// spoil one comparison, hardly three.
TEST(Threads, PastTheProcessorsKeepTheSpeedOfThose) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "instrumented code has another speed";
#endif
  if (usable_cores() >= 8) GTEST_SKIP() << "8 threads have a processor each";
  constexpr double kKept = 0.7;
  const ModelHandle fitting = load_with(std::min(2, usable_cores())), many = load_with(8);
  double kept = 0;
  for (int attempt = 0; attempt < 3 && kept < kKept; ++attempt) {
    std::vector<double> few_seconds, many_seconds;
    for (int run = 0; run < 9; ++run) {
      few_seconds.push_back(decode_seconds(fitting));
      many_seconds.push_back(decode_seconds(many));
    }
    kept = median(few_seconds) / median(many_seconds);
  }
  EXPECT_GE(kept, kKept);
}

}  // namespace
}  // namespace rz::test
