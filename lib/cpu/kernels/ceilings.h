// Kernels that compute nothing of use, as fast as this instruction set can: what the others are measured by.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_ceilings(Kernels &table);

}  // namespace rz::cpu::RZ_ISA
