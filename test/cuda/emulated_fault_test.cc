// A device that fails: the error says so, nothing is leaked, and what can go on goes on.
#include <gtest/gtest.h>

#include "cuda/device.h"
#include "cuda/emulator/faults.h"
#include "support/error_of.h"
#include "support/shared_data.h"
#include "support/timeline.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

using cuda::emulator::faults;

class Fault : public testing::Test {
 protected:
  void TearDown() override {
    faults().no_device = faults().lost = false;
    faults().launches_left = -1;
    faults().memory_bytes = kMemory;
  }
  static constexpr uint64_t kMemory = uint64_t{1} << 34;
  std::filesystem::path path_ = write_tiny_model(tiny_model("qwen3moe", Type::Q4_K), scratch_folder());
};

TEST_F(Fault, WithoutADeviceOpeningSaysSo) {
  faults().no_device = true;
  std::string message;
  EXPECT_EQ(status_of([] { open_cuda_device("0"); }, &message), Status::Device);
  EXPECT_EQ(message, "cuda: no device (emulated)");
}

TEST_F(Fault, ANumberPastTheLastDeviceIsRefused) {
  EXPECT_EQ(status_of([] { open_cuda_device("3"); }), Status::Device);
}

TEST_F(Fault, AModelThatDoesNotFitIsRefusedAndLeaksNothing) {
  const uint64_t before = faults().used_bytes;
  for (uint64_t memory = 1 << 12; memory < (1 << 24); memory *= 4) {
    faults().memory_bytes = before + memory;
    const Status status = status_of([&] { open_model(path_, "cuda"); });
    EXPECT_TRUE(status == Status::NoMemory || status == Status::Ok) << memory;
    EXPECT_EQ(faults().used_bytes, before) << memory;
  }
}

TEST_F(Fault, ALostDeviceIsAnErrorOfTheStepAndLeaksNothing) {
  const uint64_t before = faults().used_bytes;
  {
    Opened opened = open_model(path_, "cuda");
    Timeline timeline(opened, 0, 4);
    timeline.eval(some_tokens(5, opened.vocab()));
    faults().launches_left = 7;
    std::string message;
    EXPECT_EQ(status_of([&] { timeline.eval({1}); }, &message), Status::Device);
    EXPECT_NE(message.find("ECC"), std::string::npos) << message;
    EXPECT_EQ(status_of([&] { timeline.eval({1}); }), Status::Device) << "it stays lost";
  }
  EXPECT_EQ(faults().used_bytes, before);
}

TEST_F(Fault, AStepAfterAFailedOneComputesTheSame) {
  Opened opened = open_model(path_, "cuda");
  const std::vector<int32_t> tokens = some_tokens(9, opened.vocab());
  const std::vector<float> expected = Timeline(opened, 0, 4).eval(tokens);
  faults().launches_left = 11;
  Timeline again(opened, 4, 4);
  EXPECT_EQ(status_of([&] { again.eval(tokens); }), Status::Device);
  faults().lost = false;
  faults().launches_left = -1;
  EXPECT_EQ(Timeline(opened, 4, 4).eval(tokens), expected);
}

}  // namespace
}  // namespace rz::test
