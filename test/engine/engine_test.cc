#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "engine/allocation_count.h"
#include "engine/embedding.h"
#include "engine/lab.h"
#include "support/error_of.h"

namespace rz {
namespace {

using namespace test;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class TheEngine : public EitherWay {};
RZ_EITHER_WAY(TheEngine);

TEST_P(TheEngine, ComputesManyAtOnceAsIfAlone) {
  Lab lab;
  std::vector<std::thread> hosts;
  std::vector<Tokens> results(8);
  for (uint32_t i = 0; i < 8; ++i) {
    hosts.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        results[i] = collect(lab.engine(), request(random_tokens(10 + 9 * i, 100 + i), 50)).tokens;
      }
    });
  }
  for (std::thread &host : hosts) host.join();
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(results[i], greedy_continuation(random_tokens(10 + 9 * i, 100 + i), 50)) << i;
  }
}

TEST_P(TheEngine, SurvivesCancelsAndFreesFromEverywhere) {
  LabOptions options;
  options.op_time = microseconds(20);
  Lab lab(options);
  std::vector<std::thread> hosts;
  std::atomic<int32_t> wrong{0};
  for (uint32_t i = 0; i < 6; ++i) {
    hosts.emplace_back([&, i] {
      for (uint32_t round = 0; round < 15; ++round) {
        const Tokens prompt = random_tokens(5 + (17 * i + 31 * round) % 120, i);
        auto generation = start(lab.engine(), request(prompt, 40));
        if (i % 3 == 0) {
          std::thread canceller([&] { generation->cancel(); });
          collect(*generation);
          canceller.join();
        } else if (i % 3 == 1) {
          const Event *event = nullptr;
          generation->next(Clock::now() + microseconds(300), &event);  // then freed
        } else if (collect(*generation).tokens != greedy_continuation(prompt, 40)) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread &host : hosts) host.join();
  EXPECT_EQ(wrong, 0);
  const Engine::Lock lock = lab.engine().lock();
  EXPECT_EQ(lab.engine().pool().stats().used, 0);
}

TEST_P(TheEngine, PutsTheYoungestAsideWhenPagesRunOut) {
  LabOptions options;
  options.pages = 10;  // 320 tokens, where four of 140 want to be
  options.context = 160;
  for (const bool keep_prefixes : {true, false}) {
    options.keep_prefixes = keep_prefixes;
    Lab lab(options);
    std::vector<std::unique_ptr<Generation>> generations;
    for (uint32_t i = 0; i < 4; ++i)
      generations.push_back(start(lab.engine(), request(random_tokens(40, i), 100)));
    for (uint32_t i = 4; i-- > 0;) {
      EXPECT_EQ(collect(*generations[i]).tokens, greedy_continuation(random_tokens(40, i), 100)) << i;
    }
  }
}

TEST_P(TheEngine, TakesPagesFromThoseThatWaitForTheirHost) {
  LabOptions options;
  options.pages = 16;
  Lab lab(options);
  const Tokens prompt = random_tokens(60, 1);
  auto slow = start(lab.engine(), request(prompt, 400));  // fills its ring, then waits, holding 10 pages
  std::this_thread::sleep_for(milliseconds(50));
  const Tokens other = random_tokens(300, 2);
  EXPECT_EQ(collect(lab.engine(), request(other, 50)).tokens, greedy_continuation(other, 50));
  EXPECT_EQ(collect(*slow).tokens, greedy_continuation(prompt, 400));
}

TEST_P(TheEngine, RefusesAtOnceWhatCouldNeverFit) {
  LabOptions options;
  options.pages = 4;
  Lab lab(options);
  const Error error = error_of([&] { start(lab.engine(), request(random_tokens(129, 1), 1)); });
  EXPECT_EQ(error.status(), Status::Limit);
  EXPECT_NE(std::string(error.what()).find("5 pages needed"), std::string::npos) << error.what();
}

TEST_P(TheEngine, FailsWithTheFiguresWhenNobodyCanGivePages) {
  LabOptions options;
  options.pages = 4;
  Lab lab(options);
  auto generation = start(lab.engine(), request(random_tokens(100, 1), 0));
  const Collected all = collect(*generation);
  EXPECT_EQ(all.tokens, greedy_continuation(random_tokens(100, 1), 29));  // 128 computed, one more sampled
  EXPECT_EQ(all.finish, Finish::Error);
  ASSERT_TRUE(generation->failure());
  EXPECT_EQ(generation->failure()->status(), Status::Limit);
  EXPECT_NE(std::string(generation->failure()->what()).find("1 more pages needed for 129 tokens"),
            std::string::npos)
      << generation->failure()->what();
  EXPECT_EQ(collect(lab.engine(), request(random_tokens(100, 2), 9)).tokens,
            greedy_continuation(random_tokens(100, 2), 9));
}

TEST_P(TheEngine, FailsOnlyTheSequenceThatIsToBlame) {
  LabOptions options;
  options.poison = 77;
  Lab lab(options);
  Tokens bad = random_tokens(30, 1);
  std::ranges::replace(bad, 77, 1);
  bad[29] = 77;
  std::vector<std::unique_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 3; ++i) {
    // Only such continuations as do not meet the poison by themselves.
    uint32_t seed = 10 * i;
    const auto clean = [&] {
      Tokens all = random_tokens(30, seed);
      const Tokens next = greedy_continuation(all, 20);
      all.insert(all.end(), next.begin(), next.end());
      return std::ranges::find(all, 77) == all.end();
    };
    while (!clean()) ++seed;
    generations.push_back(start(lab.engine(), request(random_tokens(30, seed), 20)));
    if (i == 1) generations.push_back(start(lab.engine(), request(bad, 20)));
  }
  for (const size_t i : {0u, 1u, 3u}) EXPECT_EQ(collect(*generations[i]).finish, Finish::Length) << i;
  EXPECT_EQ(collect(*generations[2]).finish, Finish::Error);
  EXPECT_EQ(generations[2]->failure()->status(), Status::Numeric);
}

TEST_P(TheEngine, ComputesNothingOfAPromptThatIsCached) {
  LabOptions options;
  options.rows = 256;
  Lab lab(options);
  const Tokens prompt = random_tokens(200, 3);
  collect(lab.engine(), request(prompt, 1));
  lab.fake().largest_batch = 0;
  EXPECT_EQ(collect(lab.engine(), request(prompt, 3)).tokens, greedy_continuation(prompt, 3));
  EXPECT_LE(lab.fake().largest_batch, 32);
}

TEST_P(TheEngine, KeepsABudgetToWithinOneOp) {
  LabOptions options;
  options.manual_step = true;
  options.op_time = milliseconds(3);
  Lab lab(options);
  auto generation = start(lab.engine(), request({1, 2, 3}, 3));
  Collected all;
  int32_t steps = 0;
  while (lab.engine().step(5000)) {
    ++steps;
    ASSERT_LT(steps, 100);
  }
  EXPECT_GE(steps, 6);  // 24 ops of 3 ms, two a step
  EXPECT_EQ(collect(*generation).tokens, greedy_continuation({1, 2, 3}, 3));
  EXPECT_FALSE(lab.engine().step(5000));
}

TEST_P(TheEngine, DoesAtLeastOneOpAStep) {
  LabOptions options;
  options.manual_step = true;
  options.op_time = milliseconds(1);
  Lab lab(options);
  auto generation = start(lab.engine(), request({1, 2, 3}, 1));
  int32_t steps = 1;
  while (lab.engine().step(0)) ++steps;
  EXPECT_LE(steps, kFakeOps);
  const Event *event = nullptr;
  EXPECT_EQ(generation->next(Clock::now(), &event), Generation::Next::Event);
}

TEST_P(TheEngine, ComputesInTheWaitingThreadWhereSteppingIsManual) {
  LabOptions options;
  options.manual_step = true;
  Lab lab(options);
  const Tokens prompt = random_tokens(100, 4);
  EXPECT_EQ(collect(lab.engine(), request(prompt, 300)).tokens, greedy_continuation(prompt, 300));
}

TEST_P(TheEngine, GivesTheSameWhileOthersStepAndWait) {
  LabOptions options;
  options.manual_step = true;
  options.op_time = microseconds(10);
  Lab lab(options);
  std::atomic<bool> done{false};
  std::thread stepper([&] {
    while (!done) {
      try {
        lab.engine().step(200);
      } catch (const Error &error) {
        EXPECT_EQ(error.status(), Status::Busy);
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> hosts;
  for (uint32_t i = 0; i < 3; ++i) {
    hosts.emplace_back([&, i] {
      const Tokens prompt = random_tokens(50, i);
      EXPECT_EQ(collect(lab.engine(), request(prompt, 60)).tokens, greedy_continuation(prompt, 60));
    });
  }
  for (std::thread &host : hosts) host.join();
  done = true;
  stepper.join();
}

TEST_P(TheEngine, DropsACutStepWhenItsSequenceIsFreed) {
  LabOptions options;
  options.manual_step = true;
  options.op_time = milliseconds(1);
  Lab lab(options);
  const Tokens prompt = random_tokens(20, 5);
  auto doomed = start(lab.engine(), request(random_tokens(10, 6), 5));
  auto kept = start(lab.engine(), request(prompt, 5));
  lab.engine().step(0);
  doomed.reset();
  while (lab.engine().step(100000)) {
  }
  EXPECT_EQ(collect(*kept).tokens, greedy_continuation(prompt, 5));
}

TEST_P(TheEngine, RefusesASecondStepper) {
  LabOptions options;
  options.manual_step = true;
  options.op_time = milliseconds(20);
  Lab lab(options);
  auto generation = start(lab.engine(), request({1, 2, 3}, 5));
  std::thread stepper([&] { lab.engine().step(100000); });
  while (lab.fake().runs == 0) std::this_thread::yield();
  EXPECT_EQ(error_of([&] { lab.engine().step(10); }).status(), Status::Busy);
  stepper.join();
  Lab with_thread;
  EXPECT_EQ(error_of([&] { with_thread.engine().step(10); }).status(), Status::Argument);
}

TEST(EngineAhead, GivesTheNextStepBeforeTheTokensOfThisOneAreHere) {
  LabOptions options;
  options.ahead = true;
  Lab lab(options);
  const Tokens prompt = random_tokens(20, 5);
  EXPECT_EQ(collect(lab.engine(), request(prompt, 100)).tokens, greedy_continuation(prompt, 100));
  EXPECT_EQ(lab.fake().steps_ahead, 99);  // none for the token after the last
  EXPECT_EQ(lab.fake().finished_runs, 100);
}

// The step that was given before the stop token was known is lost, and nothing else.
TEST(EngineAhead, ComputesOneRowTooManyWhereAGenerationStops) {
  LabOptions options;
  options.ahead = true;
  Lab lab(options);
  const Tokens prompt = random_tokens(20, 5), expected = greedy_continuation(prompt, 100);
  GenerateRequest stopping = request(prompt, 100);
  stopping.stop_tokens = {expected[9]};
  const auto first = std::ranges::find(expected, expected[9]) - expected.begin();
  EXPECT_EQ(collect(lab.engine(), stopping).tokens, Tokens(expected.begin(), expected.begin() + first));
  const Engine::Lock lock = lab.engine().exclusive();
  EXPECT_EQ(lab.fake().finished_runs, first + 2);
  EXPECT_EQ(lab.engine().pool().stats().used, 0);
}

// A newcomer gets into the step after the one that was given before it came.
TEST(EngineAhead, LetsOthersIn) {
  LabOptions options;
  options.ahead = true;
  options.op_time = microseconds(100);
  Lab lab(options);
  auto running = start(lab.engine(), request(random_tokens(20, 1), 200));
  const Event *event = nullptr;
  ASSERT_EQ(running->next(Clock::time_point::max(), &event), Generation::Next::Event);
  const int32_t before = lab.fake().finished_runs;
  auto newcomer = start(lab.engine(), request(random_tokens(20, 2), 200));
  ASSERT_EQ(newcomer->next(Clock::time_point::max(), &event), Generation::Next::Event);
  EXPECT_LE(lab.fake().finished_runs - before, 6);
  const Tokens rest = collect(*newcomer).tokens, expected = greedy_continuation(random_tokens(20, 2), 200);
  EXPECT_EQ(rest, Tokens(expected.begin() + 1, expected.end()));
  EXPECT_EQ(lab.fake().most_sequences, 2);
}

TEST(EngineMemory, AllocatesNothingPerToken) {
  LabOptions options;
  options.manual_step = true;
  Lab lab(options);
  GenerateRequest asking = request(random_tokens(20, 7), 300);
  asking.sampling.temperature = 0.8f;
  asking.sampling.top_k = 20;
  asking.sampling.top_p = 0.9f;
  asking.sampling.repeat_penalty = 1.1f;
  asking.sampling.logprobs = 3;
  asking.stop_strings = {"zzzz", "yyyy"};
  auto one = start(lab.engine(), asking);
  auto two = start(lab.engine(), request(random_tokens(30, 8), 300));
  const Event *event = nullptr;
  const auto advance = [&] {
    lab.engine().step(0);
    while (one->next(Clock::now(), &event) == Generation::Next::Event) {
    }
    while (two->next(Clock::now(), &event) == Generation::Next::Event) {
    }
  };
  for (int i = 0; i < 20; ++i) advance();
  const size_t before = allocation_count();
  const int32_t runs = lab.fake().finished_runs;
  // A step without a budget may end before its run does: on a slow machine there are more of them.
  for (int i = 0; i < 10000 && lab.fake().finished_runs - runs < 200; ++i) advance();
  EXPECT_EQ(allocation_count(), before);
  EXPECT_GE(lab.fake().finished_runs - runs, 200);
}

TEST_P(TheEngine, ProfilesTheStepsOfThoseThatAsk) {
  Lab lab;
  collect(lab.engine(), request({1, 2}, 5));
  EXPECT_EQ(lab.fake().profiled_runs, 0);
  GenerateRequest asking = request({1, 2}, 5);
  asking.profile = true;
  collect(lab.engine(), asking);
  EXPECT_EQ(lab.engine().profile().at(0).calls, 5u);
}

TEST(Embedding, PoolsInTheWaysThatThereAre) {
  Lab lab;
  const Tokens tokens = random_tokens(75, 9);
  std::vector<float> rows(tokens.size() * kFakeHidden);
  for (size_t i = 0; i < tokens.size(); ++i)
    fake_hidden({tokens.data(), i + 1}, rows.data() + i * kFakeHidden);
  const auto run = [&](EmbedPooling pooling) {
    std::vector<float> out(embedding_size(lab.engine(), pooling, tokens.size()));
    embed(lab.engine(), tokens, pooling, false, out.data());
    return out;
  };
  EXPECT_EQ(run(EmbedPooling::None), rows);
  EXPECT_EQ(run(EmbedPooling::Cls), std::vector<float>(rows.begin(), rows.begin() + kFakeHidden));
  EXPECT_EQ(run(EmbedPooling::Last), std::vector<float>(rows.end() - kFakeHidden, rows.end()));
  std::vector<float> mean;
  for (size_t d = 0; d < kFakeHidden; ++d) {
    double sum = 0;
    for (size_t i = 0; i < tokens.size(); ++i) sum += static_cast<double>(rows[i * kFakeHidden + d]);
    mean.push_back(static_cast<float>(sum / static_cast<double>(tokens.size())));
  }
  EXPECT_EQ(run(EmbedPooling::Mean), mean);
  EXPECT_EQ(run(EmbedPooling::Default), mean);
}

TEST(Embedding, GivesUnitVectors) {
  Lab lab;
  std::vector<float> out(kFakeHidden);
  embed(lab.engine(), random_tokens(40, 10), EmbedPooling::Mean, true, out.data());
  double squares = 0;
  for (const float x : out) squares += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(squares, 1, 1e-6);
}

}  // namespace
}  // namespace rz
