// A GPU with the last layers of a model: what they take of its memory, and what becomes of them where that is
// short or the device fails.
#include <gtest/gtest.h>

#include <set>

#include "backend/split_device.h"
#include "base/error.h"
#include "cpu/device.h"
#include "cuda/device.h"
#include "cuda/emulator/faults.h"
#include "support/error_of.h"
#include "support/relative_error.h"
#include "support/shared_data.h"
#include "support/timeline.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

using cuda::emulator::faults;

class SplitOnDevice : public testing::Test {
 protected:
  void TearDown() override {
    faults().lost = false;
    faults().launches_left = -1;
    faults().memory_bytes = kMemory;
  }
  static std::unique_ptr<Model> open(const std::string &architecture, bool headers_only = false) {
    LoadOptions load;
    load.headers_only = headers_only;
    const auto path = write_tiny_model(tiny_model(architecture, Type::Q4_K), scratch_folder());
    return load_model(open_path(path.string(), true), load);
  }
  static ExecutorOptions options() {
    ExecutorOptions options;
    options.max_rows = options.max_logit_rows = 16;
    options.pages = 64;
    return options;
  }
  static int32_t layers(const Model &model) { return static_cast<int32_t>(model.plan.kv.size()); }
  // What the device lends from now on.
  static void leave(uint64_t bytes) { faults().memory_bytes = faults().used_bytes + bytes; }

  static constexpr uint64_t kMemory = uint64_t{1} << 34;
};

// Slices of one tensor are matrices of their own, with data and without.
TEST_F(SplitOnDevice, FootprintIsWhatIsTaken) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = open(name), headers = open(name, true);
    const auto gpu = open_cuda_device("0");
    const Plan &plan = model->plan;
    for (const int32_t layer : {0, layers(*model) - 1}) {
      const int32_t first = layer == 0 ? 0 : plan.layer_begin(layer),
                    ops = static_cast<int32_t>(plan.ops.size());
      const Plan part = plan.part(first, ops);
      const uint64_t before = faults().used_bytes;
      const auto executor = gpu->compile(part, options());
      const auto taken = static_cast<double>(faults().used_bytes - before);
      const double expected = static_cast<double>(gpu->footprint(part, options()).device_bytes);
      // Tables of pages and of seats come besides.
      EXPECT_NEAR(taken, expected, 16384) << name << " from layer " << layer;
      EXPECT_EQ(gpu->footprint(headers->plan.part(first, ops), options()).device_bytes,
                gpu->footprint(part, options()).device_bytes)
          << name;
    }
  }
}

TEST_F(SplitOnDevice, HasAsManyLayersAsFitAndComputesWithThem) {
  const auto model = open("gemma3");
  const std::shared_ptr<Device> cpu = open_cpu_device({}, 1), gpu = open_cuda_device("0");
  const uint64_t all = gpu->footprint(model->plan, options()).device_bytes;
  std::set<int32_t> seen;
  for (uint64_t bytes = all / 8; bytes < 2 * all; bytes += all / 8) {
    leave(bytes);
    const LayerFit fit = fit_layers(*gpu, model->plan, options());
    seen.insert(fit.layers);
    if (fit.layers == 0 || fit.layers == layers(*model)) continue;
    SplitDevice split(cpu, gpu, fit.layers, layers(*model));
    EXPECT_LE(split.footprint(model->plan, options()).device_bytes, bytes);
    split.compile(model->plan, options());
    SplitDevice larger(cpu, gpu, std::min(fit.layers + 1, layers(*model) - 1), layers(*model));
    if (fit.layers + 1 < layers(*model)) {
      EXPECT_GT(larger.footprint(model->plan, options()).device_bytes, bytes - fit.kept_bytes);
    }
  }
  EXPECT_GT(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(0));
  EXPECT_TRUE(seen.contains(layers(*model)));
}

TEST_F(SplitOnDevice, WithoutRoomForWhatWasAskedIsRefusedAndLeaksNothing) {
  const auto model = open("llama");
  const std::shared_ptr<Device> cpu = open_cpu_device({}, 1), gpu = open_cuda_device("0");
  SplitDevice split(cpu, gpu, 1, layers(*model));
  const uint64_t before = faults().used_bytes;
  leave(split.footprint(model->plan, options()).device_bytes - 1);
  const Error error = error_of([&] { split.compile(model->plan, options()); });
  EXPECT_EQ(error.status(), Status::NoMemory);
  EXPECT_NE(std::string(error.what()).find("bytes needed"), std::string::npos) << error.what();
  EXPECT_EQ(faults().used_bytes, before);
}

TEST_F(SplitOnDevice, AStepAfterAFailedOneComputesTheSame) {
  const auto path = write_tiny_model(tiny_model("qwen3moe", Type::Q4_K), scratch_folder());
  Opened opened = open_model(path, "cuda_split");
  const std::vector<int32_t> tokens = some_tokens(9, opened.vocab());
  const std::vector<float> expected = Timeline(opened, 0, 4).eval(tokens);
  faults().launches_left = 5;
  Timeline again(opened, 4, 4);
  EXPECT_EQ(error_of([&] { again.eval(tokens); }).status(), Status::Device);
  faults().lost = false;
  faults().launches_left = -1;
  EXPECT_EQ(Timeline(opened, 4, 4).eval(tokens), expected);
}

TEST_F(SplitOnDevice, TakesTheResidualStreamAndRefusesWhatItKeepsAsHalves) {
  const auto model = open("llama");
  const auto executor = open_cuda_device("0")->compile(model->plan, options());
  const BufferId x = std::get<EmbedOp>(model->plan.ops[0]).out, y = std::get<NormOp>(model->plan.ops[1]).out;
  std::vector<float> in(2 * static_cast<size_t>(model->plan.hidden)), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * 0.25f;
  executor->write_buffer(x, 2, in.data());
  executor->read_buffer(x, 2, out.data());
  EXPECT_EQ(out, in);
  EXPECT_EQ(error_of([&] { executor->write_buffer(y, 2, in.data()); }).status(), Status::Internal);
}

}  // namespace
}  // namespace rz::test
