#include "engine/generation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "engine/generation_group.h"
#include "engine/lab.h"
#include "support/error_of.h"

namespace rz {
namespace {

using namespace test;
using std::chrono::milliseconds;

class AGeneration : public EitherWay {};
RZ_EITHER_WAY(AGeneration);
class AGenerationGroup : public EitherWay {};
RZ_EITHER_WAY(AGenerationGroup);

constexpr Clock::time_point kForever = Clock::time_point::max();

TEST_P(AGeneration, GivesTheGreedyContinuation) {
  Lab lab;
  const Tokens prompt = random_tokens(70, 1);
  const Collected all = collect(lab.engine(), request(prompt, 100));
  EXPECT_EQ(all.tokens, greedy_continuation(prompt, 100));
  EXPECT_EQ(all.finish, Finish::Length);
  TextStream stream(lab.tokenizer(), {}, false, false);
  std::string text;
  for (const int32_t token : all.tokens) text += stream.push(token).text;
  EXPECT_EQ(all.text, text.append(stream.finish().text));
}

TEST_P(AGeneration, GivesTheSameForAnyChunkingOfThePrompt) {
  const Tokens prompt = random_tokens(100, 2);
  for (const int32_t rows : {1, 7, 32, 100, 128}) {
    LabOptions options;
    options.rows = rows;
    Lab lab(options);
    EXPECT_EQ(collect(lab.engine(), request(prompt, 40)).tokens, greedy_continuation(prompt, 40)) << rows;
    EXPECT_LE(lab.fake().largest_batch, rows);
  }
}

TEST_P(AGeneration, EndsWithTheContext) {
  LabOptions options;
  options.context = 48;
  Lab lab(options);
  const Collected all = collect(lab.engine(), request(random_tokens(40, 3), 0));
  EXPECT_EQ(all.tokens.size(), 8u);
  EXPECT_EQ(all.finish, Finish::Length);
  const Collected none = collect(lab.engine(), request(random_tokens(48, 3), 0));
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(none.finish, Finish::Length);
}

TEST_P(AGeneration, RefusesAPromptLongerThanTheContext) {
  LabOptions options;
  options.context = 48;
  Lab lab(options);
  const Error error = error_of([&] { start(lab.engine(), request(random_tokens(49, 3), 0)); });
  EXPECT_EQ(error.status(), Status::Context);
  EXPECT_NE(std::string(error.what()).find("49"), std::string::npos);
  EXPECT_NE(std::string(error.what()).find("48"), std::string::npos);
  EXPECT_EQ(error_of([&] { start(lab.engine(), request({}, 0)); }).status(), Status::Argument);
}

TEST_P(AGeneration, StopsAtAStopTokenWithoutHandingItOut) {
  Lab lab;
  const Tokens prompt = random_tokens(20, 4);
  const Tokens expected = greedy_continuation(prompt, 6);
  GenerateRequest stopping = request(prompt, 50);
  stopping.stop_tokens = {expected[5]};
  const Collected all = collect(lab.engine(), stopping);
  const auto first = std::find(expected.begin(), expected.end(), expected[5]);
  EXPECT_EQ(all.tokens, Tokens(expected.begin(), first));
  EXPECT_EQ(all.finish, Finish::Stop);

  GenerateRequest ending = request(prompt, 50);
  ending.ignore_eos = false;
  ending.sampling.biases = {{kEndToken, 100}};
  const Collected nothing = collect(lab.engine(), ending);
  EXPECT_TRUE(nothing.tokens.empty());
  EXPECT_EQ(nothing.finish, Finish::Stop);
}

TEST_P(AGeneration, HandsOutNoPartOfAStopString) {
  Lab lab;
  const Tokens prompt = random_tokens(20, 5);
  const std::string whole = collect(lab.engine(), request(prompt, 60)).text;
  for (const size_t at : {3u, 10u, 25u}) {
    GenerateRequest stopping = request(prompt, 60);
    stopping.stop_strings = {whole.substr(at, 4)};
    const Collected all = collect(lab.engine(), stopping);
    EXPECT_EQ(all.text, whole.substr(0, whole.find(whole.substr(at, 4))));
    EXPECT_EQ(all.finish, Finish::Stop);
  }
}

TEST_P(AGeneration, HandsOutHeldTextWhenItEnds) {
  Lab lab;
  const Tokens prompt = random_tokens(20, 5);
  const std::string whole = collect(lab.engine(), request(prompt, 60)).text;
  GenerateRequest held = request(prompt, 60);
  held.stop_strings = {whole.substr(whole.size() - 2) + "never"};
  EXPECT_EQ(collect(lab.engine(), held).text, whole);
}

TEST_P(AGeneration, GivesCharactersWholeWhoseBytesAreTokensOfTheirOwn) {
  Lab lab;
  GenerateRequest emoji = request(random_tokens(5, 6), 8);
  int32_t step = 0;
  emoji.logits_user = &step;
  emoji.on_logits = [](void *user, float *logits, size_t, const int32_t *, size_t) {
    auto &next = *static_cast<int32_t *>(user);
    logits[kEmojiFirst + next++ % 4] = 1000;
    return 0;
  };
  auto generation = start(lab.engine(), std::move(emoji));
  std::vector<std::string> texts;
  const Event *event = nullptr;
  while (generation->next(kForever, &event) == Generation::Next::Event) texts.push_back(event->text);
  const std::string face = "\xF0\x9F\x98\x80";
  EXPECT_EQ(texts, (std::vector<std::string>{"", "", "", face, "", "", "", face}));
}

TEST_P(AGeneration, ReportsLogprobsOfTheModelsOwnDistribution) {
  Lab lab;
  const Tokens prompt = random_tokens(9, 7);
  GenerateRequest asking = request(prompt, 3);
  asking.sampling.logprobs = 4;
  asking.sampling.biases = {{13, 50}};
  auto generation = start(lab.engine(), asking);
  const Event *event = nullptr;
  ASSERT_EQ(generation->next(kForever, &event), Generation::Next::Event);
  float logits[kFakeVocab];
  fake_logits(prompt, logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_EQ(event->token, 13);
  EXPECT_NEAR(event->logprob, static_cast<double>(logits[13]) - std::log(sum), 1e-4);
  ASSERT_EQ(event->top.size(), 4u);
  EXPECT_EQ(event->top[0].token, greedy_continuation(prompt, 1)[0]);
  EXPECT_GE(event->top[0].logprob, event->top[1].logprob);
}

TEST_P(AGeneration, LetsTheHostChangeTheLogitsAndStopThere) {
  Lab lab;
  struct Host {
    Tokens seen;
    int32_t calls = 0;
  } host;
  GenerateRequest asking = request({5, 6, 7}, 0);
  asking.logits_user = &host;
  asking.on_logits = [](void *user, float *logits, size_t n, const int32_t *tokens, size_t n_tokens) {
    auto &h = *static_cast<Host *>(user);
    EXPECT_EQ(n, static_cast<size_t>(kFakeVocab));
    h.seen.assign(tokens, tokens + n_tokens);
    logits[42] = 1e6f;
    return h.calls++ == 3 ? 1 : 0;
  };
  const Collected all = collect(lab.engine(), asking);
  EXPECT_EQ(all.tokens, (Tokens{42, 42, 42}));
  EXPECT_EQ(host.seen, (Tokens{5, 6, 7, 42, 42, 42}));
  EXPECT_EQ(all.finish, Finish::Callback);
}

TEST_P(AGeneration, TellsHowFarThePromptIs) {
  LabOptions options;
  options.rows = 16;
  Lab lab(options);
  GenerateRequest asking = request(random_tokens(60, 8), 2);
  asking.prefill_events = true;
  const Collected all = collect(lab.engine(), asking);
  ASSERT_FALSE(all.prefill.empty());
  EXPECT_TRUE(std::is_sorted(all.prefill.begin(), all.prefill.end()));
  EXPECT_EQ(all.prefill.back(), 60u);
  EXPECT_EQ(all.tokens.size(), 2u);
}

TEST_P(AGeneration, WaitsForASlowHostAndLosesNothing) {
  Lab lab;
  const Tokens prompt = random_tokens(10, 9);
  auto slow = start(lab.engine(), request(prompt, 400));
  std::this_thread::sleep_for(milliseconds(50));  // the ring is full by now
  const Collected other = collect(lab.engine(), request(prompt, 30));
  EXPECT_EQ(other.tokens, greedy_continuation(prompt, 30));
  EXPECT_EQ(collect(*slow).tokens, greedy_continuation(prompt, 400));
}

TEST_P(AGeneration, KeepsSayingThatItHasEnded) {
  Lab lab;
  auto generation = start(lab.engine(), request({1, 2, 3}, 2));
  collect(*generation);
  const Event *event = nullptr;
  EXPECT_EQ(generation->next(kForever, &event), Generation::Next::End);
  EXPECT_EQ(generation->next(Clock::now(), &event), Generation::Next::End);
  generation->cancel();
  EXPECT_EQ(generation->finish(), Finish::Length);
}

TEST_P(AGeneration, StopsInTheMiddleOfALongPromptWhenCancelled) {
  LabOptions options;
  options.rows = 400;
  options.op_time = milliseconds(50);  // a step takes 400 ms
  Lab lab(options);
  auto generation = start(lab.engine(), request(random_tokens(400, 10), 10));
  std::this_thread::sleep_for(milliseconds(20));
  const Clock::time_point cancelled = Clock::now();
  generation->cancel();
  EXPECT_EQ(collect(*generation).finish, Finish::Cancelled);
  EXPECT_LT(Clock::now() - cancelled, milliseconds(250));
  EXPECT_EQ(lab.fake().finished_runs, 0);
}

TEST_P(AGeneration, EndsAtItsDeadlineInsideAPrompt) {
  LabOptions options;
  options.rows = 400;
  options.op_time = milliseconds(50);
  Lab lab(options);
  GenerateRequest late = request(random_tokens(400, 10), 10);
  late.deadline_ms = 60;
  EXPECT_EQ(collect(lab.engine(), late).finish, Finish::Deadline);
  EXPECT_EQ(lab.fake().finished_runs, 0);
}

TEST_P(AGeneration, EndsAtItsDeadlineBetweenTokens) {
  LabOptions options;
  options.op_time = std::chrono::microseconds(300);
  Lab lab(options);
  GenerateRequest late = request(random_tokens(4, 10), 0);
  late.deadline_ms = 60;
  const Collected all = collect(lab.engine(), late);
  EXPECT_EQ(all.finish, Finish::Deadline);
  EXPECT_EQ(all.tokens, greedy_continuation(random_tokens(4, 10), static_cast<int32_t>(all.tokens.size())));
}

TEST_P(AGeneration, GivesNothingWhileThereIsNothing) {
  LabOptions options;
  options.op_time = milliseconds(20);
  Lab lab(options);
  auto generation = start(lab.engine(), request({1, 2}, 1));
  const Event *event = nullptr;
  EXPECT_EQ(generation->next(Clock::now(), &event), Generation::Next::Nothing);
  EXPECT_EQ(generation->next(Clock::now() + milliseconds(10), &event), Generation::Next::Nothing);
  EXPECT_EQ(generation->next(kForever, &event), Generation::Next::Event);
}

TEST_P(AGeneration, CountsWhatItDid) {
  Lab lab;
  const Tokens prompt = random_tokens(70, 11);
  collect(lab.engine(), request(prompt, 5));
  auto again = start(lab.engine(), request(prompt, 5));
  collect(*again);
  const GenerationStats stats = again->stats();
  EXPECT_EQ(stats.prompt_tokens, 70u);
  EXPECT_EQ(stats.cached_tokens, 64u);
  EXPECT_EQ(stats.generated_tokens, 5u);
  EXPECT_EQ(stats.finish, Finish::Length);
  EXPECT_LE(stats.queued, stats.first_token);
  EXPECT_LE(stats.first_token, stats.total);
  EXPECT_LE(stats.decode, stats.total);
}

TEST_P(AGenerationGroup, GivesEachItsOwnResult) {
  Lab lab;
  std::vector<std::unique_ptr<Generation>> generations;
  std::vector<Tokens> prompts;
  for (uint32_t i = 0; i < 9; ++i) {
    prompts.push_back(random_tokens(3 + 11 * i, 20 + i));
    generations.push_back(std::make_unique<Generation>(lab.engine(), request(prompts.back(), 20)));
  }
  GenerationGroup group(lab.engine(), std::move(generations));
  std::vector<Collected> all(prompts.size());
  size_t ends = 0;
  while (const auto news = group.next()) {
    if (news->event) {
      take(all[news->index], *news->event);
    } else {
      ++ends;
    }
  }
  EXPECT_EQ(ends, prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(all[i].tokens, greedy_continuation(prompts[i], 20)) << i;
  EXPECT_EQ(lab.fake().most_sequences, 4);
}

}  // namespace
}  // namespace rz
