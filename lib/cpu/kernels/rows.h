// Kernels that work on one row at a time: quantizing activations, norms, rotary embedding, activation
// functions.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_rows(Kernels &table);

}  // namespace rz::cpu::RZ_ISA
