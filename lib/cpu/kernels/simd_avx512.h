// The vector vocabulary in AVX-512 (F, BW, DQ, VL, VNNI): every word is one register.
#pragma once

// GCC 12's own headers leave the lanes that a mask hides undefined, and it warns of that.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "cpu/kernels/simd_ymm.h"

namespace rz::cpu::RZ_ISA {

using Floats = __m512;     // 16
using Ints = __m512i;      // 16 x int32
using Shorts32 = __m512i;  // 32 x int16
using Bytes64 = __m512i;

// Activation rows up to which streaming the weights beats packing them: plain formats, K-quants, and those
// of them with signed codes.
constexpr int kFewBlocks = 2, kFewSuper = 8, kFewSigned = 4;
constexpr int kTileRows =
    6;  // activation rows of a many-row tile: 2 x 6 sums and as many scaled sums in registers
constexpr int kTileVectors = 2;                // 16 weight rows each
constexpr int kFloatRows = 4, kFloatTile = 6;  // float formats: 4 x 6 sums
constexpr int kQueryTile = 8;                  // attention: queries that share a load of keys or values
// Signed codes are kept as code + 128, because vpdpbusd takes unsigned by signed bytes.
constexpr int kSignedZero = 128;

// ---- floats
RZ_INLINE Floats zeros() { return _mm512_setzero_ps(); }
RZ_INLINE Floats splat(float x) { return _mm512_set1_ps(x); }
RZ_INLINE Floats load(const float *p) { return _mm512_loadu_ps(p); }
RZ_INLINE void store(float *p, Floats v) { _mm512_storeu_ps(p, v); }
RZ_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
RZ_INLINE Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
RZ_INLINE Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
RZ_INLINE Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
RZ_INLINE Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
RZ_INLINE Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
RZ_INLINE Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
RZ_INLINE Floats abs(Floats a) { return _mm512_abs_ps(a); }
RZ_INLINE Floats round(Floats a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
RZ_INLINE Ints to_ints(Floats a) { return _mm512_cvtps_epi32(a); }
RZ_INLINE Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }
// a where x >= limit, 0 where it is below
RZ_INLINE Floats zero_where_below(Floats a, Floats x, Floats limit) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), a);
}
// yes where x < limit, else no
RZ_INLINE Floats select_below(Floats x, Floats limit, Floats yes, Floats no) {
  return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(x, limit, _CMP_LT_OQ), yes);
}
RZ_INLINE Floats scale_by_power(Floats a, Ints n) {  // a 2^n, the result a normal number
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32(n, 23)));
}
// Sum and maximum by halves: lanes i and i + 8, then + 4, + 2, + 1.
RZ_INLINE float sum(Floats v) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
RZ_INLINE float maximum(Floats v) {
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}
RZ_INLINE Floats load_half(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
RZ_INLINE void store_half(uint16_t *p, Floats v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
RZ_INLINE Floats load_bf16(const uint16_t *p) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
RZ_INLINE Floats load_int8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
}
RZ_INLINE void store_int8(int8_t *p, Ints v) {  // saturated
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtsepi32_epi8(v));
}

// One half-precision number of each of 16 rows, `offset` bytes from its start.
RZ_INLINE Floats load_halves(const std::byte *const *rows, uint64_t offset) {
  return _mm512_cvtph_ps(_mm256_set_m128i(eight_halves(rows + 8, offset), eight_halves(rows, offset)));
}

// ---- ints
RZ_INLINE Ints int_zeros() { return _mm512_setzero_si512(); }
RZ_INLINE Ints splat_int(int32_t x) { return _mm512_set1_epi32(x); }
RZ_INLINE Ints load_ints(const int32_t *p) { return _mm512_loadu_si512(p); }
RZ_INLINE void store_ints(int32_t *p, Ints v) { _mm512_storeu_si512(p, v); }
RZ_INLINE Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
RZ_INLINE Ints sub_ints(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
RZ_INLINE Ints mul_add_ints(Ints acc, Ints a, Ints b) {
  return _mm512_add_epi32(acc, _mm512_mullo_epi32(a, b));
}

// Sums of rows: out[r] = sum of the 16 lanes of v[r]; halves: lanes 0-7 and 8-15 apart.
struct IntHalves {
  Ints low, high;
};
RZ_INLINE IntHalves sum_halves_of_rows(const Ints *v) {
  Ints quad[4];  // lane group l, lane i: partial sum l of row 4 q + i
  for (int q = 0; q < 4; ++q) {
    const Ints ab = _mm512_add_epi32(_mm512_unpacklo_epi32(v[4 * q], v[4 * q + 1]),
                                     _mm512_unpackhi_epi32(v[4 * q], v[4 * q + 1]));
    const Ints cd = _mm512_add_epi32(_mm512_unpacklo_epi32(v[4 * q + 2], v[4 * q + 3]),
                                     _mm512_unpackhi_epi32(v[4 * q + 2], v[4 * q + 3]));
    quad[q] = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  }
  const Ints x = _mm512_add_epi32(_mm512_shuffle_i32x4(quad[0], quad[1], _MM_SHUFFLE(2, 0, 2, 0)),
                                  _mm512_shuffle_i32x4(quad[0], quad[1], _MM_SHUFFLE(3, 1, 3, 1)));
  const Ints y = _mm512_add_epi32(_mm512_shuffle_i32x4(quad[2], quad[3], _MM_SHUFFLE(2, 0, 2, 0)),
                                  _mm512_shuffle_i32x4(quad[2], quad[3], _MM_SHUFFLE(3, 1, 3, 1)));
  return {_mm512_shuffle_i32x4(x, y, _MM_SHUFFLE(2, 0, 2, 0)),
          _mm512_shuffle_i32x4(x, y, _MM_SHUFFLE(3, 1, 3, 1))};
}
RZ_INLINE Ints sum_of_rows(const Ints *v) {
  const IntHalves h = sum_halves_of_rows(v);
  return _mm512_add_epi32(h.low, h.high);
}

// ---- shorts
RZ_INLINE Shorts32 load_shorts32(const int16_t *p) { return _mm512_loadu_si512(p); }
RZ_INLINE void store_shorts32(int16_t *p, Shorts32 v) { _mm512_storeu_si512(p, v); }
// Of 16 pairs of shorts, the first ones of a, the second ones of b.
RZ_INLINE Shorts32 first_second(Shorts32 a, Shorts32 b) { return _mm512_mask_blend_epi16(0xaaaaaaaa, a, b); }
// Shorts 4 quarter .. 4 quarter + 3, each eight times: the scales of 64 weights, one per pair of bytes.
RZ_INLINE Shorts32 spread(Shorts16 s, int quarter) {
  const __m512i pick = _mm512_set_epi64(0x0003000300030003, 0x0003000300030003, 0x0002000200020002,
                                        0x0002000200020002, 0x0001000100010001, 0x0001000100010001, 0, 0);
  const __m512i index = _mm512_add_epi16(pick, _mm512_set1_epi16(static_cast<int16_t>(4 * quarter)));
  return _mm512_permutexvar_epi16(index, _mm512_castsi256_si512(s));
}
// Of 16 pairs of shorts, the first or the second one: scales of what is run up below.
using RunScale = Ints;
RZ_INLINE Ints first_of_pairs(Shorts32 v) { return _mm512_srai_epi32(_mm512_slli_epi32(v, 16), 16); }
RZ_INLINE Ints second_of_pairs(Shorts32 v) { return _mm512_srai_epi32(v, 16); }
// acc[i] + a[2i] x[0] + a[2i + 1] x[1]
RZ_INLINE Ints add_pair(Ints acc, Shorts32 a, const int16_t *x) {
  int32_t pair;
  std::memcpy(&pair, x, sizeof pair);
  return _mm512_dpwssd_epi32(acc, a, _mm512_set1_epi32(pair));
}

// ---- bytes
RZ_INLINE Bytes64 load_bytes64(const void *p) { return _mm512_loadu_si512(p); }
RZ_INLINE Bytes64 join_shorts(Shorts16 low, Shorts16 high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
RZ_INLINE Bytes64 join(const void *low, const void *high) {  // 32 bytes each
  return join_shorts(load_bytes(low), load_bytes(high));
}
RZ_INLINE Bytes64 and_bytes(Bytes64 v, uint8_t mask) {
  return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(mask)));
}
RZ_INLINE Bytes64 or_bytes(Bytes64 x, Bytes64 y) { return _mm512_or_si512(x, y); }
template <int n>
RZ_INLINE Bytes64 shift_left_bytes(Bytes64 v) {  // bits must not leave their byte
  return _mm512_slli_epi16(v, n);
}
// (byte >> n) & mask; the mask keeps bits of the neighbour out.
RZ_INLINE Bytes64 field_right(Bytes64 v, int n, uint8_t mask) {
  return and_bytes(_mm512_srl_epi16(v, _mm_cvtsi32_si128(n)), mask);
}
// 32 bytes twice: (byte >> low) & mask of each, then (byte >> high) & mask.
RZ_INLINE Bytes64 two_fields(const void *p, int low, int high, uint8_t mask) {
  const __m512i shifts = _mm512_set_epi64(high, high, high, high, low, low, low, low);
  return and_bytes(_mm512_srlv_epi64(_mm512_broadcast_i64x4(load_bytes(p)), shifts), mask);
}
// 16 bytes of each: low nibbles of `a`, high ones of `a`, then those of `b`.
RZ_INLINE Bytes64 nibbles(const uint8_t *a, const uint8_t *b) {
  const __m512i both =
      join_shorts(_mm256_broadcastsi128_si256(load16(a)), _mm256_broadcastsi128_si256(load16(b)));
  return and_bytes(_mm512_srlv_epi64(both, _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0)), 15);
}
RZ_INLINE Bytes64 lookup(const int8_t *table16, Bytes64 index) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(load16(table16)), index);
}
// Byte i is `value` where bit i is set, else 0.
RZ_INLINE Bytes64 bytes_from_bits(uint64_t bits, uint8_t value) {
  return _mm512_maskz_set1_epi8(bits, static_cast<char>(value));
}
// Signed codes as the dot products below want them: code + kSignedZero.
RZ_INLINE Bytes64 bias_signed(Bytes64 a) { return _mm512_xor_si512(a, _mm512_set1_epi8(-128)); }

// ---- dot products of codes and activations
// Signed = false: codes 0..63. Signed = true: bias_signed(codes). Lane i takes bytes 4 i .. 4 i + 3.
template <bool Signed>
RZ_INLINE Ints dot(Bytes64 codes, Bytes64 x) {
  return _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, x);
}

// acc + dot, every pair of products first multiplied by its scale (codes 0..63), or every lane by its scale
// (signed).
template <bool Signed>
RZ_INLINE Ints dot_scaled(Ints acc, Bytes64 codes, Bytes64 x, Shorts32 scales) {
  if constexpr (Signed) {
    const Ints lane_scales = _mm512_srai_epi32(scales, 16);  // a lane's two shorts are equal
    return _mm512_add_epi32(acc, _mm512_mullo_epi32(dot<true>(codes, x), lane_scales));
  } else {
    return _mm512_dpwssd_epi32(acc, _mm512_maddubs_epi16(codes, x), scales);
  }
}

// Many rows: lane i holds four consecutive codes of weight row i; x is four activations, the same for all
// lanes.
struct PanelCodes {
  __m512i v;
};
template <bool Signed>
RZ_INLINE PanelCodes load_panel(const uint8_t *p) {
  return {_mm512_loadu_si512(p)};
}
using Broadcast = __m512i;
RZ_INLINE Broadcast broadcast4(const int8_t *x) {
  int32_t four;
  std::memcpy(&four, x, sizeof four);
  return _mm512_set1_epi32(four);
}
// A run of steps: sums on their way to Ints, here Ints themselves, of as many steps as one likes.
using Run = Ints;
constexpr int run_steps(int) { return 64; }
template <bool Signed>
RZ_INLINE Run dot4(Run run, PanelCodes codes, Broadcast x) {
  return _mm512_dpbusd_epi32(run, codes.v, x);
}
RZ_INLINE Run no_run() { return int_zeros(); }
RZ_INLINE Run begin_run(Ints acc) { return acc; }            // goes on from acc,
RZ_INLINE Ints end_run(Ints, Run run) { return run; }        // and acc + run is the end
RZ_INLINE Ints add_run(Ints acc, Run run, RunScale scale) {  // acc + run * scale
  return _mm512_add_epi32(acc, _mm512_mullo_epi32(run, scale));
}

// rows[r]: 64 codes of row r. out: 16 steps of 16 rows of 4 codes, 64 bytes a step.
RZ_INLINE void transpose_codes(const Bytes64 *rows, uint8_t *out) {
  __m512i t[16], u[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {  // u[4 g + i], lane group l: step 4 l + i of rows 4 g .. 4 g + 3
    const __m512i a = _mm512_shuffle_i32x4(u[i], u[4 + i], 0x88),
                  b = _mm512_shuffle_i32x4(u[i], u[4 + i], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0x88),
                  d = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0xdd);
    _mm512_storeu_si512(out + 64 * i, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(out + 64 * (4 + i), _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(out + 64 * (8 + i), _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(out + 64 * (12 + i), _mm512_shuffle_i32x4(b, d, 0xdd));
  }
}

// rows[r]: 8 pairs of shorts of row r. out: 8 steps of 16 rows of a pair, 64 bytes a step.
RZ_INLINE void transpose_pairs(const Shorts16 *rows, int16_t *out) {
  __m512i u[2][4];  // lane groups: pair i of four rows, pair 4 + i, then of the next four rows
  for (int g = 0; g < 2; ++g) {
    __m512i v[4];
    for (int i = 0; i < 4; ++i) v[i] = join_shorts(rows[8 * g + i], rows[8 * g + 4 + i]);
    const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    const __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    u[g][0] = _mm512_unpacklo_epi64(a, c);
    u[g][1] = _mm512_unpackhi_epi64(a, c);
    u[g][2] = _mm512_unpacklo_epi64(b, d);
    u[g][3] = _mm512_unpackhi_epi64(b, d);
  }
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(out + 32 * i, _mm512_shuffle_i32x4(u[0][i], u[1][i], 0x88));
    _mm512_storeu_si512(out + 32 * (4 + i), _mm512_shuffle_i32x4(u[0][i], u[1][i], 0xdd));
  }
}

RZ_INLINE void prefetch(const void *p) { _mm_prefetch(static_cast<const char *>(p), _MM_HINT_T0); }

}  // namespace rz::cpu::RZ_ISA
