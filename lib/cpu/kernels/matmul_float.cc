// Matmul kernels of the float formats, compiled once per instruction set.
#include "cpu/kernels/matmul_float.h"

#include "cpu/kernels/matmul.h"

namespace rz::cpu::RZ_ISA {

// One kernel for any number of activation rows.
template <class F>
static constexpr MatmulKernels kernels_of() {
  return {ActKind::Float, matmul_float<F>, matmul_float<F>, 0};
}

void fill_float_matmuls(MatmulKernels *table) {
  table[static_cast<int>(Type::F32)] = kernels_of<FormatF32>();
  table[static_cast<int>(Type::F16)] = kernels_of<FormatF16>();
  table[static_cast<int>(Type::BF16)] = kernels_of<FormatBF16>();
}

}  // namespace rz::cpu::RZ_ISA
