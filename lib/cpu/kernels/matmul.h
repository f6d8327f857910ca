// The matmul kernels of this instruction set, one row a format.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_plain_matmuls(MatmulKernels *table);  // (Type::Count)
void fill_super_matmuls(MatmulKernels *table);
void fill_float_matmuls(MatmulKernels *table);

}  // namespace rz::cpu::RZ_ISA
