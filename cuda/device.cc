#include "cuda/device.h"

#include <cstdlib>

#include "base/error.h"
#include "cuda/ceilings.h"
#include "cuda/executor.h"

namespace rz {

namespace {

constexpr int kOldestMajor = 8;  // Ampere: the first with 16-byte asynchronous copies and mma of 16 x 8 x 16

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int device) : device_(device) {
    const cuda::DeviceFacts facts = cuda::device_facts(device);
    if (facts.major < kOldestMajor) {
      fail(Status::Device, "cuda:%d: expected compute capability %d.0 or later, found %d.%d (%s)", device,
           kOldestMajor, facts.major, facts.minor, facts.name.c_str());
    }
    name_ = "cuda:" + std::to_string(device) + " (" + facts.name + ")";
  }
  const std::string &name() const override { return name_; }

  std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) override {
    check_room(footprint(plan, options));
    return std::make_unique<cuda::CudaExecutor>(device_, plan, options);
  }
  Footprint footprint(const Plan &plan, const ExecutorOptions &options) const override {
    return cuda::CudaExecutor::footprint(plan, options);
  }
  Ceilings ceilings() const override { return cuda::measure_ceilings(device_); }
  uint64_t free_bytes() const override { return cuda::free_bytes(device_); }

 private:
  void check_room(const Footprint &footprint) const {
    const uint64_t free = free_bytes();
    if (footprint.device_bytes <= free) return;
    fail(Status::NoMemory, "%s: %llu bytes needed (weights %llu), %llu free", name_.c_str(),
         static_cast<unsigned long long>(footprint.device_bytes),
         static_cast<unsigned long long>(footprint.weights_bytes), static_cast<unsigned long long>(free));
  }

  int device_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Device> open_cuda_device(const std::string &number) {
  const int device = std::atoi(number.c_str()), count = cuda::device_count();
  if (device >= count)
    fail(Status::Device, "cuda:%d: expected a device below %d, the number there are", device, count);
  return std::make_unique<CudaDevice>(device);
}

}  // namespace rz
