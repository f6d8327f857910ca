// Generating by the C API: every form gives the same, and every option does what rz.h says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "api/host.h"

namespace rz::test {
namespace {

TEST(Generate, GivesTheSameByEveryForm) {
  const ModelHandle model = load();
  for (const float temperature : {0.0f, 0.9f}) {
    rz_generate_options options = generate_options(40);
    options.temperature = temperature;
    options.seed = 7;
    const rz_prompt prompt = text_prompt("the cat sat");
    const Result streamed = stream(model, prompt, options);
    ASSERT_EQ(streamed.status, RZ_OK) << streamed.message;
    EXPECT_EQ(streamed.tokens.size(), 40u);
    EXPECT_EQ(streamed.finish, RZ_FINISH_LENGTH);
    const Result pulled = pull(model, prompt, options);
    EXPECT_EQ(pulled.tokens, streamed.tokens);
    EXPECT_EQ(pulled.logprobs, streamed.logprobs);
    EXPECT_EQ(pulled.text, streamed.text);
    EXPECT_EQ(batch(model, {prompt}, options)[0].tokens, streamed.tokens);
  }
}

TEST(Generate, ComputesBatchesAsIfEachWereAlone) {
  const ModelHandle model = load();
  std::vector<Tokens> tokens;
  std::vector<rz_prompt> prompts;
  for (uint32_t i = 0; i < 20; ++i) tokens.push_back(some_tokens(1 + 7 * i, i));
  for (const Tokens &t : tokens) prompts.push_back(token_prompt(t));
  rz_generate_options options = generate_options(24);
  options.temperature = 0.7f;
  const std::vector<Result> together = batch(model, prompts, options);
  const ModelHandle fresh = load();
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Result alone = stream(fresh, prompts[i], options);
    EXPECT_EQ(together[i].tokens, alone.tokens) << i;
    EXPECT_EQ(together[i].logprobs, alone.logprobs) << i;
    EXPECT_EQ(together[i].stats.generated_tokens, 24u);
    EXPECT_EQ(together[i].stats.finish, RZ_FINISH_LENGTH);
  }
}

TEST(Generate, GivesTheSameInAnyNumberOfThreadsAndHosts) {
  rz_model_options one = model_options();
  one.threads = 1;
  const ModelHandle reference = load(&one), model = load();
  std::vector<Result> results(8);
  std::vector<std::thread> hosts;
  for (uint32_t i = 0; i < 8; ++i) {
    hosts.emplace_back([&, i] {
      const Tokens prompt = some_tokens(20 + 9 * i, i);
      results[i] = i % 2 ? stream(model, token_prompt(prompt), generate_options(30))
                         : pull(model, token_prompt(prompt), generate_options(30));
    });
  }
  for (std::thread &host : hosts) host.join();
  for (uint32_t i = 0; i < 8; ++i) {
    const Tokens prompt = some_tokens(20 + 9 * i, i);
    const Result alone = stream(reference, token_prompt(prompt), generate_options(30));
    EXPECT_EQ(results[i].tokens, alone.tokens) << i;
    EXPECT_EQ(results[i].logprobs, alone.logprobs) << i;
  }
}

TEST(Generate, EndsBeforeAStopString) {
  const ModelHandle model = load();
  const rz_prompt prompt = text_prompt("once");
  const std::string whole = stream(model, prompt, generate_options(60)).text;
  ASSERT_GT(whole.size(), 30u);
  const std::string stop = "\xEF\xBF\xBD";  // U+FFFD, of bytes that are no character
  std::string wanted = whole.substr(12, 5);
  if (wanted.find('\xEF') != std::string::npos || (wanted[0] & 0x80) != 0) wanted = stop;
  const rz_span span{wanted.data(), wanted.size()};
  rz_generate_options options = generate_options(60);
  options.stop_strings = &span;
  options.n_stop_strings = 1;
  const Result result = stream(model, prompt, options);
  ASSERT_EQ(result.status, RZ_OK) << result.message;
  EXPECT_EQ(result.text, whole.substr(0, whole.find(wanted)));
  EXPECT_EQ(result.finish, RZ_FINISH_STOP);
}

// Chooses the tokens that the test wants: ids of the bytes of U+1F600 in the tiny vocabulary.
int32_t choose_face(void *user, float *logits, size_t n, const int32_t *, size_t) {
  const auto i = (*static_cast<size_t *>(user))++;
  const unsigned char bytes[] = {0xF0, 0x9F, 0x98, 0x80};
  std::fill_n(logits, n, 0.0f);
  logits[3 + bytes[i % 4]] = 100;
  return 0;
}

TEST(Generate, HandsOutWholeCharactersOnly) {
  const ModelHandle model = load();
  size_t calls = 0;
  rz_generate_options options = generate_options(8);
  options.on_logits = choose_face;
  options.logits_user = &calls;
  const std::string face = "\xF0\x9F\x98\x80";
  EXPECT_EQ(stream(model, text_prompt("a"), options).pieces,
            (std::vector<std::string>{"", "", "", face, "", "", "", face}));
}

TEST(Generate, ReportsLogprobs) {
  const ModelHandle model = load();
  rz_generate_options options = generate_options(5);
  options.logprobs = 389;  // all of them
  double sum = 0;
  const auto check = [](void *user, const rz_event *event) -> int32_t {
    if (event->type != RZ_EVENT_TOKEN) return 0;
    EXPECT_EQ(event->n_top, 389u);
    EXPECT_EQ(event->top[0].token, event->token);
    EXPECT_EQ(event->top[0].logprob, event->logprob);
    for (size_t i = 0; i < event->n_top; ++i)
      *static_cast<double *>(user) += std::exp(double{event->top[i].logprob});
    return 0;
  };
  const rz_prompt prompt = text_prompt("a");
  RZ_OK_OR_FAIL(rz_generate_stream(model, &prompt, &options, check, &sum, nullptr, &err));
  EXPECT_NEAR(sum, 5, 1e-4);
}

TEST(Generate, StopsWhereTheCallbackSaysSo) {
  const ModelHandle model = load();
  int calls = 0;
  const auto stop_at_third = [](void *user, const rz_event *) -> int32_t {
    return ++*static_cast<int *>(user) == 3;
  };
  const rz_prompt prompt = text_prompt("a");
  const rz_generate_options options = generate_options(50);
  rz_stats stats = RZ_INIT(rz_stats);
  RZ_OK_OR_FAIL(rz_generate_stream(model, &prompt, &options, stop_at_third, &calls, &stats, &err));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(stats.finish, RZ_FINISH_CALLBACK);
  EXPECT_EQ(stats.generated_tokens, 3u);
}

TEST(Generate, StopsOneOfABatchAndGoesOnWithTheOthers) {
  const ModelHandle model = load();
  const rz_prompt prompts[] = {text_prompt("a"), text_prompt("b"), text_prompt("c")};
  const auto stop_second = [](void *, const rz_event *event) -> int32_t { return event->request == 1; };
  const rz_generate_options options = generate_options(20);
  std::vector<rz_stats> stats(3, RZ_INIT(rz_stats));
  RZ_OK_OR_FAIL(rz_generate_batch(model, prompts, 3, &options, stop_second, nullptr, stats.data(), &err));
  EXPECT_EQ(stats[0].generated_tokens, 20u);
  EXPECT_EQ(stats[1].finish, RZ_FINISH_CALLBACK);
  EXPECT_EQ(stats[1].generated_tokens, 1u);
  EXPECT_EQ(stats[2].generated_tokens, 20u);
}

TEST(Generate, IsCancelledFromAnotherThread) {
  const ModelHandle model = load();
  const rz_prompt prompt = text_prompt("a");
  const rz_generate_options options = generate_options(0);
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, generation.out(), &err));
  std::thread other([&] { rz_generation_cancel(generation); });
  rz_event event = RZ_INIT(rz_event);
  while (event.type != RZ_EVENT_END) RZ_OK_OR_FAIL(rz_generation_next(generation, -1, &event, &err));
  other.join();
  EXPECT_TRUE(event.finish == RZ_FINISH_CANCELLED || event.finish == RZ_FINISH_LENGTH);
  RZ_OK_OR_FAIL(rz_generation_next(generation, 0, &event, &err));
  EXPECT_EQ(event.type, RZ_EVENT_END);
}

TEST(Generate, TellsThatNothingHappenedInTime) {
  const rz_model_options manual = model_options(RZ_MODEL_MANUAL_STEP);
  const ModelHandle model = load(&manual);
  const rz_prompt prompt = text_prompt("a");
  const rz_generate_options options = generate_options(3);
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, generation.out(), &err));
  rz_event event = RZ_INIT(rz_event);
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_generation_next(generation, 0, &event, &err), RZ_E_TIMEOUT);
  EXPECT_EQ(err.code, RZ_E_TIMEOUT);
  EXPECT_EQ(event.type, 0);
}

TEST(Generate, StepsByHandAsTheThreadWould) {
  const Tokens tokens = some_tokens(150, 1);
  const Result expected = stream(load(), token_prompt(tokens), generate_options(20));
  const rz_model_options manual = model_options(RZ_MODEL_MANUAL_STEP);
  const ModelHandle model = load(&manual);
  EXPECT_EQ(stream(model, token_prompt(tokens), generate_options(20)).tokens, expected.tokens);

  const ModelHandle stepped = load(&manual);
  const rz_prompt prompt = token_prompt(tokens);
  const rz_generate_options options = generate_options(20);
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(stepped, &prompt, &options, generation.out(), &err));
  Result result;
  int32_t work_left = 1, steps = 0;
  for (; work_left; ++steps) RZ_OK_OR_FAIL(rz_model_step(stepped, 1, &work_left, &err));
  EXPECT_GT(steps, 20 * 10);  // one op at a time
  rz_event event = RZ_INIT(rz_event);
  while (rz_generation_next(generation, 0, &event, nullptr) == RZ_OK && event.type != RZ_EVENT_END)
    result.add(event);
  EXPECT_EQ(result.tokens, expected.tokens);
  EXPECT_EQ(result.logprobs, expected.logprobs);
}

TEST(Generate, CountsAndTimes) {
  const ModelHandle model = load();
  const Tokens tokens = some_tokens(100, 3);
  stream(model, token_prompt(tokens), generate_options(4));
  const Result again = stream(model, token_prompt(tokens), generate_options(4));
  EXPECT_EQ(again.stats.prompt_tokens, 100u);
  EXPECT_EQ(again.stats.cached_tokens, 96u);
  EXPECT_EQ(again.stats.generated_tokens, 4u);
  EXPECT_LE(again.stats.first_token_us, again.stats.total_us);

  const rz_model_options off = model_options(RZ_MODEL_PREFIX_CACHE_OFF);
  const ModelHandle forgetful = load(&off);
  stream(forgetful, token_prompt(tokens), generate_options(4));
  const Result uncached = stream(forgetful, token_prompt(tokens), generate_options(4));
  EXPECT_EQ(uncached.stats.cached_tokens, 0u);
  EXPECT_EQ(uncached.tokens, again.tokens);
}

TEST(Generate, ReportsTheErrorOfAPromptThatIsTooLong) {
  const ModelHandle model = load();
  const Result result = stream(model, token_prompt(some_tokens(300, 1)), generate_options(4));
  EXPECT_EQ(result.status, RZ_E_CONTEXT);
  EXPECT_NE(result.message.find("300"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("256"), std::string::npos) << result.message;
}

TEST(Generate, SaysWhatIsNotSupported) {
  const ModelHandle model = load();
  const rz_prompt prompt = text_prompt("a");
  const auto refused = [&](void (*set)(rz_generate_options &)) {
    rz_generate_options options = generate_options(1);
    set(options);
    const Result result = stream(model, prompt, options);
    EXPECT_NE(result.message, "");
    return result.status == RZ_E_UNSUPPORTED;
  };
  EXPECT_TRUE(refused([](auto &o) { o.grammar = "root ::= \"a\""; }));
  EXPECT_TRUE(refused([](auto &o) { o.json_schema = "{}"; }));
  EXPECT_TRUE(refused([](auto &o) { o.draft_tokens = 4; }));
  rz_message message = RZ_INIT(rz_message);
  rz_prompt chat = RZ_INIT(rz_prompt);
  chat.messages = &message;
  chat.n_messages = 1;
  EXPECT_EQ(stream(model, chat, generate_options(1)).status, RZ_E_UNSUPPORTED);
  size_t count = 0;
  EXPECT_EQ(rz_chat_format(model, &chat, nullptr, 0, &count, nullptr), RZ_E_UNSUPPORTED);
}

TEST(Generate, ProfilesOnDemand) {
  const ModelHandle model = load();
  rz_generate_options options = generate_options(3);
  options.flags |= RZ_GENERATE_PROFILE;
  stream(model, text_prompt("a"), options);
  size_t count = 0;
  EXPECT_EQ(rz_model_profile(model, nullptr, 0, &count, nullptr), RZ_E_BUFFER);
  ASSERT_GT(count, 3u);
  std::vector<rz_profile_entry> entries(count, RZ_INIT(rz_profile_entry));
  RZ_OK_OR_FAIL(rz_model_profile(model, entries.data(), entries.size(), &count, &err));
  uint64_t calls = 0, flops = 0;
  for (const rz_profile_entry &entry : entries) {
    EXPECT_NE(entry.op, nullptr);
    calls += entry.calls;
    flops += entry.flops;
  }
  EXPECT_GT(calls, 0u);
  EXPECT_GT(flops, 0u);
}

}  // namespace
}  // namespace rz::test
