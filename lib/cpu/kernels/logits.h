// Passes over the logits of a whole vocabulary, for the sampler. Multiplies and additions are rounded each by
// itself, so that every set gives the same bits: the token that a seed draws does not depend on the machine.
#pragma once

#include "cpu/kernels.h"

namespace rz::cpu::RZ_ISA {

void fill_logits(Kernels &table);

}  // namespace rz::cpu::RZ_ISA
