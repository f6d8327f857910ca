// A plugin whose device is full: not one layer of any model fits.
#include "backend/plugin_export.h"

namespace rz::test {

namespace {

class FullDevice final : public Device {
 public:
  const std::string &name() const override { return name_; }
  std::unique_ptr<Executor> compile(const Plan &, const ExecutorOptions &) override {
    fail(Status::Internal, "full: nobody should try");
  }
  Footprint footprint(const Plan &, const ExecutorOptions &) const override {
    return {.weights_bytes = 3000, .compute_bytes = 500, .device_bytes = 3500};
  }
  Ceilings ceilings() const override { return {}; }
  uint64_t free_bytes() const override { return 1600; }

 private:
  std::string name_ = "full";
};

std::unique_ptr<Device> open_full(const std::string &) { return std::make_unique<FullDevice>(); }

}  // namespace

}  // namespace rz::test

RZ_DEVICE_PLUGIN(rz::test::open_full)
