// Two executors that share a model give the bits, the buffers and the pages of one, wherever it is cut and
// wherever a run stops.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/split_device.h"
#include "backend/split_executor.h"
#include "base/error.h"
#include "cpu/device.h"
#include "support/shared_data.h"
#include "support/timeline.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

constexpr int32_t kRows = 6;

// Six tokens of one sequence on one page; logits of the last two, the hidden state of the first.
struct Question {
  std::vector<int32_t> tokens, positions, sequences = std::vector<int32_t>(kRows, 0), pages{2};
  std::vector<int32_t> logit_rows{4, 5}, hidden_rows{0};
  std::span<const int32_t> table{pages};
  std::vector<float> logits, hidden;

  explicit Question(const Plan &plan)
      : tokens(some_tokens(kRows, plan.vocab)),
        positions(kRows),
        logits(2 * static_cast<size_t>(plan.vocab)),
        hidden(static_cast<size_t>(plan.hidden)) {
    std::iota(positions.begin(), positions.end(), 0);
  }
  Question(const Question &) = delete;

  Batch batch() {
    Batch b;
    b.tokens = tokens;
    b.positions = positions;
    b.sequences = sequences;
    b.page_tables = {&table, 1};
    b.logit_rows = logit_rows;
    b.logits = logits.data();
    b.hidden_rows = hidden_rows;
    b.hidden = hidden.data();
    return b;
  }
};

class Split : public testing::TestWithParam<std::string> {
 protected:
  ExecutorOptions options() const {
    ExecutorOptions options;
    options.threads = 2;
    options.max_rows = options.max_logit_rows = 8;
    options.pages = 4;
    return options;
  }
  std::unique_ptr<Executor> whole() { return device_->compile(plan(), options()); }
  std::unique_ptr<Executor> cut_before(int32_t layer) {
    return std::make_unique<SplitExecutor>(plan(), plan().layer_begin(layer), *device_, *device_, options());
  }
  const Plan &plan() const { return model_->plan; }
  int32_t n_ops() const { return static_cast<int32_t>(plan().ops.size()); }
  int32_t layers() const { return static_cast<int32_t>(plan().kv.size()); }
  std::vector<float> residual(const Executor &executor) const {
    std::vector<float> x(static_cast<size_t>(kRows) * static_cast<size_t>(plan().hidden));
    executor.read_buffer(std::get<EmbedOp>(plan().ops[0]).out, kRows, x.data());
    return x;
  }
  static std::vector<std::byte> page(const Executor &executor, int32_t number) {
    std::vector<std::byte> bytes(executor.kv_layout().page_bytes);
    executor.read_page(number, bytes.data());
    return bytes;
  }

  std::unique_ptr<Model> model_ = load_model(
      open_path(write_tiny_model(tiny_model(GetParam(), Type::Q4_K), scratch_folder()).string(), true), {});
  std::unique_ptr<Device> device_ = open_cpu_device({}, 2);
};

TEST_P(Split, GivesTheBitsOfOneDeviceWhereverItIsCut) {
  Question expected(plan());
  const auto one = whole();
  one->run(expected.batch(), {});
  for (int32_t layer = 0; layer < layers(); ++layer) {
    const auto two = cut_before(layer);
    Question found(plan());
    EXPECT_EQ(two->run(found.batch(), {}), n_ops());
    EXPECT_EQ(found.logits, expected.logits) << layer;
    EXPECT_EQ(found.hidden, expected.hidden) << layer;
    EXPECT_EQ(page(*two, 2), page(*one, 2)) << layer;
  }
}

TEST_P(Split, StopsAndGoesOnAnywhereAndShowsTheBuffersOfTheLastOp) {
  Question expected(plan()), found(plan());
  const auto one = whole(), two = cut_before(layers() / 2);
  one->run(expected.batch(), {});
  const std::vector<float> logits = expected.logits;
  for (int32_t op = 0; op < n_ops() - 1; ++op) {
    std::ranges::fill(found.logits, 0.0f);
    EXPECT_EQ(one->run(expected.batch(), {.stop_after = op}), op + 1);
    EXPECT_EQ(two->run(found.batch(), {.stop_after = op}), op + 1);
    EXPECT_EQ(residual(*two), residual(*one)) << op;
    EXPECT_EQ(two->run(found.batch(), {.first_op = op + 1}), n_ops());
    EXPECT_EQ(found.logits, logits) << op;
  }
}

// The same one op at a time, as a host with a small budget sees it.
TEST_P(Split, GoesOnFromOpToOp) {
  Question expected(plan()), found(plan());
  whole()->run(expected.batch(), {});
  const auto two = cut_before(layers() - 1);
  for (int32_t op = 0; op < n_ops(); ++op) {
    ASSERT_EQ(two->run(found.batch(), {.first_op = op, .stop_after = op}), op + 1);
  }
  EXPECT_EQ(found.logits, expected.logits);
}

TEST_P(Split, ExchangesPagesWithOneDevice) {
  Question prompt(plan()), expected(plan()), found(plan());
  const auto one = whole(), two = cut_before(layers() - 1);
  one->run(prompt.batch(), {});
  two->run(prompt.batch(), {});
  two->copy_page(2, 1);
  EXPECT_EQ(page(*two, 1), page(*one, 2));
  const std::vector<std::byte> written = page(*one, 2);
  const auto fresh = cut_before(layers() - 1);
  fresh->write_page(3, written.data());
  EXPECT_EQ(page(*fresh, 3), written);

  for (Question *next : {&expected, &found}) {
    for (int32_t &position : next->positions) position += kRows;
  }
  found.pages[0] = 3;
  one->run(expected.batch(), {});
  fresh->run(found.batch(), {});
  EXPECT_EQ(found.logits, expected.logits);
}

TEST_P(Split, CountsWhatOneDeviceCounts) {
  Question question(plan());
  const auto one = whole(), two = cut_before(layers() / 2);
  for (Executor *executor : {one.get(), two.get()}) executor->run(question.batch(), {.profile = true});
  std::vector<ProfileEntry> expected = one->profile(), found = two->profile();
  ASSERT_EQ(found.size(), expected.size());
  for (const ProfileEntry &entry : expected) {
    const auto same = std::ranges::find_if(
        found, [&](const ProfileEntry &e) { return std::string_view(e.op) == entry.op; });
    ASSERT_NE(same, found.end()) << entry.op;
    EXPECT_EQ(same->calls, entry.calls) << entry.op;
    EXPECT_EQ(same->bytes, entry.bytes) << entry.op;
    EXPECT_EQ(same->flops, entry.flops) << entry.op;
  }
}

TEST_P(Split, FootprintIsWhatItTakes) {
  const int32_t cut = plan().layer_begin(layers() / 2);
  const Footprint footprint = SplitExecutor::footprint(plan(), cut, *device_, *device_, options());
  EXPECT_EQ(footprint.compute_bytes, cut_before(layers() / 2)->compute_bytes());
  EXPECT_EQ(footprint.weights_bytes, 0u);
  EXPECT_EQ(footprint.device_bytes, 0u);
  EXPECT_GT(footprint.read_bytes, model_->weights_bytes() * 9 / 10) << "neither copies any";
}

INSTANTIATE_TEST_SUITE_P(Cpu, Split, testing::ValuesIn(tiny_architectures()));

TEST(SplitCut, InsideAnAttentionIsRefused) {
  const auto model =
      load_model(open_path(write_tiny_model(tiny_model("llama"), scratch_folder()).string(), true), {});
  const auto device = open_cpu_device("plain", 1);
  ExecutorOptions options;
  options.pages = 1;
  int32_t attention = 0;
  while (!std::holds_alternative<AttnOp>(model->plan.ops[static_cast<size_t>(attention)])) ++attention;
  EXPECT_THROW(SplitExecutor(model->plan, attention, *device, *device, options), Error);
}

}  // namespace
}  // namespace rz::test
