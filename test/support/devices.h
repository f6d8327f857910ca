// The devices that tests open models on through the C API: the CPU with each set of kernels, and a GPU, alone
// or with the last layer while the CPU has the others. That GPU is emulated, by a plugin beside the test
// programs; a program built for a machine with a GPU (RZ_ON_DEVICE) uses the real one, and leaves the CPU
// alone.
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

constexpr char kSplit[] = "cuda_split";

inline std::vector<std::string> devices_and_split() {
  std::vector<std::string> all = devices();
  all.push_back(kSplit);
  return all;
}

// `device` stays the caller's.
inline void choose_device(const std::string &device, rz_model_options &options) {
  const bool split = device == kSplit;
  options.device = split ? "cuda" : device.c_str();
  if (split) options.gpu_layers = 1;
#if !defined(RZ_ON_DEVICE)
  static const std::string emulated = test_plugin("cuda_emulated");
  options.cuda_library = emulated.c_str();
#endif
}

}  // namespace rz::test
