#include "cpu/device.h"

#include <string>

#include "base/error.h"
#include "cpu/ceilings.h"
#include "cpu/executor.h"
#include "cpu/isa.h"

namespace rz {

namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(const cpu::Kernels &kernels, int32_t threads)
      : kernels_(kernels),
        threads_(threads),
        name_(std::string("cpu (") + kernels.name + ", " + std::to_string(threads) +
              (threads == 1 ? " thread)" : " threads)")) {}
  const std::string &name() const override { return name_; }
  std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) override {
    check_pages(options);
    return std::make_unique<cpu::CpuExecutor>(plan, kernels_, options);
  }
  Footprint footprint(const Plan &plan, const ExecutorOptions &options) const override {
    check_pages(options);
    return {.compute_bytes = cpu::Workspace(plan, kernels_, options, options.threads, false).bytes()};
  }
  Ceilings ceilings() const override { return cpu::measure_ceilings(kernels_, threads_); }
  uint64_t free_bytes() const override { return UINT64_MAX; }

 private:
  static void check_pages(const ExecutorOptions &options) {
    if (options.kv_type != Type::F8) return;
    fail(Status::Unsupported, "kv_type: expected f16 or q8_0 on the CPU, found f8, which CUDA devices have");
  }

  const cpu::Kernels &kernels_;
  int32_t threads_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(std::string_view kernels, int32_t threads) {
  return std::make_unique<CpuDevice>(cpu::choose_kernels(kernels), threads);
}

}  // namespace rz
