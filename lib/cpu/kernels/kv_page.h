// How a head's keys or values lie in a page of q8_0, and how many numbers a row is padded to.
#pragma once

#include "backend/backend.h"
#include "cpu/kernels/simd.h"

namespace rz::cpu::RZ_ISA {

constexpr int kGroup = 32;  // weights that share a scale in q8_0 pages

RZ_INLINE constexpr int32_t padded16(int32_t n) { return (n + 15) / 16 * 16; }
RZ_INLINE constexpr int32_t groups_of(int32_t n) { return (n + kGroup - 1) / kGroup; }

// A head's half page as scales (groups, 32) then codes (head_dim, 32), or for values scales (32, groups) then
// codes.
struct Q8Page {
  uint16_t *scales;
  int8_t *codes;
  Q8Page(const std::byte *page, int32_t dim)
      : scales(reinterpret_cast<uint16_t *>(const_cast<std::byte *>(page))),
        codes(reinterpret_cast<int8_t *>(scales + kPageTokens * groups_of(dim))) {}
};

}  // namespace rz::cpu::RZ_ISA
