// Decoders: what a block format must supply so that the matmul kernels can read it. Nothing else about a
// format is known to them. Codes come 64 at a time in the order of the weights; `Signed` ones are bytes of
// -128..127, biased as the instruction set wants them, the others are 0..63; kLargest bounds their magnitude.
//
// Plain formats, 32 weights:   w = d (code - kZero) + m              codes(first, second block), d and m by
// offset K-quants, 256 weights:       w = d S (code - kZero) - dmin M       codes(block, quarter),
// scales(block): S and M for
//                                                                    each 16 weights; kSub of them share one
//                                                                    S
#pragma once

#include "cpu/kernels/simd.h"
#include "quant/blocks.h"

namespace rz::cpu::RZ_ISA {

constexpr uint64_t kNone = ~0ull;

struct FormatQ4_0 {
  using Block = BlockQ4_0;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 8, kLargest = 15;
  static constexpr uint64_t kD = offsetof(Block, d), kM = kNone;
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) { return nibbles(a.qs, b.qs); }
};

struct FormatQ4_1 {
  using Block = BlockQ4_1;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 0, kLargest = 15;
  static constexpr uint64_t kD = offsetof(Block, d), kM = offsetof(Block, m);
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) { return nibbles(a.qs, b.qs); }
};

template <class B>
RZ_INLINE Bytes64 five_bits(const B &a, const B &b) {
  uint32_t first, second;
  std::memcpy(&first, a.qh, sizeof first);
  std::memcpy(&second, b.qh, sizeof second);
  return or_bytes(nibbles(a.qs, b.qs), bytes_from_bits(first | static_cast<uint64_t>(second) << 32, 16));
}

struct FormatQ5_0 {
  using Block = BlockQ5_0;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 16, kLargest = 31;
  static constexpr uint64_t kD = offsetof(Block, d), kM = kNone;
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) { return five_bits(a, b); }
};

struct FormatQ5_1 {
  using Block = BlockQ5_1;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 0, kLargest = 31;
  static constexpr uint64_t kD = offsetof(Block, d), kM = offsetof(Block, m);
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) { return five_bits(a, b); }
};

struct FormatQ8_0 {
  using Block = BlockQ8_0;
  static constexpr bool kSigned = true;
  static constexpr int kZero = kSignedZero, kLargest = 128;
  static constexpr uint64_t kD = offsetof(Block, d), kM = kNone;
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) { return bias_signed(join(a.qs, b.qs)); }
};

struct FormatIQ4_NL {
  using Block = BlockIQ4_NL;
  static constexpr bool kSigned = true;
  static constexpr int kZero = kSignedZero, kLargest = 127;
  static constexpr uint64_t kD = offsetof(Block, d), kM = kNone;
  static RZ_INLINE Bytes64 codes(const Block &a, const Block &b) {
    return bias_signed(lookup(kIq4Values, nibbles(a.qs, b.qs)));
  }
};

// S and M of the 16 groups of 16 weights; where a format has no minima, M is -kZero S.
struct Scales {
  Shorts16 s, m;
};

// Q4_K and Q5_K pack eight 6-bit scales and eight 6-bit minima in 12 bytes: bytes 0-3 and 4-7 hold the first
// four of each in their low 6 bits; bytes 8-11 the low nibbles of the last four, whose high two bits top
// bytes 0-7.
RZ_INLINE Scales packed_scales(const uint8_t *packed) {
  uint64_t low;
  uint32_t c;
  std::memcpy(&low, packed, 8);
  std::memcpy(&c, packed + 8, 4);
  const uint64_t nibbles =
      (c | static_cast<uint64_t>(c) << 28) & 0x0f0f0f0f0f0f0f0f;  // low ones, then high ones
  const uint64_t first = low & 0x3f3f3f3f3f3f3f3f, last = nibbles | ((low >> 2) & 0x3030303030303030);
  return {widen_twice(first, last, 0), widen_twice(first, last, 4)};
}

struct FormatQ4_K {
  using Block = BlockQ4_K;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 0, kSub = 32, kLargest = 15;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = offsetof(Block, dmin);
  static RZ_INLINE Scales scales(const Block &b) { return packed_scales(b.scales); }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    return two_fields(b.qs + 32 * quarter, 0, 4, 15);
  }
};

struct FormatQ5_K {
  using Block = BlockQ5_K;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 0, kSub = 32, kLargest = 31;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = offsetof(Block, dmin);
  static RZ_INLINE Scales scales(const Block &b) { return packed_scales(b.scales); }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    const Bytes64 low = two_fields(b.qs + 32 * quarter, 0, 4, 15);
    return or_bytes(low, shift_left_bytes<4>(two_fields(b.qh, 2 * quarter, 2 * quarter + 1, 1)));
  }
};

struct FormatQ6_K {
  using Block = BlockQ6_K;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 32, kSub = 16, kLargest = 63;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = kNone;
  static RZ_INLINE Scales scales(const Block &b) {
    const Shorts16 s = widen_signed(b.scales);
    return {s, mul_shorts(s, -kZero)};
  }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    // Quarters 1 and 3 are the high nibbles, and the high half of the high bits.
    const int upper = 4 * (quarter % 2);
    const Bytes64 low = field_right(load_bytes64(b.ql + 64 * (quarter / 2)), upper, 15);
    return or_bytes(low, shift_left_bytes<4>(two_fields(b.qh + 32 * (quarter / 2), upper, upper + 2, 3)));
  }
};

struct FormatQ2_K {
  using Block = BlockQ2_K;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 0, kSub = 16, kLargest = 3;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = offsetof(Block, dmin);
  static RZ_INLINE Scales scales(const Block &b) {
    const Shorts16 both = widen_unsigned(b.scales);
    return {and_shorts(both, 15), shift_right_shorts<4>(both)};
  }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    return two_fields(b.qs + 32 * (quarter / 2), 4 * (quarter % 2), 4 * (quarter % 2) + 2, 3);
  }
};

struct FormatQ3_K {
  using Block = BlockQ3_K;
  static constexpr bool kSigned = false;
  static constexpr int kZero = 4, kSub = 16, kLargest = 7;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = kNone;
  // 16 scales of 6 bits: low nibbles in bytes 0-7 (scales 0-7 in their low halves, 8-15 in their high ones),
  // the two high bits in bytes 8-11, scale 4 g + i at bits 2 g of byte 8 + i.
  static RZ_INLINE Scales scales(const Block &b) {
    uint64_t low;
    uint32_t high;
    std::memcpy(&low, b.scales, 8);
    std::memcpy(&high, b.scales + 8, 4);
    const uint64_t first = (low & 0x0f0f0f0f0f0f0f0f) | (static_cast<uint64_t>(high & 0x03030303) << 4) |
                           (static_cast<uint64_t>((high >> 2) & 0x03030303) << 36);
    const uint64_t last = ((low >> 4) & 0x0f0f0f0f0f0f0f0f) |
                          (static_cast<uint64_t>((high >> 4) & 0x03030303) << 4) |
                          (static_cast<uint64_t>((high >> 6) & 0x03030303) << 36);
    const Shorts16 s = sub_shorts(widen_words(first, last), 32);
    return {s, mul_shorts(s, -kZero)};
  }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    const int shift = 4 * (quarter % 2);
    const Bytes64 low = two_fields(b.qs + 32 * (quarter / 2), shift, shift + 2, 3);
    return or_bytes(low, shift_left_bytes<2>(two_fields(b.hmask, 2 * quarter, 2 * quarter + 1, 1)));
  }
};

struct FormatIQ4_XS {
  using Block = BlockIQ4_XS;
  static constexpr bool kSigned = true;
  static constexpr int kZero = kSignedZero, kSub = 32, kLargest = 127;
  static constexpr uint64_t kD = offsetof(Block, d), kDmin = kNone;
  static RZ_INLINE Scales scales(const Block &b) {
    uint32_t low;
    std::memcpy(&low, b.scales_l, 4);
    // A nibble, and a pair of bits, to each of eight bytes, by halves.
    uint64_t scale = low, high = b.scales_h;
    scale = (scale | scale << 16) & 0x0000ffff0000ffff;
    scale = (scale | scale << 8) & 0x00ff00ff00ff00ff;
    scale = (scale | scale << 4) & 0x0f0f0f0f0f0f0f0f;
    high = (high | high << 24) & 0x000000ff000000ff;
    high = (high | high << 12) & 0x000f000f000f000f;
    high = (high | high << 6) & 0x0303030303030303;
    const uint64_t bytes = scale | high << 4;
    const Shorts16 s = sub_shorts(widen_twice(bytes, bytes >> 32, 0), 32);
    return {s, mul_shorts(s, -kZero)};
  }
  static RZ_INLINE Bytes64 codes(const Block &b, int quarter) {
    const uint8_t *q = b.qs + 32 * quarter;
    return bias_signed(lookup(kIq4Values, nibbles(q, q + 16)));
  }
};

// ---- float formats: 16 weights at a time
struct FormatF32 {
  using Weight = float;
  static RZ_INLINE Floats load16(const Weight *p) { return load(p); }
};
struct FormatF16 {
  using Weight = uint16_t;
  static RZ_INLINE Floats load16(const Weight *p) { return load_half(p); }
};
struct FormatBF16 {
  using Weight = uint16_t;
  static RZ_INLINE Floats load16(const Weight *p) { return load_bf16(p); }
};

}  // namespace rz::cpu::RZ_ISA
