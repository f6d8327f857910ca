// The kernel table of this instruction set.
#include "cpu/kernels/attention.h"
#include "cpu/kernels/ceilings.h"
#include "cpu/kernels/logits.h"
#include "cpu/kernels/matmul.h"
#include "cpu/kernels/rows.h"
#include "cpu/kernels/simd.h"

#define RZ_NAME_(isa) #isa
#define RZ_NAME(isa) RZ_NAME_(isa)
#define RZ_TABLE_(isa) isa##_kernels
#define RZ_TABLE(isa) RZ_TABLE_(isa)

namespace rz::cpu {

static Kernels filled() {
  Kernels table = {};
  table.name = RZ_NAME(RZ_ISA);
  RZ_ISA::fill_plain_matmuls(table.matmul);
  RZ_ISA::fill_super_matmuls(table.matmul);
  RZ_ISA::fill_float_matmuls(table.matmul);
  RZ_ISA::fill_rows(table);
  RZ_ISA::fill_attention(table);
  RZ_ISA::fill_append(table);
  RZ_ISA::fill_logits(table);
  RZ_ISA::fill_ceilings(table);
  return table;
}

const Kernels *RZ_TABLE(RZ_ISA)() {
  static const Kernels table = filled();
  return &table;
}

}  // namespace rz::cpu
