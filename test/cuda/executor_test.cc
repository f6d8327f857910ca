// The CUDA executor on the emulated device, alone and with the CPU before it, by the same promises as the
// CPU's.
#include <numeric>

#include "backend/split_device.h"
#include "cpu/device.h"
#include "cuda/device.h"
#include "support/forward_suite.h"

namespace rz::test {

std::unique_ptr<Device> device_under_test(const std::string &name, int32_t threads, int32_t layers) {
  if (name != "cuda_split") return open_cuda_device("0");
  return std::make_unique<SplitDevice>(open_cpu_device({}, threads), open_cuda_device("0"), layers / 2,
                                       layers);
}

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, Forward,
                         testing::Combine(testing::Values("cuda"), testing::ValuesIn(tiny_architectures())),
                         name_of_forward);
// Layers begin alike in all families; the golden models have them all.
INSTANTIATE_TEST_SUITE_P(Split, Forward,
                         testing::Combine(testing::Values("cuda_split"),
                                          testing::Values("llama", "gemma3", "qwen3moe")),
                         name_of_forward);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForwardThreads);
INSTANTIATE_TEST_SUITE_P(Cuda, LongContext, testing::Values("cuda"));

// A mixture reads no more experts than it has, however many rows choose.
TEST(CudaProfile, CountsNoMoreExpertsThanThereAre) {
  const std::filesystem::path path = write_tiny_model(tiny_model("qwen3moe", Type::Q8_0), scratch_folder());
  Opened opened = open_model(path, "cuda");
  const std::vector<int32_t> tokens = some_tokens(30, opened.vocab()), sequences(30, 0), pages = {0};
  std::vector<int32_t> positions(30);
  std::iota(positions.begin(), positions.end(), 0);
  const std::span<const int32_t> table(pages);
  Batch batch;
  batch.tokens = tokens;
  batch.positions = positions;
  batch.sequences = sequences;
  batch.page_tables = {&table, 1};
  opened.executor->run(batch, {.profile = true});
  uint64_t expected = 0, found = 0;
  for (const Op &op : opened.model->plan.ops) {
    if (const auto *o = std::get_if<MoeGateUpOp>(&op)) expected += o->gate.bytes() + o->up.bytes();
  }
  for (const ProfileEntry &entry : opened.executor->profile()) {
    if (std::string_view(entry.op) == "MoeGateUp") found = entry.bytes;
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace rz::test
