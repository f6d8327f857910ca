// Matmul kernels of the K-quants (256 weights), compiled once per instruction set.
#include "cpu/kernels/matmul.h"

#include "cpu/kernels/matmul_few.h"
#include "cpu/kernels/matmul_many.h"

namespace rz::cpu::RZ_ISA {

template <class F>
static constexpr MatmulKernels kernels_of() {
  return {ActKind::Super, matmul_few<F>, matmul_many<F>, kFew<F>};
}

void fill_super_matmuls(MatmulKernels *table) {
  table[static_cast<int>(Type::Q2_K)] = kernels_of<FormatQ2_K>();
  table[static_cast<int>(Type::Q3_K)] = kernels_of<FormatQ3_K>();
  table[static_cast<int>(Type::Q4_K)] = kernels_of<FormatQ4_K>();
  table[static_cast<int>(Type::Q5_K)] = kernels_of<FormatQ5_K>();
  table[static_cast<int>(Type::Q6_K)] = kernels_of<FormatQ6_K>();
  table[static_cast<int>(Type::IQ4_XS)] = kernels_of<FormatIQ4_XS>();
}

}  // namespace rz::cpu::RZ_ISA
