// The CPU's executor, with every set of kernels, and two of them that share a model.
#include "backend/split_device.h"
#include "cpu/device.h"
#include "support/forward_suite.h"
#include "support/kernel_sets.h"

namespace rz::test {

std::unique_ptr<Device> device_under_test(const std::string &name, int32_t threads, int32_t layers) {
  if (name != "split") return open_cpu_device(name, threads);
  return std::make_unique<SplitDevice>(open_cpu_device({}, threads), open_cpu_device({}, threads), layers / 2,
                                       layers);
}

namespace {

std::vector<std::string> kernel_sets_and_split() {
  std::vector<std::string> all = kernel_sets();
  all.push_back("split");
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cpu, Forward,
                         testing::Combine(testing::ValuesIn(kernel_sets_and_split()),
                                          testing::ValuesIn(tiny_architectures())),
                         name_of_forward);
INSTANTIATE_TEST_SUITE_P(Cpu, ForwardThreads,
                         testing::Combine(testing::ValuesIn(kernel_sets_and_split()),
                                          testing::ValuesIn(tiny_architectures())),
                         name_of_forward);
INSTANTIATE_TEST_SUITE_P(Cpu, LongContext, testing::ValuesIn(kernel_sets_and_split()));

TEST(Profile, CountsOpsBytesAndOperations) {
  const std::filesystem::path path = write_tiny_model(tiny_model("llama", Type::Q8_0), scratch_folder());
  Opened opened = open_model(path, "plain");
  const std::vector<int32_t> tokens = {1, 2, 3}, positions = {0, 1, 2}, sequences(3, 0), pages = {0};
  const std::span<const int32_t> table(pages);
  Batch batch;
  batch.tokens = tokens;
  batch.positions = positions;
  batch.sequences = sequences;
  batch.page_tables = {&table, 1};
  opened.executor->run(batch, {});
  EXPECT_TRUE(opened.executor->profile().empty()) << "nobody asked";
  opened.executor->run(batch, {.profile = true});
  opened.executor->run(batch, {.profile = true});
  const Spec &spec = opened.model->spec;
  bool found = false;
  for (const ProfileEntry &entry : opened.executor->profile()) {
    if (std::string(entry.op) != "GateUp") continue;
    found = true;
    EXPECT_EQ(entry.calls, static_cast<uint64_t>(2 * spec.layers));
    EXPECT_EQ(entry.flops, 2ull * 3 * 2 * 2 * static_cast<uint64_t>(spec.layers * spec.hidden * spec.ffn));
    EXPECT_EQ(entry.bytes, 2ull * 2 * static_cast<uint64_t>(spec.layers * spec.ffn) *
                               bytes_of(Type::Q8_0, static_cast<uint64_t>(spec.hidden)));
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace rz::test
