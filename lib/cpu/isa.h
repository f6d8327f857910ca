// Which instruction set this processor can run, and its kernels.
#pragma once

#include <string_view>

#include "cpu/kernels.h"

namespace rz::cpu {

// The best set of this processor, or the one named: "plain", "avx2", "avx512". Throws Device when the
// processor lacks it, Argument when the name is not known.
const Kernels &choose_kernels(std::string_view name = {});

}  // namespace rz::cpu
