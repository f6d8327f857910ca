// The vector vocabulary in AVX2 with FMA and F16C: a word of 16 lanes is two registers, its low and its high
// half.
#pragma once

#include <immintrin.h>

#include "cpu/kernels/simd_ymm.h"

namespace rz::cpu::RZ_ISA {

struct Floats {
  __m256 a, b;
};
struct Ints {
  __m256i a, b;
};
struct Shorts32 {
  __m256i a, b;
};
struct Bytes64 {
  __m256i a, b;
};

constexpr int kFewBlocks = 1, kFewSuper = 2, kFewSigned = 2;
constexpr int kTileRows = 3;  // 3 x 2 registers of sums, and as many scaled ones
constexpr int kTileVectors = 1;
constexpr int kFloatRows = 2, kFloatTile = 3;
constexpr int kQueryTile = 2;  // attention: queries that share a load of keys or values
// vpmaddubsw would saturate with codes past 127, so signed codes stay signed and their sign moves to the
// activations.
constexpr int kSignedZero = 0;

// ---- floats
RZ_INLINE Floats zeros() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
RZ_INLINE Floats splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
RZ_INLINE Floats load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
RZ_INLINE void store(float *p, Floats v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
RZ_INLINE Floats add(Floats x, Floats y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
RZ_INLINE Floats sub(Floats x, Floats y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
RZ_INLINE Floats mul(Floats x, Floats y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
RZ_INLINE Floats div(Floats x, Floats y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
RZ_INLINE Floats fma(Floats x, Floats y, Floats z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
RZ_INLINE Floats max(Floats x, Floats y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
RZ_INLINE Floats min(Floats x, Floats y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
RZ_INLINE Floats abs(Floats x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
RZ_INLINE Floats round(Floats x) {
  constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, mode), _mm256_round_ps(x.b, mode)};
}
RZ_INLINE Ints to_ints(Floats x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
RZ_INLINE Floats to_floats(Ints x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
RZ_INLINE Floats zero_where_below(Floats v, Floats x, Floats limit) {
  return {_mm256_and_ps(v.a, _mm256_cmp_ps(x.a, limit.a, _CMP_NLT_UQ)),
          _mm256_and_ps(v.b, _mm256_cmp_ps(x.b, limit.b, _CMP_NLT_UQ))};
}
RZ_INLINE Floats select_below(Floats x, Floats limit, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, limit.a, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, limit.b, _CMP_LT_OQ))};
}
RZ_INLINE __m256 scale_half(__m256 v, __m256i n) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), _mm256_slli_epi32(n, 23)));
}
RZ_INLINE Floats scale_by_power(Floats v, Ints n) { return {scale_half(v.a, n.a), scale_half(v.b, n.b)}; }
RZ_INLINE float sum(Floats v) {
  const __m256 h = _mm256_add_ps(v.a, v.b);
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
RZ_INLINE float maximum(Floats v) {
  const __m256 h = _mm256_max_ps(v.a, v.b);
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}
RZ_INLINE Floats load_half(const uint16_t *p) {
  return {_mm256_cvtph_ps(load16(p)), _mm256_cvtph_ps(load16(p + 8))};
}
RZ_INLINE void store_half(uint16_t *p, Floats v) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(v.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p + 8), _mm256_cvtps_ph(v.b, _MM_FROUND_TO_NEAREST_INT));
}
RZ_INLINE __m256 widen_bf16(__m128i h) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
RZ_INLINE Floats load_bf16(const uint16_t *p) { return {widen_bf16(load16(p)), widen_bf16(load16(p + 8))}; }
RZ_INLINE Floats load_int8(const int8_t *p) {
  const __m128i b = load16(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(b, 8)))};
}
RZ_INLINE void store_int8(int8_t *p, Ints v) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(v.a, v.b), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), bytes);
}

// One half-precision number of each of 16 rows, `offset` bytes from its start.
RZ_INLINE Floats load_halves(const std::byte *const *rows, uint64_t offset) {
  return {_mm256_cvtph_ps(eight_halves(rows, offset)), _mm256_cvtph_ps(eight_halves(rows + 8, offset))};
}

// ---- ints
RZ_INLINE Ints int_zeros() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
RZ_INLINE Ints splat_int(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
RZ_INLINE Ints load_ints(const int32_t *p) { return {load_bytes(p), load_bytes(p + 8)}; }
RZ_INLINE void store_ints(int32_t *p, Ints v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p + 8), v.b);
}
RZ_INLINE Ints add_ints(Ints x, Ints y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
RZ_INLINE Ints sub_ints(Ints x, Ints y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
RZ_INLINE Ints mul_add_ints(Ints acc, Ints x, Ints y) {
  return {_mm256_add_epi32(acc.a, _mm256_mullo_epi32(x.a, y.a)),
          _mm256_add_epi32(acc.b, _mm256_mullo_epi32(x.b, y.b))};
}

struct IntHalves {
  Ints low, high;
};
// Sums of eight registers of eight lanes.
RZ_INLINE __m256i sum_eight(__m256i v0, __m256i v1, __m256i v2, __m256i v3, __m256i v4, __m256i v5,
                            __m256i v6, __m256i v7) {
  const __m256i q0 = _mm256_hadd_epi32(_mm256_hadd_epi32(v0, v1), _mm256_hadd_epi32(v2, v3));
  const __m256i q1 = _mm256_hadd_epi32(_mm256_hadd_epi32(v4, v5), _mm256_hadd_epi32(v6, v7));
  return _mm256_add_epi32(_mm256_permute2x128_si256(q0, q1, 0x20), _mm256_permute2x128_si256(q0, q1, 0x31));
}
RZ_INLINE IntHalves sum_halves_of_rows(const Ints *v) {
  return {{sum_eight(v[0].a, v[1].a, v[2].a, v[3].a, v[4].a, v[5].a, v[6].a, v[7].a),
           sum_eight(v[8].a, v[9].a, v[10].a, v[11].a, v[12].a, v[13].a, v[14].a, v[15].a)},
          {sum_eight(v[0].b, v[1].b, v[2].b, v[3].b, v[4].b, v[5].b, v[6].b, v[7].b),
           sum_eight(v[8].b, v[9].b, v[10].b, v[11].b, v[12].b, v[13].b, v[14].b, v[15].b)}};
}
RZ_INLINE Ints sum_of_rows(const Ints *v) {
  __m256i s[16];
  for (int i = 0; i < 16; ++i) s[i] = _mm256_add_epi32(v[i].a, v[i].b);
  return {sum_eight(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]),
          sum_eight(s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15])};
}

// ---- shorts
RZ_INLINE Shorts32 load_shorts32(const int16_t *p) { return {load_bytes(p), load_bytes(p + 16)}; }
RZ_INLINE void store_shorts32(int16_t *p, Shorts32 v) {
  store_shorts(p, v.a);
  store_shorts(p + 16, v.b);
}
RZ_INLINE Shorts32 first_second(Shorts32 a, Shorts32 b) {
  return {_mm256_blend_epi16(a.a, b.a, 0xaa), _mm256_blend_epi16(a.b, b.b, 0xaa)};
}
RZ_INLINE Shorts32 spread(Shorts16 s, int quarter) {
  // The quarter's four shorts in every 128-bit half, then each of them in a half of its own.
  const __m256i four = _mm256_permutevar8x32_epi32(
      s, _mm256_add_epi32(_mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1), _mm256_set1_epi32(2 * quarter)));
  const __m256i first = _mm256_setr_epi16(0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100,
                                          0x0302, 0x0302, 0x0302, 0x0302, 0x0302, 0x0302, 0x0302, 0x0302);
  const __m256i second = _mm256_add_epi8(first, _mm256_set1_epi8(4));
  return {_mm256_shuffle_epi8(four, first), _mm256_shuffle_epi8(four, second)};
}
// A pair's first or second short, twice.
using RunScale = Shorts32;
RZ_INLINE __m256i first_twice(__m256i v) { return _mm256_blend_epi16(v, _mm256_slli_epi32(v, 16), 0xaa); }
RZ_INLINE __m256i second_twice(__m256i v) { return _mm256_blend_epi16(v, _mm256_srli_epi32(v, 16), 0x55); }
RZ_INLINE RunScale first_of_pairs(Shorts32 v) { return {first_twice(v.a), first_twice(v.b)}; }
RZ_INLINE RunScale second_of_pairs(Shorts32 v) { return {second_twice(v.a), second_twice(v.b)}; }
RZ_INLINE Ints add_pair(Ints acc, Shorts32 v, const int16_t *x) {
  int32_t pair;
  std::memcpy(&pair, x, sizeof pair);
  const __m256i p = _mm256_set1_epi32(pair);
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(v.a, p)),
          _mm256_add_epi32(acc.b, _mm256_madd_epi16(v.b, p))};
}

// ---- bytes
RZ_INLINE Bytes64 load_bytes64(const void *p) {
  return {load_bytes(p), load_bytes(static_cast<const uint8_t *>(p) + 32)};
}
RZ_INLINE Bytes64 join(const void *low, const void *high) { return {load_bytes(low), load_bytes(high)}; }
RZ_INLINE __m256i and_half(__m256i v, uint8_t mask) {
  return _mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(mask)));
}
RZ_INLINE __m256i right_half(__m256i v, int n, uint8_t mask) {
  return and_half(_mm256_srl_epi16(v, _mm_cvtsi32_si128(n)), mask);
}
RZ_INLINE Bytes64 or_bytes(Bytes64 x, Bytes64 y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
template <int n>
RZ_INLINE Bytes64 shift_left_bytes(Bytes64 v) {
  return {_mm256_slli_epi16(v.a, n), _mm256_slli_epi16(v.b, n)};
}
RZ_INLINE Bytes64 field_right(Bytes64 v, int n, uint8_t mask) {
  return {right_half(v.a, n, mask), right_half(v.b, n, mask)};
}
RZ_INLINE Bytes64 two_fields(const void *p, int low, int high, uint8_t mask) {
  const __m256i v = load_bytes(p);
  return {right_half(v, low, mask), right_half(v, high, mask)};
}
RZ_INLINE __m256i nibbles_of(const uint8_t *p) {
  const __m128i q = load16(p);
  return and_half(_mm256_set_m128i(_mm_srli_epi16(q, 4), q), 15);
}
RZ_INLINE Bytes64 nibbles(const uint8_t *a, const uint8_t *b) { return {nibbles_of(a), nibbles_of(b)}; }
RZ_INLINE Bytes64 lookup(const int8_t *table16, Bytes64 index) {
  const __m256i table = _mm256_broadcastsi128_si256(load16(table16));
  return {_mm256_shuffle_epi8(table, index.a), _mm256_shuffle_epi8(table, index.b)};
}
RZ_INLINE __m256i half_from_bits(uint32_t bits, uint8_t value) {
  const __m256i spread_bits =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(bits)),
                          _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  return and_half(_mm256_cmpeq_epi8(_mm256_and_si256(spread_bits, bit), bit), value);
}
RZ_INLINE Bytes64 bytes_from_bits(uint64_t bits, uint8_t value) {
  return {half_from_bits(static_cast<uint32_t>(bits), value),
          half_from_bits(static_cast<uint32_t>(bits >> 32), value)};
}
RZ_INLINE Bytes64 bias_signed(Bytes64 v) { return v; }

// ---- dot products of codes and activations
template <bool Signed>
RZ_INLINE __m256i pairs_of(__m256i codes, __m256i x) {  // 16 sums of two products, |sum| <= 2 * 128 * 127
  if constexpr (Signed) return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
  return _mm256_maddubs_epi16(codes, x);
}
template <bool Signed>
RZ_INLINE Ints dot(Bytes64 codes, Bytes64 x) {
  const __m256i ones = _mm256_set1_epi16(1);
  return {_mm256_madd_epi16(pairs_of<Signed>(codes.a, x.a), ones),
          _mm256_madd_epi16(pairs_of<Signed>(codes.b, x.b), ones)};
}
template <bool Signed>
RZ_INLINE Ints dot_scaled(Ints acc, Bytes64 codes, Bytes64 x, Shorts32 scales) {
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(pairs_of<Signed>(codes.a, x.a), scales.a)),
          _mm256_add_epi32(acc.b, _mm256_madd_epi16(pairs_of<Signed>(codes.b, x.b), scales.b))};
}

struct PanelCodes {
  __m256i a, b;
};
template <bool Signed>
RZ_INLINE PanelCodes load_panel(const uint8_t *p) {
  return {load_bytes(p), load_bytes(p + 32)};
}
using Broadcast = __m256i;
RZ_INLINE Broadcast broadcast4(const int8_t *x) {
  int32_t four;
  std::memcpy(&four, x, sizeof four);
  return _mm256_set1_epi32(four);
}
// Sums of several steps stay in shorts while they cannot overflow: two products of |codes| <= largest and
// |x| <= 127 a step.
using Run = Shorts32;
constexpr int run_steps(int largest) {
  int steps = 1;
  while (2 * steps * 2 * largest * 127 <= 32767) steps *= 2;
  return steps;
}
template <bool Signed>
RZ_INLINE Run dot4(Run run, PanelCodes codes, Broadcast x) {
  run = {_mm256_add_epi16(run.a, pairs_of<Signed>(codes.a, x)),
         _mm256_add_epi16(run.b, pairs_of<Signed>(codes.b, x))};
  __asm__("" : "+x"(run.a), "+x"(run.b));  // or GCC keeps all products and adds them last, in memory
  return run;
}
RZ_INLINE Run no_run() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
RZ_INLINE Run begin_run(Ints) { return no_run(); }
RZ_INLINE Ints add_run(Ints acc, Run run, RunScale scale) {
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(run.a, scale.a)),
          _mm256_add_epi32(acc.b, _mm256_madd_epi16(run.b, scale.b))};
}
RZ_INLINE Ints end_run(Ints acc, Run run) {
  const __m256i ones = _mm256_set1_epi16(1);
  return add_run(acc, run, {ones, ones});
}

// One 8 x 8 block of four-byte steps: out + 64 s gets step s of the eight rows, 32 bytes.
RZ_INLINE void transpose_eight(const __m256i *r, uint8_t *out) {
  __m256i t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + 64 * i),
                        _mm256_permute2x128_si256(u[i], u[4 + i], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + 64 * (4 + i)),
                        _mm256_permute2x128_si256(u[i], u[4 + i], 0x31));
  }
}
RZ_INLINE void transpose_codes(const Bytes64 *rows, uint8_t *out) {
  for (int half = 0; half < 2; ++half) {  // rows 0-7, rows 8-15
    __m256i low[8], high[8];
    for (int i = 0; i < 8; ++i) {
      low[i] = rows[8 * half + i].a;
      high[i] = rows[8 * half + i].b;
    }
    transpose_eight(low, out + 32 * half);
    transpose_eight(high, out + 512 + 32 * half);
  }
}

RZ_INLINE void transpose_pairs(const Shorts16 *rows, int16_t *out) {
  transpose_eight(rows, reinterpret_cast<uint8_t *>(out));
  transpose_eight(rows + 8, reinterpret_cast<uint8_t *>(out) + 32);
}

RZ_INLINE void prefetch(const void *p) { _mm_prefetch(static_cast<const char *>(p), _MM_HINT_T0); }

}  // namespace rz::cpu::RZ_ISA
