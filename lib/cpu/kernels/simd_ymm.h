// The words that AVX2 and AVX-512 say with the same registers: 16 shorts, one of 256 bits.
#pragma once

namespace rz::cpu::RZ_ISA {

using Shorts16 = __m256i;  // 16 x int16

RZ_INLINE __m128i load16(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
RZ_INLINE __m256i load_bytes(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }

// One half-precision number of each of 8 rows, `offset` bytes from its start. A gather would take four bytes
// a row, and more time on many processors.
RZ_INLINE __m128i eight_halves(const std::byte *const *rows, uint64_t offset) {
  uint16_t h[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&h[i], rows[i] + offset, sizeof h[i]);
  __m128i v = _mm_cvtsi32_si128(h[0]);
  v = _mm_insert_epi16(v, h[1], 1);
  v = _mm_insert_epi16(v, h[2], 2);
  v = _mm_insert_epi16(v, h[3], 3);
  v = _mm_insert_epi16(v, h[4], 4);
  v = _mm_insert_epi16(v, h[5], 5);
  v = _mm_insert_epi16(v, h[6], 6);
  return _mm_insert_epi16(v, h[7], 7);
}

// ---- shorts
RZ_INLINE void store_shorts(int16_t *p, Shorts16 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v);
}
// Bytes 0-3 of two words, or bytes 4-7 (`from` 4), each twice, as 16 shorts.
RZ_INLINE Shorts16 widen_twice(uint64_t first, uint64_t second, int from) {
  const __m128i b = _mm_unpacklo_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(first)),
                                       _mm_cvtsi64_si128(static_cast<int64_t>(second)));
  return _mm256_cvtepu8_epi16(from == 0 ? _mm_unpacklo_epi8(b, b) : _mm_unpackhi_epi8(b, b));
}
// The bytes of two words as 16 shorts.
RZ_INLINE Shorts16 widen_words(uint64_t first, uint64_t second) {
  return _mm256_cvtepu8_epi16(_mm_set_epi64x(static_cast<int64_t>(second), static_cast<int64_t>(first)));
}
RZ_INLINE Shorts16 widen_unsigned(const uint8_t *p) { return _mm256_cvtepu8_epi16(load16(p)); }
RZ_INLINE Shorts16 widen_signed(const int8_t *p) { return _mm256_cvtepi8_epi16(load16(p)); }
RZ_INLINE Shorts16 and_shorts(Shorts16 v, int16_t mask) {
  return _mm256_and_si256(v, _mm256_set1_epi16(mask));
}
template <int n>
RZ_INLINE Shorts16 shift_right_shorts(Shorts16 v) {
  return _mm256_srli_epi16(v, n);
}
RZ_INLINE Shorts16 sub_shorts(Shorts16 v, int16_t x) { return _mm256_sub_epi16(v, _mm256_set1_epi16(x)); }
RZ_INLINE Shorts16 mul_shorts(Shorts16 v, int16_t x) { return _mm256_mullo_epi16(v, _mm256_set1_epi16(x)); }

}  // namespace rz::cpu::RZ_ISA
