// A CUDA device.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace rz {

// `number`: "0" is the first device. Throws Device with the reason where there is none, or where it is older
// than the kernels (compute capability 8.0).
std::unique_ptr<Device> open_cuda_device(const std::string &number);

}  // namespace rz
