// The CUDA executor on the emulated device, by the same promises as the CPU's.
#include "cuda/device.h"
#include "support/forward_suite.h"

namespace rz::test {

std::unique_ptr<Device> device_under_test(const std::string &, int32_t) { return open_cuda_device("0"); }

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, Forward,
                         testing::Combine(testing::Values("cuda"), testing::ValuesIn(tiny_architectures())),
                         name_of_forward);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForwardThreads);
INSTANTIATE_TEST_SUITE_P(Cuda, LongContext, testing::Values("cuda"));

}  // namespace
}  // namespace rz::test
