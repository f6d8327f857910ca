// Which device computes: a host's words for it, and the plugin or the CPU behind them, or both.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/split_device.h"
#include "base/error.h"
#include "base/log.h"

namespace rz::api {

struct DeviceChoice {
  enum class Kind : uint8_t { Auto, Cpu, Cuda };
  Kind kind = Kind::Auto;
  std::string kernels;  // of the CPU; empty = the best it has
  int32_t number = 0;   // of the CUDA device
  std::string library;  // the CUDA plugin; empty = beside librz

  static DeviceChoice any_cpu() {
    DeviceChoice choice;
    choice.kind = Kind::Cpu;
    return choice;
  }
};

// rz_model_options.device and .cuda_library; NULL is "auto", and the plugin beside librz. Opens nothing.
DeviceChoice read_device(const char *device, const char *cuda_library);

// The device of a load. Under "auto" it is the GPU until that fails as a device; then the CPU, which is
// logged.
class ChosenDevice {
 public:
  // Throws Device where what was asked for is not to be had.
  ChosenDevice(const DeviceChoice &choice, int32_t threads, const Logger &logger);

  bool is_plugin() const { return is_plugin_; }  // alone, or beside the CPU
  // Work that may be done on another device instead: where it throws Device under "auto", it is done again.
  template <class Work>
  void use(const Work &work) {
    try {
      work(*device_);
    } catch (const Error &error) {
      if (!fall_back(error)) throw;
      work(*device_);
    }
  }
  // The same for a model, of which a GPU may compute the last layers and the CPU the others: so many as
  // options.gpu_layers says, or as the GPU has room for now. Throws NoMemory where that is none.
  template <class Work>
  void use(const Plan &plan, const ExecutorOptions &options, const Work &work) {
    use([&](Device &) {
      share(plan, options);
      work(*device_);
    });
  }
  std::shared_ptr<Device> take();  // logs why a GPU has not all layers

 private:
  bool fall_back(const Error &error);
  void share(const Plan &plan, const ExecutorOptions &options);

  bool automatic_, is_plugin_ = false;
  int32_t threads_;
  Logger logger_;
  std::shared_ptr<Device> plugin_, device_;
  struct Shared {
    LayerFit fit;
    int32_t layers;
  };
  std::optional<Shared> shared_;  // why a GPU has not all layers, where the host did not say so
};

}  // namespace rz::api
