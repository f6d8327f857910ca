// The devices that tests open models on through the C API: the CPU with each set of kernels, and a GPU. That
// one is emulated, by a plugin beside the test programs; a program built for a machine with a GPU
// (RZ_ON_DEVICE) uses the real one, and leaves the CPU alone.
#pragma once

#include <string>
#include <vector>

#include "rz.h"
#include "support/kernel_sets.h"
#include "support/plugins.h"

namespace rz::test {

// Those that are no emulator.
inline std::vector<std::string> fast_devices() {
#if defined(RZ_ON_DEVICE)
  return {"cuda"};
#else
  std::vector<std::string> all;
  for (const std::string &kernels : kernel_sets()) all.push_back("cpu:" + kernels);
  return all;
#endif
}

inline std::vector<std::string> devices() {
  std::vector<std::string> all = fast_devices();
  if (all.back() != "cuda") all.push_back("cuda");
  return all;
}

// `device` stays the caller's.
inline void choose_device(const std::string &device, rz_model_options &options) {
  options.device = device.c_str();
#if !defined(RZ_ON_DEVICE)
  static const std::string emulated = test_plugin("cuda_emulated");
  options.cuda_library = emulated.c_str();
#endif
}

}  // namespace rz::test
