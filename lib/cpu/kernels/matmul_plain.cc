// Matmul kernels of the plain block formats (32 weights), compiled once per instruction set.
#include "cpu/kernels/matmul.h"

#include "cpu/kernels/matmul_few.h"
#include "cpu/kernels/matmul_many.h"

namespace rz::cpu::RZ_ISA {

template <class F>
static constexpr MatmulKernels kernels_of() {
  return {ActKind::Blocks, matmul_few<F>, matmul_many<F>, kFew<F>};
}

void fill_plain_matmuls(MatmulKernels *table) {
  table[static_cast<int>(Type::Q4_0)] = kernels_of<FormatQ4_0>();
  table[static_cast<int>(Type::Q4_1)] = kernels_of<FormatQ4_1>();
  table[static_cast<int>(Type::Q5_0)] = kernels_of<FormatQ5_0>();
  table[static_cast<int>(Type::Q5_1)] = kernels_of<FormatQ5_1>();
  table[static_cast<int>(Type::Q8_0)] = kernels_of<FormatQ8_0>();
  table[static_cast<int>(Type::IQ4_NL)] = kernels_of<FormatIQ4_NL>();
}

}  // namespace rz::cpu::RZ_ISA
