// Where K and V lie in a page: the layout of lib/backend/kv_layout.cc, for kernels. Of f16, keys are
// (head_dim, 32 tokens) and values (32 tokens, value_dim rounded up to 16). Of q8_0, scales come first,
// (groups, 32) for keys and (32, groups) for values, then codes in the order of f16. Of f8, codes alone in
// that order.
#pragma once

#include "cuda/kernels/kernels.h"
#include "cuda/simt.h"

namespace rz::cuda {

constexpr int kGroup = 32;  // elements that share a scale

RZ_DEVICE int padded16(int n) { return (n + 15) / 16 * 16; }
RZ_DEVICE int groups_of(int n) { return (n + kGroup - 1) / kGroup; }

RZ_DEVICE std::byte *keys_of(const KvPages &kv, int page, int head) {
  return kv.pages + static_cast<size_t>(page) * kv.page_bytes + kv.k_offset +
         static_cast<size_t>(head) * kv.k_head_bytes;
}
RZ_DEVICE std::byte *values_of(const KvPages &kv, int page, int head) {
  return kv.pages + static_cast<size_t>(page) * kv.page_bytes + kv.v_offset +
         static_cast<size_t>(head) * kv.v_head_bytes;
}
// Codes behind the scales of `dim` elements a token.
RZ_DEVICE size_t scale_bytes(int dim) { return static_cast<size_t>(groups_of(dim)) * kPageTokens * 2; }

}  // namespace rz::cuda
