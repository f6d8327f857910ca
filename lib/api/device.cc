#include "api/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <string_view>

#include "backend/plugin.h"
#include "backend/split_device.h"
#include "cpu/device.h"

namespace rz::api {

namespace {

constexpr std::string_view kCuda = "cuda", kCpu = "cpu";
constexpr char kCudaLibrary[] = "librz_cuda.so";

// The file that holds this code: the shared library, or the program that it is linked into.
std::string own_file() {
  static const char here = 0;
  Dl_info info{};
  link_map *object = nullptr;
  const int found = dladdr1(&here, &info, reinterpret_cast<void **>(&object), RTLD_DL_LINKMAP);
  if (found != 0 && object && object->l_name[0] != 0) return object->l_name;
  // The loader has no name for the program, and the name it was called by may have no folder.
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

std::string beside_own_file(const char *name) {
  const std::string own = own_file();
  const size_t folder = own.rfind('/');
  return (folder == std::string::npos ? "./" : own.substr(0, folder + 1)) + name;
}

// The device is not to be had, has no room for this model, or cannot compute it.
bool leads_to_cpu(const Error &error) {
  return error.status() == Status::Device || error.status() == Status::NoMemory ||
         error.status() == Status::Unsupported;
}

std::unique_ptr<Device> open_cuda_device(const DeviceChoice &choice) {
  const std::string library = choice.library.empty() ? beside_own_file(kCudaLibrary) : choice.library;
  return open_plugin_device(library, std::to_string(choice.number));
}

// "cuda:1", from after the colon.
int32_t device_number(std::string_view digits, const char *device) {
  int32_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) {
    fail(Status::Argument, "device: expected \"cuda:\" and a number, found \"%s\"", device);
  }
  return number;
}

}  // namespace

DeviceChoice read_device(const char *device, const char *cuda_library) {
  DeviceChoice choice;
  if (cuda_library) {
    if (*cuda_library == 0) {
      fail(Status::Argument, "cuda_library: expected the name of a file, found an empty one");
    }
    choice.library = cuda_library;
  }
  const std::string_view name = device ? device : "auto";
  const std::string_view kind = name.substr(0, name.find(':'));
  const std::string_view rest = name.size() > kind.size() ? name.substr(kind.size() + 1) : std::string_view();
  if (name == "auto") return choice;
  if (kind == kCpu) {
    choice.kind = DeviceChoice::Kind::Cpu;
    choice.kernels = rest;
    return choice;
  }
  if (kind == kCuda) {
    choice.kind = DeviceChoice::Kind::Cuda;
    if (kind != name) choice.number = device_number(rest, device);
    return choice;
  }
  fail(Status::Argument, "device: expected \"auto\", \"cpu\" or \"cuda\", found \"%s\"", device);
}

ChosenDevice::ChosenDevice(const DeviceChoice &choice, int32_t threads, const Logger &logger)
    : automatic_(choice.kind == DeviceChoice::Kind::Auto), threads_(threads), logger_(logger) {
  if (choice.kind == DeviceChoice::Kind::Cpu) {
    device_ = open_cpu_device(choice.kernels, threads);
    return;
  }
  is_plugin_ = true;
  try {
    device_ = plugin_ = open_cuda_device(choice);
  } catch (const Error &error) {
    if (!fall_back(error)) throw;
  }
}

bool ChosenDevice::fall_back(const Error &error) {
  if (!automatic_ || !is_plugin_ || !leads_to_cpu(error)) return false;
  device_ = plugin_ = nullptr;  // before another one takes memory
  shared_.reset();
  device_ = open_cpu_device({}, threads_);
  is_plugin_ = false;
  logger_.log(LogLevel::Info, "device \"auto\": the CPU, for CUDA is not to be had: %s", error.what());
  return true;
}

void ChosenDevice::share(const Plan &plan, const ExecutorOptions &options) {
  if (!is_plugin_) return;
  device_ = plugin_;
  shared_.reset();
  const auto layers = static_cast<int32_t>(plan.kv.size());
  int32_t on_plugin = options.gpu_layers;
  if (on_plugin == 0) {
    const LayerFit fit = fit_layers(*plugin_, plan, options);
    on_plugin = fit.layers;
    if (on_plugin == 0) {
      fail(Status::NoMemory,
           "%s: %" PRIu64 " bytes needed for one of %d layers, %" PRIu64 " free, of which %" PRIu64
           " are kept back",
           plugin_->name().c_str(), fit.one_bytes, layers, fit.free_bytes, fit.kept_bytes);
    }
    if (on_plugin < layers) shared_ = {fit, layers};
  }
  if (on_plugin >= layers) return;
  device_ = std::make_shared<SplitDevice>(open_cpu_device({}, threads_), plugin_, on_plugin, layers);
}

std::shared_ptr<Device> ChosenDevice::take() {
  if (shared_) {
    const auto &[fit, layers] = *shared_;
    logger_.log(LogLevel::Info,
                "%d of %d layers on %s, the rest on the CPU, for %" PRIu64 " bytes are needed and %" PRIu64
                " are free, of which %" PRIu64 " are kept back",
                fit.layers, layers, plugin_->name().c_str(), fit.needed_bytes, fit.free_bytes,
                fit.kept_bytes);
  }
  return std::move(device_);
}

}  // namespace rz::api
