// The vector vocabulary in plain C++: arrays and loops, for processors without a set of their own and as the
// meaning that the other sets are tested against.
#pragma once

namespace rz::cpu::RZ_ISA {

struct Floats {
  float v[16];
};
struct Ints {
  int32_t v[16];
};
struct Shorts16 {
  int16_t v[16];
};
struct Shorts32 {
  int16_t v[32];
};
struct Bytes64 {
  uint8_t v[64];
};

constexpr int kFewBlocks = 1, kFewSuper = 2, kFewSigned = 2;
constexpr int kTileRows = 2;
constexpr int kTileVectors = 1;
constexpr int kFloatRows = 2, kFloatTile = 2;
constexpr int kQueryTile = 2;  // attention: queries that share a load of keys or values
constexpr int kSignedZero = 0;

// Applies an expression to every lane i of a new word.
#define RZ_LANES(Word, n, expression)                \
  Word r;                                            \
  for (int i = 0; i < n; ++i) r.v[i] = (expression); \
  return r

// ---- floats
RZ_INLINE Floats splat(float x) { RZ_LANES(Floats, 16, x); }
RZ_INLINE Floats zeros() { return splat(0); }
RZ_INLINE Floats load(const float *p) { RZ_LANES(Floats, 16, p[i]); }
RZ_INLINE void store(float *p, Floats a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
RZ_INLINE Floats add(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] + b.v[i]); }
RZ_INLINE Floats sub(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] - b.v[i]); }
RZ_INLINE Floats mul(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] * b.v[i]); }
RZ_INLINE Floats div(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] / b.v[i]); }
RZ_INLINE Floats fma(Floats a, Floats b, Floats c) {
  RZ_LANES(Floats, 16, a.v[i] * b.v[i] + c.v[i]);
}  // rounds twice
RZ_INLINE Floats max(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
RZ_INLINE Floats min(Floats a, Floats b) { RZ_LANES(Floats, 16, a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
RZ_INLINE Floats abs(Floats a) { RZ_LANES(Floats, 16, __builtin_fabsf(a.v[i])); }
// To nearest, ties to even: adding 1.5 * 2^23 leaves no room for a fraction. Magnitudes past 2^22 need no
// rounding.
RZ_INLINE float round_lane(float x) {
  if (!(__builtin_fabsf(x) < 4194304.0f)) return x;
  const float big = x + 12582912.0f;
  return big - 12582912.0f;
}
RZ_INLINE Floats round(Floats a) { RZ_LANES(Floats, 16, round_lane(a.v[i])); }
RZ_INLINE Ints to_ints(Floats a) {  // out of range and NaN: INT32_MIN, as the processors give
  RZ_LANES(Ints, 16,
           a.v[i] >= -2147483648.0f && a.v[i] < 2147483648.0f ? static_cast<int32_t>(round_lane(a.v[i]))
                                                              : INT32_MIN);
}
RZ_INLINE Floats to_floats(Ints a) { RZ_LANES(Floats, 16, static_cast<float>(a.v[i])); }
RZ_INLINE Floats zero_where_below(Floats a, Floats x, Floats limit) {
  RZ_LANES(Floats, 16, x.v[i] < limit.v[i] ? 0.0f : a.v[i]);
}
RZ_INLINE Floats select_below(Floats x, Floats limit, Floats yes, Floats no) {
  RZ_LANES(Floats, 16, x.v[i] < limit.v[i] ? yes.v[i] : no.v[i]);
}
RZ_INLINE float scale_lane(float x, int32_t n) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits += static_cast<uint32_t>(n) << 23;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}
RZ_INLINE Floats scale_by_power(Floats a, Ints n) { RZ_LANES(Floats, 16, scale_lane(a.v[i], n.v[i])); }
RZ_INLINE float sum(Floats a) {
  for (int n = 8; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) a.v[i] += a.v[i + n];
  }
  return a.v[0];
}
RZ_INLINE float maximum(Floats a) {
  for (int n = 8; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) a.v[i] = a.v[i] > a.v[i + n] ? a.v[i] : a.v[i + n];
  }
  return a.v[0];
}
RZ_INLINE float float_of_half(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, rest = static_cast<uint32_t>(h & 0x7fff)
                                                                        << 13;
  uint32_t bits = rest;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  x *= 0x1p112f;  // from half's exponent bias to float's, subnormals included
  std::memcpy(&bits, &x, sizeof x);
  bits = (h & 0x7c00) == 0x7c00 ? (0x7f800000u | rest | sign) : (bits | sign);
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
RZ_INLINE uint16_t half_of_float(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    float x = __builtin_fabsf(f) + 0.5f;  // float's own rounding at 2^-24, the step of subnormal halves
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13));
}
RZ_INLINE float float_of_bf16(uint16_t h) {
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
RZ_INLINE Floats load_half(const uint16_t *p) { RZ_LANES(Floats, 16, float_of_half(p[i])); }
RZ_INLINE void store_half(uint16_t *p, Floats a) {
  for (int i = 0; i < 16; ++i) p[i] = half_of_float(a.v[i]);
}
RZ_INLINE Floats load_bf16(const uint16_t *p) { RZ_LANES(Floats, 16, float_of_bf16(p[i])); }
RZ_INLINE Floats load_int8(const int8_t *p) { RZ_LANES(Floats, 16, static_cast<float>(p[i])); }
RZ_INLINE void store_int8(int8_t *p, Ints a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i] > 127 ? 127 : a.v[i] < -128 ? -128 : a.v[i]);
}
RZ_INLINE Floats load_halves(const std::byte *const *rows, uint64_t offset) {
  Floats r;
  for (int i = 0; i < 16; ++i) {
    uint16_t h;
    std::memcpy(&h, rows[i] + offset, sizeof h);
    r.v[i] = float_of_half(h);
  }
  return r;
}

// ---- ints
RZ_INLINE Ints splat_int(int32_t x) { RZ_LANES(Ints, 16, x); }
RZ_INLINE Ints int_zeros() { return splat_int(0); }
RZ_INLINE Ints load_ints(const int32_t *p) { RZ_LANES(Ints, 16, p[i]); }
RZ_INLINE void store_ints(int32_t *p, Ints a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
RZ_INLINE Ints add_ints(Ints a, Ints b) { RZ_LANES(Ints, 16, a.v[i] + b.v[i]); }
RZ_INLINE Ints sub_ints(Ints a, Ints b) { RZ_LANES(Ints, 16, a.v[i] - b.v[i]); }
RZ_INLINE Ints mul_add_ints(Ints acc, Ints a, Ints b) { RZ_LANES(Ints, 16, acc.v[i] + a.v[i] * b.v[i]); }
struct IntHalves {
  Ints low, high;
};
RZ_INLINE IntHalves sum_halves_of_rows(const Ints *rows) {
  IntHalves r;
  for (int i = 0; i < 16; ++i) {
    r.low.v[i] = r.high.v[i] = 0;
    for (int lane = 0; lane < 8; ++lane) {
      r.low.v[i] += rows[i].v[lane];
      r.high.v[i] += rows[i].v[lane + 8];
    }
  }
  return r;
}
RZ_INLINE Ints sum_of_rows(const Ints *rows) {
  const IntHalves h = sum_halves_of_rows(rows);
  return add_ints(h.low, h.high);
}

// ---- shorts
RZ_INLINE void store_shorts(int16_t *p, Shorts16 a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
RZ_INLINE Shorts32 load_shorts32(const int16_t *p) { RZ_LANES(Shorts32, 32, p[i]); }
RZ_INLINE void store_shorts32(int16_t *p, Shorts32 v) { std::memcpy(p, v.v, sizeof v.v); }
RZ_INLINE Shorts32 first_second(Shorts32 a, Shorts32 b) { RZ_LANES(Shorts32, 32, i % 2 ? b.v[i] : a.v[i]); }
RZ_INLINE Shorts16 widen_twice(uint64_t first, uint64_t second, int from) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(((i < 8 ? first : second) >> (8 * (from + i / 2 % 4))) & 255));
}
RZ_INLINE Shorts16 widen_words(uint64_t first, uint64_t second) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(((i < 8 ? first : second) >> (8 * (i % 8))) & 255));
}
RZ_INLINE Shorts16 widen_unsigned(const uint8_t *p) { RZ_LANES(Shorts16, 16, p[i]); }
RZ_INLINE Shorts16 widen_signed(const int8_t *p) { RZ_LANES(Shorts16, 16, p[i]); }
RZ_INLINE Shorts16 and_shorts(Shorts16 a, int16_t mask) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(a.v[i] & mask));
}
template <int n>
RZ_INLINE Shorts16 shift_right_shorts(Shorts16 a) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(static_cast<uint16_t>(a.v[i]) >> n));
}
RZ_INLINE Shorts16 sub_shorts(Shorts16 a, int16_t x) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(a.v[i] - x));
}
RZ_INLINE Shorts16 mul_shorts(Shorts16 a, int16_t x) {
  RZ_LANES(Shorts16, 16, static_cast<int16_t>(a.v[i] * x));
}
RZ_INLINE Shorts32 spread(Shorts16 s, int quarter) { RZ_LANES(Shorts32, 32, s.v[4 * quarter + i / 8]); }
using RunScale = Ints;
RZ_INLINE Ints first_of_pairs(Shorts32 s) { RZ_LANES(Ints, 16, s.v[2 * i]); }
RZ_INLINE Ints second_of_pairs(Shorts32 s) { RZ_LANES(Ints, 16, s.v[2 * i + 1]); }
RZ_INLINE Ints add_pair(Ints acc, Shorts32 a, const int16_t *x) {
  RZ_LANES(Ints, 16, acc.v[i] + a.v[2 * i] * x[0] + a.v[2 * i + 1] * x[1]);
}

// ---- bytes
RZ_INLINE Bytes64 load_bytes64(const void *p) {
  Bytes64 r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
RZ_INLINE Bytes64 join(const void *low, const void *high) {
  Bytes64 r;
  std::memcpy(r.v, low, 32);
  std::memcpy(r.v + 32, high, 32);
  return r;
}
RZ_INLINE Bytes64 or_bytes(Bytes64 a, Bytes64 b) {
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>(a.v[i] | b.v[i]));
}
template <int n>
RZ_INLINE Bytes64 shift_left_bytes(Bytes64 a) {
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>(a.v[i] << n));
}
RZ_INLINE Bytes64 field_right(Bytes64 a, int n, uint8_t mask) {
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>((a.v[i] >> n) & mask));
}
RZ_INLINE Bytes64 two_fields(const void *p, int low, int high, uint8_t mask) {
  const uint8_t *b = static_cast<const uint8_t *>(p);
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>((i < 32 ? b[i] >> low : b[i - 32] >> high) & mask));
}
RZ_INLINE Bytes64 nibbles(const uint8_t *a, const uint8_t *b) {
  Bytes64 r;
  for (int i = 0; i < 16; ++i) {
    r.v[i] = a[i] & 15;
    r.v[16 + i] = a[i] >> 4;
    r.v[32 + i] = b[i] & 15;
    r.v[48 + i] = b[i] >> 4;
  }
  return r;
}
RZ_INLINE Bytes64 lookup(const int8_t *table16, Bytes64 index) {
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>(table16[index.v[i]]));
}
RZ_INLINE Bytes64 bytes_from_bits(uint64_t bits, uint8_t value) {
  RZ_LANES(Bytes64, 64, static_cast<uint8_t>((bits >> i) & 1 ? value : 0));
}
RZ_INLINE Bytes64 bias_signed(Bytes64 a) { return a; }

// ---- dot products of codes and activations
template <bool Signed>
RZ_INLINE int32_t product(uint8_t code, uint8_t x) {
  return (Signed ? static_cast<int32_t>(static_cast<int8_t>(code)) : static_cast<int32_t>(code)) *
         static_cast<int8_t>(x);
}
template <bool Signed>
RZ_INLINE Ints dot(Bytes64 codes, Bytes64 x) {
  Ints r = int_zeros();
  for (int i = 0; i < 64; ++i) r.v[i / 4] += product<Signed>(codes.v[i], x.v[i]);
  return r;
}
template <bool Signed>
RZ_INLINE Ints dot_scaled(Ints acc, Bytes64 codes, Bytes64 x, Shorts32 scales) {
  for (int i = 0; i < 64; ++i) acc.v[i / 4] += product<Signed>(codes.v[i], x.v[i]) * scales.v[i / 2];
  return acc;
}
using PanelCodes = Bytes64;
template <bool Signed>
RZ_INLINE PanelCodes load_panel(const uint8_t *p) {
  return load_bytes64(p);
}
struct Broadcast {
  int8_t v[4];
};
RZ_INLINE Broadcast broadcast4(const int8_t *x) { return {{x[0], x[1], x[2], x[3]}}; }
using Run = Ints;
constexpr int run_steps(int) { return 64; }
template <bool Signed>
RZ_INLINE Run dot4(Run run, PanelCodes codes, Broadcast x) {
  for (int i = 0; i < 64; ++i) run.v[i / 4] += product<Signed>(codes.v[i], static_cast<uint8_t>(x.v[i % 4]));
  return run;
}
RZ_INLINE Run no_run() { return int_zeros(); }
RZ_INLINE Run begin_run(Ints acc) { return acc; }
RZ_INLINE Ints end_run(Ints, Run run) { return run; }
RZ_INLINE Ints add_run(Ints acc, Run run, RunScale scale) { return mul_add_ints(acc, run, scale); }
RZ_INLINE void transpose_codes(const Bytes64 *rows, uint8_t *out) {
  for (int step = 0; step < 16; ++step) {
    for (int row = 0; row < 16; ++row) std::memcpy(out + 64 * step + 4 * row, rows[row].v + 4 * step, 4);
  }
}

RZ_INLINE void transpose_pairs(const Shorts16 *rows, int16_t *out) {
  for (int step = 0; step < 8; ++step) {
    for (int row = 0; row < 16; ++row) std::memcpy(out + 32 * step + 2 * row, rows[row].v + 2 * step, 4);
  }
}

RZ_INLINE void prefetch(const void *p) { __builtin_prefetch(p); }

#undef RZ_LANES

}  // namespace rz::cpu::RZ_ISA
