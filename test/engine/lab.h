// An engine over the fake executor and a vocabulary of single letters, for tests of scheduling, generations
// and sessions.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/fake_executor.h"
#include "engine/generation.h"

namespace rz::test {

using Tokens = std::vector<int32_t>;

constexpr int32_t kEndToken = 0;  // "</s>", ends a generation
// The four bytes of U+1F600, a token each.
constexpr int32_t kEmojiFirst = kFakeVocab - 4;

struct LabOptions {
  int32_t pages = 64, rows = 32, sequences = 4, logit_rows = 4, context = 512;
  bool manual_step = false, keep_prefixes = true;
  std::chrono::microseconds op_time{0};
  int32_t poison = -1;
  bool ahead = ahead_by_default;  // the executor samples, and takes steps ahead

  static inline bool ahead_by_default = false;
};

// Tests that have to hold however the executor works: waited for step by step, and ahead.
class EitherWay : public testing::TestWithParam<bool> {
 protected:
  EitherWay() { LabOptions::ahead_by_default = GetParam(); }
  ~EitherWay() override { LabOptions::ahead_by_default = false; }
};
#define RZ_EITHER_WAY(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Bool(), [](const auto &way) { \
    return std::string(way.param ? "StepsAhead" : "StepByStep");           \
  })

class Lab {
 public:
  explicit Lab(const LabOptions &options = {});

  FakeExecutor &fake() { return *fake_; }
  Engine &engine() { return *engine_; }
  const Tokenizer &tokenizer() const { return *tokenizer_; }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  FakeExecutor *fake_;
  std::unique_ptr<Engine> engine_;
};

Tokens random_tokens(size_t n, uint32_t seed);  // none of them ends anything or is part of an emoji

// A greedy request; the end token is never chosen unless the test asks for it.
GenerateRequest request(Tokens prompt, int32_t max_tokens);
// The same without any engine: what every way of computing must give.
Tokens greedy_continuation(Tokens prompt, int32_t n);

struct Collected {
  Tokens tokens;
  std::string text;
  std::vector<uint32_t> prefill;
  Finish finish = Finish::None;
};
std::unique_ptr<Generation> start(Engine &engine, GenerateRequest request);
void take(Collected &into, const Event &event);
// Everything until the end.
Collected collect(Generation &generation);
Collected collect(Engine &engine, GenerateRequest request);

}  // namespace rz::test
