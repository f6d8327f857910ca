// Attention over KV pages.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_attention(Kernels &table);

}  // namespace rz::cpu::RZ_ISA
