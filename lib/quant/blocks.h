// The blocks as they lie in a file (little endian, no padding). `d` is a half-precision scale, `m` or `dmin`
// the scale of the minima. Formulas give weight number j of the block.
#pragma once

#include <cstdint>

namespace rz {

using Half = uint16_t;  // IEEE binary16 bits

constexpr int kBlock = 32;        // weights of a plain block
constexpr int kSuperBlock = 256;  // weights of a K-quant block

// w[j] = d (q - 8); q of weight j < 16 is the low nibble of qs[j], of weight j + 16 the high nibble.
struct BlockQ4_0 {
  Half d;
  uint8_t qs[16];
};

// w[j] = d q + m
struct BlockQ4_1 {
  Half d, m;
  uint8_t qs[16];
};

// w[j] = d (q - 16); bit j of qh (little endian) is the fifth bit of q.
struct BlockQ5_0 {
  Half d;
  uint8_t qh[4];
  uint8_t qs[16];
};

// w[j] = d q + m
struct BlockQ5_1 {
  Half d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};

// w[j] = d qs[j]
struct BlockQ8_0 {
  Half d;
  int8_t qs[32];
};

// 16 sub-blocks of 16: w = d (scales & 15) q - dmin (scales >> 4). Within each 128 weights, 32 bytes of qs
// hold four groups of 32: bits 0-1, 2-3, 4-5, 6-7.
struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  Half d, dmin;
};

// 16 sub-blocks of 16: w = d (scale - 32) (q - 4), low two bits of q in qs as above, the third is bit
// (group number) of hmask[weight % 32]; 6-bit scales packed in 12 bytes.
struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  Half d;
};

// 8 sub-blocks of 32: w = d scale q - dmin min, 6-bit scales and minima packed in 12 bytes. Each 32 bytes of
// qs hold two sub-blocks: low nibbles, then high nibbles.
struct BlockQ4_K {
  Half d, dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};

// As Q4_K; bit s of qh[j] is the fifth bit of weight j of sub-block s.
struct BlockQ5_K {
  Half d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};

// 16 sub-blocks of 16: w = d scales (q - 32). Per 128 weights: 64 bytes of ql (low nibbles are groups 0 and 1
// of 32, high nibbles groups 2 and 3) and 32 bytes of qh (two bits a group).
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  Half d;
};

// w[j] = d kIq4Values[q], nibbles as in Q4_0.
struct BlockIQ4_NL {
  Half d;
  uint8_t qs[16];
};

// 8 sub-blocks of 32: w = d (scale - 32) kIq4Values[q]; low 4 bits of the 6-bit scales in scales_l, high 2 in
// scales_h; 16 bytes of qs per sub-block, nibbles as in Q4_0.
struct BlockIQ4_XS {
  Half d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};

// Codebook of IQ4_NL and IQ4_XS: 16 levels, denser near zero.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136);

}  // namespace rz
