// The CPU as a device.
#pragma once

#include <memory>
#include <string_view>

#include "backend/backend.h"

namespace rz {

// `kernels`: empty for the best set of this processor, or "plain", "avx2", "avx512" (Device where it lacks
// the set, Argument for another name). `threads` is for the name and the ceilings; compile() takes its own.
std::unique_ptr<Device> open_cpu_device(std::string_view kernels, int32_t threads);

}  // namespace rz
