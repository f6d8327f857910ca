#include "plugin/fake_device.h"

#include <stdexcept>

#include "backend/plugin_export.h"
#include "base/error.h"
#include "cpu/device.h"

namespace rz::test {

namespace {

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(std::unique_ptr<Executor> inner, int32_t fault) : inner_(std::move(inner)), fault_(fault) {}

  int32_t run(const Batch &batch, const RunControl &control) override {
    fail_at(kRunNumeric, Status::Numeric);
    fail_at(kRunLongMessage, Status::Device);
    if (fault_ == kRunBadAlloc) throw std::bad_alloc();
    if (fault_ == kRunStandard) throw std::runtime_error("fake: standard");
    if (fault_ == kRunUnknown) throw 7;
    return inner_->run(batch, control);
  }
  const KvLayout &kv_layout() const override {
    fail_at(kKvLayoutFails, Status::Limit);
    return inner_->kv_layout();
  }
  void copy_page(int32_t from, int32_t to) override {
    fail_at(kCopyPageFails, Status::Device);
    inner_->copy_page(from, to);
  }
  void read_page(int32_t page, std::byte *out) const override {
    fail_at(kReadPageFails, Status::Io);
    inner_->read_page(page, out);
  }
  void write_page(int32_t page, const std::byte *in) override {
    fail_at(kWritePageFails, Status::State);
    inner_->write_page(page, in);
  }
  void read_buffer(BufferId buffer, int32_t rows, float *out) const override {
    fail_at(kReadBufferFails, Status::Argument);
    inner_->read_buffer(buffer, rows, out);
  }
  void write_buffer(BufferId buffer, int32_t rows, const float *in) override {
    fail_at(kWriteBufferFails, Status::Limit);
    inner_->write_buffer(buffer, rows, in);
  }
  std::vector<ProfileEntry> profile() const override {
    fail_at(kProfileFails, Status::Busy);
    return inner_->profile();
  }
  uint64_t compute_bytes() const override {
    fail_at(kComputeBytesFails, Status::Timeout);
    return inner_->compute_bytes();
  }

 private:
  void fail_at(int32_t fault, Status status) const {
    if (fault_ != fault) return;
    const std::string padding(fault == kRunLongMessage ? 1000 : 0, '.');
    throw Error(status, "fake: fault " + std::to_string(fault) + padding);
  }

  std::unique_ptr<Executor> inner_;
  int32_t fault_;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const std::string &what)
      : number_(std::stoi(what)), name_("fake " + what), inner_(open_cpu_device({}, 1)) {
    if (number_ == kFakeLongName) name_ += " (a GPU whose maker likes names to be as long as this one)";
    if (number_ == kFakeMissing) fail(Status::Device, "fake: no device %d", number_);
  }

  const std::string &name() const override {
    if (number_ == kFakeName) fail(Status::NoMemory, "fake: no name");
    return name_;
  }
  std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) override {
    if (options.gpu_layers == kCompileNoMemory) fail(Status::NoMemory, "fake: no memory");
    for (int32_t i = 0; i <= kFakeProgressSteps; ++i) {
      options.progress(static_cast<float>(i) / static_cast<float>(kFakeProgressSteps));
      if (i == kFakeProgressSteps / 2 && options.gpu_layers == kCompileLost) {
        fail(Status::Device, "fake: lost");
      }
    }
    if (options.gpu_layers == kWildProgress) {
      for (const float fraction : {0.2f, -3.0f, 7.0f}) options.progress(fraction);
    }
    return std::make_unique<FakeExecutor>(inner_->compile(plan, options), options.gpu_layers);
  }
  Footprint footprint(const Plan &plan, const ExecutorOptions &options) const override {
    if (options.gpu_layers == kFootprintFails) fail(Status::Unsupported, "fake: no footprint");
    if (options.gpu_layers == kCompileLost) return {};  // less than the CPU takes
    Footprint footprint = inner_->footprint(plan, options);
    footprint.weights_bytes = 0;
    for (const LayerKv &kv : plan.kv) footprint.weights_bytes += kv.kv_heads != 0 ? kFakeLayerBytes : 0;
    footprint.device_bytes = footprint.weights_bytes + footprint.compute_bytes;
    return footprint;
  }
  uint64_t free_bytes() const override {
    if (number_ == kFakeFree) fail(Status::Device, "fake: no free bytes");
    if (number_ == kFakeRoomForOne) return 2 * kFakeLayerBytes;
    return number_ == kFakeRoomForNone ? kFakeLayerBytes : uint64_t{1} << 40;
  }
  Ceilings ceilings() const override {
    if (number_ == kFakeCeilings) fail(Status::Device, "fake: no ceilings");
    return {
        .threads = 132, .read_bytes_per_s = kFakeReadRate, .int8_ops_per_s = 2e15, .float_ops_per_s = 6e13};
  }

 private:
  int32_t number_;
  std::string name_;
  std::unique_ptr<Device> inner_;
};

std::unique_ptr<Device> open_fake_device(const std::string &what) {
  return std::make_unique<FakeDevice>(what);
}

}  // namespace

}  // namespace rz::test

RZ_DEVICE_PLUGIN(rz::test::open_fake_device)
