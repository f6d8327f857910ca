// A step given to the device before the one ahead of it is done: it computes the token that was still to be
// chosen.
#include <gtest/gtest.h>

#include <limits>

#if !defined(RZ_ON_DEVICE)
#include "cuda/emulator/faults.h"
#endif
#include "support/error_of.h"
#include "support/shared_data.h"
#include "support/timeline.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

// One row of each of two generations, sampled by the device; the first is longer by kLead tokens.
class Pair {
 public:
  static constexpr int32_t kPrompt = 5, kLead = 29;  // a page ends on the way

  // `none`: the second one may choose nothing.
  explicit Pair(const std::filesystem::path &path, bool none = false) : opened_(open_model(path, "cuda")) {
    for (int32_t i = 0; i < 2; ++i) {
      SamplingOptions &options = options_[i];
      options.temperature = 1;
      options.repeat_penalty = 1.2f;
      options.logprobs = 3;
      for (int32_t token = 0; none && i == 1 && token < opened_.vocab(); ++token)
        options.biases.push_back({token, -std::numeric_limits<float>::infinity()});
      Timeline timeline(opened_, 4 * i, 4);
      std::vector<int32_t> prompt = some_tokens(kPrompt + (i == 0 ? kLead : 0), opened_.vocab());
      timeline.eval({prompt.begin(), prompt.end() - 1});
      pages_.push_back(timeline.pages());
      SamplerSeat seat;
      seat.options = &options;
      seat.history = prompt;
      seat.most_tokens = 64;
      seats_.push_back(opened_.executor->take_seat(seat));
      positions_.push_back(static_cast<int32_t>(prompt.size()) - 1);
      tokens_.push_back(prompt.back());
    }
  }
  Executor &executor() { return *opened_.executor; }

  // The next step, with the tokens that `before` chose; without it they are still to be chosen.
  struct Step {
    std::vector<int32_t> tokens, positions;
    std::vector<std::span<const int32_t>> tables;
    SampledToken sampled[2];
  };
  Step next(const Step *before) {
    Step step;
    for (size_t i = 0; i < 2; ++i) {
      step.tokens.push_back(before ? before->sampled[i].token : n_ == 0 ? tokens_[i] : -1 - seats_[i]);
      step.positions.push_back(positions_[i] + n_);
      step.tables.emplace_back(pages_[i]);
    }
    ++n_;
    return step;
  }
  Batch batch(Step &step) const {
    Batch batch;
    batch.tokens = step.tokens;
    batch.positions = step.positions;
    batch.sequences = batch.logit_rows = kBoth;
    batch.page_tables = step.tables;
    batch.seats = seats_;
    batch.sampled = step.sampled;
    return batch;
  }

 private:
  static constexpr int32_t kBoth[] = {0, 1};
  Opened opened_;
  SamplingOptions options_[2];
  std::vector<std::vector<int32_t>> pages_;
  std::vector<int32_t> seats_, positions_, tokens_;
  int32_t n_ = 0;
};

// What a step chose, copied while it is there.
struct Choice {
  int32_t token;
  float logprob;
  std::vector<int32_t> top;
  bool operator==(const Choice &) const = default;
};
void collect(const Pair::Step &step, std::vector<Choice> &into) {
  for (const SampledToken &s : step.sampled) {
    Choice choice{s.token, s.logprob, {}};
    for (int32_t i = 0; i < s.n_top; ++i) choice.top.push_back(s.top[i].token);
    into.push_back(choice);
  }
}

// The emulated device is late, then early; a real one is as it is.
class Ahead : public testing::TestWithParam<uint64_t> {
 protected:
#if !defined(RZ_ON_DEVICE)
  Ahead() { cuda::emulator::faults().seed = GetParam(); }
  ~Ahead() override { cuda::emulator::faults().seed = 0; }
#endif
  std::filesystem::path path_ = write_tiny_model(tiny_model("qwen3", Type::Q4_K), scratch_folder());
};

TEST_P(Ahead, ChoosesWhatItWouldStepByStep) {
  constexpr int kSteps = 12;
  std::vector<Choice> expected, found;
  {
    Pair pair(path_);
    Pair::Step step = pair.next(nullptr);
    for (int i = 0; i < kSteps; ++i) {
      pair.executor().run(pair.batch(step), {});
      collect(step, expected);
      step = pair.next(&step);
    }
  }
  Pair pair(path_);
  ASSERT_TRUE(pair.executor().runs_ahead());
  Pair::Step steps[2] = {pair.next(nullptr), {}};
  pair.executor().begin(pair.batch(steps[0]));
  for (int i = 0; i < kSteps; ++i) {
    steps[1] = pair.next(nullptr);
    pair.executor().begin(pair.batch(steps[1]));
    pair.executor().finish(pair.batch(steps[0]));
    collect(steps[0], found);
    std::swap(steps[0], steps[1]);
  }
  pair.executor().finish(pair.batch(steps[0]));
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Ahead, testing::Values(0, 1));

// A step that is given already has nothing to choose for it, and tells the same trouble.
TEST_P(Ahead, GoesOnForOthersWhereOneHasNothingToChoose) {
  Pair pair(path_, true);
  Pair::Step steps[2] = {pair.next(nullptr), pair.next(nullptr)};
  for (Pair::Step &step : steps) pair.executor().begin(pair.batch(step));
  for (Pair::Step &step : steps) {
    pair.executor().finish(pair.batch(step));
    EXPECT_EQ(step.sampled[0].trouble, SampledToken::Trouble::None);
    EXPECT_EQ(step.sampled[1].trouble, SampledToken::Trouble::Nothing);
  }
}

TEST_P(Ahead, TakesNoThirdStepAndGoesOnAfterThat) {
  Pair pair(path_);
  Pair::Step steps[3] = {pair.next(nullptr), pair.next(nullptr), pair.next(nullptr)};
  pair.executor().begin(pair.batch(steps[0]));
  pair.executor().begin(pair.batch(steps[1]));
  const Error error = error_of([&] { pair.executor().begin(pair.batch(steps[2])); });
  EXPECT_EQ(error.status(), Status::Internal);
  EXPECT_NE(std::string(error.what()).find("at most two"), std::string::npos) << error.what();
  pair.executor().begin(pair.batch(steps[2]));  // the error left none given
}

}  // namespace
}  // namespace rz::test
