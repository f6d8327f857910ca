// Attention over KV pages, and what fills them.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_attention(Kernels &table);
void fill_append(Kernels &table);

}  // namespace rz::cpu::RZ_ISA
