// The border between two executors that share a model: what each is asked for, and what becomes of budgets,
// wishes to stop, pages, seats and profiles.
#include "backend/split_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/split_device.h"
#include "base/error.h"

namespace rz::test {
namespace {

constexpr int32_t kLayers = 4, kHidden = 32, kLayerOps = 6, kOps = 1 + kLayers * kLayerOps + 2;
constexpr uint64_t kLayerBytes = 1000, kRestBytes = 300;

const Plan &plan() {
  static const Plan built = [] {
    Spec spec;
    spec.layers = kLayers;
    spec.hidden = spec.vocab = kHidden;
    spec.heads = spec.kv_heads = 1;
    spec.head_dim = spec.value_dim = kHidden;
    const Matrix w{"w", Type::F32, kHidden, kHidden};
    PlanBuilder builder(spec);
    const BufferId x = builder.embed(w);
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      const BufferId q = builder.qkv(builder.norm(x, {}), layer, w, w, w, {});
      builder.matmul_add(x, builder.attn(q, layer), w);
      builder.matmul_add(x, builder.up(x, w), w);
    }
    builder.head(x, {}, w);
    return builder.finish();
  }();
  return built;
}

// Computes nothing: notes what it is asked for.
class Recorder final : public Executor {
 public:
  Recorder(const Plan &plan, const ExecutorOptions &options)
      : options_(options),
        kv_(KvLayout::make(plan, options.kv_type)),
        ops_(static_cast<int32_t>(plan.ops.size())) {
    pages_.resize(static_cast<size_t>(options.pages), std::vector<std::byte>(kv_.page_bytes));
  }

  int32_t run(const Batch &batch, const RunControl &control) override {
    runs.push_back(control);
    outputs.push_back(batch.logit_rows.size() + batch.hidden_rows.size() + batch.seats.size());
    std::this_thread::sleep_for(takes);
    if (meanwhile) *meanwhile = true;
    const bool stops = control.stop_after >= control.first_op && control.stop_after < ops_;
    return stops ? control.stop_after + 1 : ops_;
  }
  const KvLayout &kv_layout() const override { return kv_; }
  void copy_page(int32_t from, int32_t to) override { pages_[at(to)] = pages_[at(from)]; }
  void read_page(int32_t page, std::byte *out) const override { std::ranges::copy(pages_[at(page)], out); }
  void write_page(int32_t page, const std::byte *in) override {
    std::copy_n(in, kv_.page_bytes, pages_[at(page)].begin());
  }
  int32_t take_seat(const SamplerSeat &) override { return 3; }
  void give_up_seat(int32_t seat) override { given_up = seat; }
  void read_buffer(BufferId id, int32_t rows, float *out) const override {
    std::fill_n(out, rows * kHidden, static_cast<float>(id) + 0.5f);
    ++reads;
  }
  void write_buffer(BufferId id, int32_t rows, const float *in) override {
    written.assign(in, in + rows * kHidden);
    EXPECT_EQ(id, std::get<EmbedOp>(rz::test::plan().ops[0]).out);
  }
  std::vector<ProfileEntry> profile() const override { return entries; }
  uint64_t compute_bytes() const override { return 7; }

  std::vector<RunControl> runs;
  std::vector<size_t> outputs;
  std::chrono::milliseconds takes{0};
  std::atomic<bool> *meanwhile = nullptr;  // set by a run
  std::vector<float> written;
  std::vector<ProfileEntry> entries;
  int32_t given_up = -1;
  mutable int32_t reads = 0;
  const ExecutorOptions &options() const { return options_; }

 private:
  static size_t at(int32_t page) { return static_cast<size_t>(page); }

  ExecutorOptions options_;
  KvLayout kv_;
  int32_t ops_;
  std::vector<std::vector<std::byte>> pages_;
};

class RecorderDevice final : public Device {
 public:
  explicit RecorderDevice(uint64_t free_bytes = 0) : free_bytes_(free_bytes) {}
  const std::string &name() const override { return name_; }
  std::unique_ptr<Executor> compile(const Plan &part, const ExecutorOptions &options) override {
    auto executor = std::make_unique<Recorder>(part, options);
    last = executor.get();
    return executor;
  }
  Footprint footprint(const Plan &part, const ExecutorOptions &) const override {
    Footprint footprint;
    for (const LayerKv &kv : part.kv) footprint.device_bytes += kv.kv_heads != 0 ? kLayerBytes : 0;
    footprint.device_bytes += kRestBytes;
    return footprint;
  }
  Ceilings ceilings() const override { return {}; }
  uint64_t free_bytes() const override { return free_bytes_; }
  Recorder *last = nullptr;

 private:
  std::string name_ = "recorder";
  uint64_t free_bytes_;
};

class Border : public testing::Test {
 protected:
  static constexpr int32_t kCut = 1 + 2 * kLayerOps;
  Border() {
    options_.max_rows = 4;
    options_.max_logit_rows = 2;
    options_.pages = 2;
    split_ = std::make_unique<SplitExecutor>(plan(), kCut, a_, b_, options_);
    batch_.tokens = batch_.positions = batch_.sequences = rows_;
    batch_.logit_rows = batch_.seats = batch_.hidden_rows = {rows_.data(), 1};
  }
  Recorder &first() { return *a_.last; }
  Recorder &second() { return *b_.last; }
  size_t handed_over() { return second().written.size(); }

  ExecutorOptions options_;
  RecorderDevice a_, b_;
  std::unique_ptr<SplitExecutor> split_;
  const std::vector<int32_t> rows_{0, 1, 2};
  Batch batch_;
};

TEST_F(Border, IsCrossedByTheResidualStreamAndTheOutputsAreTheSecondPartsAlone) {
  ASSERT_EQ(plan().layer_begin(2), kCut);
  EXPECT_EQ(split_->run(batch_, {}), kOps);
  EXPECT_EQ(first().outputs, std::vector<size_t>{0});
  EXPECT_EQ(second().outputs, std::vector<size_t>{3});
  EXPECT_EQ(second().written, std::vector<float>(3 * kHidden, 0.5f));
  EXPECT_EQ(first().options().max_logit_rows, 0);
  EXPECT_EQ(second().options().max_logit_rows, 2);
}

TEST_F(Border, CountsOpsAsInTheWholePlan) {
  EXPECT_EQ(split_->run(batch_, {.stop_after = 4}), 5);
  EXPECT_TRUE(second().runs.empty());
  EXPECT_EQ(split_->run(batch_, {.first_op = 5, .stop_after = kCut + 2}), kCut + 3);
  EXPECT_EQ(first().runs[1].first_op, 5);
  EXPECT_EQ(first().runs[1].stop_after, -1);
  EXPECT_EQ(second().runs[0].first_op, 0);
  EXPECT_EQ(second().runs[0].stop_after, 2);
  EXPECT_EQ(split_->run(batch_, {.first_op = kCut + 3, .profile = true}), kOps);
  EXPECT_EQ(first().runs.size(), 2u);
  EXPECT_EQ(second().runs[1].first_op, 3);
  EXPECT_EQ(second().runs[1].stop_after, -1);
  EXPECT_TRUE(second().runs[1].profile);
  EXPECT_EQ(first().reads, 1) << "handed over once";
}

TEST_F(Border, StopsAtItAndGoesOnFromIt) {
  EXPECT_EQ(split_->run(batch_, {.stop_after = kCut - 1}), kCut);
  EXPECT_TRUE(second().runs.empty());
  EXPECT_EQ(handed_over(), 0u);
  EXPECT_EQ(split_->run(batch_, {.first_op = kCut}), kOps);
  EXPECT_EQ(handed_over(), 3u * kHidden);
  EXPECT_EQ(first().runs.size(), 1u);
  EXPECT_EQ(second().runs[0].first_op, 0);
}

TEST_F(Border, GivesTheSecondPartWhatIsLeftOfTheBudget) {
  first().takes = std::chrono::milliseconds(20);
  EXPECT_EQ(split_->run(batch_, {.budget_us = 10'000'000}), kOps);
  EXPECT_EQ(first().runs[0].budget_us, 10'000'000u);
  EXPECT_LE(second().runs[0].budget_us, 9'980'000u);
  EXPECT_GT(second().runs[0].budget_us, 0u);
  EXPECT_EQ(split_->run(batch_, {.budget_us = 10'000}), kCut) << "nothing is left";
  EXPECT_EQ(second().runs.size(), 1u);
  EXPECT_EQ(split_->run(batch_, {.first_op = kCut, .budget_us = 1}), kOps);
}

TEST_F(Border, StopsAtItWhenCancelledBefore) {
  std::atomic<bool> cancel = false;
  first().meanwhile = &cancel;
  EXPECT_EQ(split_->run(batch_, {.cancel = &cancel}), kCut);
  EXPECT_TRUE(second().runs.empty());
}

TEST_F(Border, DividesAPage) {
  const uint64_t bytes = split_->kv_layout().page_bytes, half = first().kv_layout().page_bytes;
  EXPECT_EQ(bytes, KvLayout::make(plan(), Type::F16).page_bytes);
  EXPECT_EQ(half, bytes / 2);
  std::vector<std::byte> page(bytes), found(bytes);
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(i * 7 / 5);
  split_->write_page(0, page.data());
  split_->copy_page(0, 1);
  split_->read_page(1, found.data());
  EXPECT_EQ(found, page);
  std::vector<std::byte> of_second(half);
  second().read_page(1, of_second.data());
  EXPECT_TRUE(std::ranges::equal(of_second, std::span(page).subspan(half)));
}

TEST_F(Border, SeatsAreTheSecondPartsAndProfilesAreAddedUp) {
  EXPECT_EQ(split_->take_seat({}), 3);
  split_->give_up_seat(3);
  EXPECT_EQ(second().given_up, 3);
  EXPECT_EQ(first().given_up, -1);
  const std::string other_library = "Norm";  // the same name elsewhere
  first().entries = {{"Embed", 1, 2, 3, 4}, {"Norm", 10, 20, 30, 40}};
  second().entries = {{other_library.c_str(), 1, 2, 3, 4}, {"Head", 5, 6, 7, 8}};
  const std::vector<ProfileEntry> found = split_->profile();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_STREQ(found[1].op, "Norm");
  EXPECT_EQ(found[1].calls, 11u);
  EXPECT_EQ(found[1].total_us, 22u);
  EXPECT_EQ(found[1].bytes, 33u);
  EXPECT_EQ(found[1].flops, 44u);
  EXPECT_STREQ(found[2].op, "Head");
  EXPECT_EQ(split_->compute_bytes(), 7u + 7u + 4 * kHidden * sizeof(float));
}

TEST_F(Border, ABufferIsThatOfThePartThatRanLast) {
  std::vector<float> out(3 * kHidden);
  split_->run(batch_, {.stop_after = 2});
  split_->read_buffer(0, 3, out.data());
  EXPECT_EQ(first().reads, 1);
  split_->run(batch_, {.first_op = 3});
  split_->read_buffer(0, 3, out.data());
  EXPECT_EQ(second().reads, 1);
}

TEST(LayerFit, IsTheMostLayersThatLeaveAReserve) {
  const auto fit = [](uint64_t free) { return fit_layers(RecorderDevice(free), plan(), {}); };
  // An eighth stays free, so 7/8 of these are to be had.
  constexpr uint64_t kAll = kLayers * kLayerBytes + kRestBytes;
  EXPECT_EQ(fit((kAll * 8 + 6) / 7).layers, kLayers);
  EXPECT_EQ(fit(kAll).layers, kLayers - 1);
  EXPECT_EQ(fit((3 * kLayerBytes + kRestBytes) * 8 / 7 + 1).layers, 3);
  EXPECT_EQ(fit((3 * kLayerBytes + kRestBytes) * 8 / 7 - 2).layers, 2);
  EXPECT_EQ(fit((kLayerBytes + kRestBytes) * 8 / 7 + 1).layers, 1);
  EXPECT_EQ(fit((kLayerBytes + kRestBytes) * 8 / 7 - 2).layers, 0);
  EXPECT_EQ(fit(0).layers, 0);
  const LayerFit some = fit(2400);
  EXPECT_EQ(some.needed_bytes, kAll);
  EXPECT_EQ(some.one_bytes, kLayerBytes + kRestBytes);
  EXPECT_EQ(some.free_bytes, 2400u);
  EXPECT_EQ(some.kept_bytes, 300u);
  EXPECT_EQ(fit(uint64_t{80} << 30).kept_bytes, uint64_t{512} << 20);
}

TEST(SplitDevice, NamesBothAndAddsUpWhatTheyTake) {
  const auto a = std::make_shared<RecorderDevice>(), b = std::make_shared<RecorderDevice>(5);
  SplitDevice split(a, b, 3, kLayers);
  EXPECT_EQ(split.name(), "recorder, 3 of 4 layers; recorder");
  EXPECT_EQ(split.free_bytes(), 5u);
  EXPECT_EQ(split.footprint(plan(), {}).device_bytes, kLayers * kLayerBytes + 2 * kRestBytes);
  ExecutorOptions options;
  options.pages = 1;
  split.compile(plan(), options);
  EXPECT_THROW(SplitDevice(a, b, 0, kLayers), Error);
  EXPECT_THROW(SplitDevice(a, b, kLayers, kLayers), Error);
  EXPECT_THROW(SplitDevice(a, b, 1, kLayers + 1).footprint(plan(), {}), Error);
}

}  // namespace
}  // namespace rz::test
