// What an op reads and computes for a batch: the figures of a profile, and of a comparison with the machine's
// ceilings.
#pragma once

#include "backend/backend.h"

namespace rz {

struct OpCost {
  uint64_t bytes = 0;  // weights once, and once the KV that a sequence's rows see
  uint64_t flops = 0;  // 2 per multiply-accumulate
};

// `active_experts`: experts that the batch's rows chose, for mixture ops.
OpCost cost_of(const Op &op, const Batch &batch, const KvLayout &kv, int32_t active_experts);

// Weights that one row is multiplied with: of mixtures, those of the experts it uses.
uint64_t weights_of(const Op &op);

}  // namespace rz
