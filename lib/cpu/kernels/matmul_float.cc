// Matmul kernels of the float formats, compiled once per instruction set.
#include "cpu/kernels/matmul_float.h"

#include "cpu/kernels/matmul.h"

namespace rz::cpu::RZ_ISA {

void fill_float_matmuls(MatmulKernels *table) {
  table[static_cast<int>(Type::F32)] = {ActKind::Float, matmul_float<FormatF32>, matmul_float<FormatF32>};
  table[static_cast<int>(Type::F16)] = {ActKind::Float, matmul_float<FormatF16>, matmul_float<FormatF16>};
  table[static_cast<int>(Type::BF16)] = {ActKind::Float, matmul_float<FormatBF16>, matmul_float<FormatBF16>};
}

}  // namespace rz::cpu::RZ_ISA
