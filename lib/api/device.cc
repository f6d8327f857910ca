#include "api/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "backend/plugin.h"
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
    device_ = open_cuda_device(choice);
  } catch (const Error &error) {
    if (!fall_back(error)) throw;
  }
}

bool ChosenDevice::fall_back(const Error &error) {
  if (!automatic_ || !is_plugin_ || !leads_to_cpu(error)) return false;
  device_ = nullptr;  // before another one takes memory
  device_ = open_cpu_device({}, threads_);
  is_plugin_ = false;
  logger_.log(LogLevel::Info, "device \"auto\": the CPU, for CUDA is not to be had: %s", error.what());
  return true;
}

}  // namespace rz::api
