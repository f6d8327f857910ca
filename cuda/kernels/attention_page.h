// Factors of attention's products, straight from a page: what a lane (g, t) = (lane / 4, lane % 4) gives
// mma16816 for its eight columns. Columns and the inner dimension may be ordered at will if everybody agrees,
// so that lanes read several neighbouring elements at once and nothing crosses lanes.
//
// Keys, (d, tokens): column g of product j is token 4 g + j, and inner places 2 t, 2 t + 1, 2 t + 8, 2 t + 9
// are d = t, 4 + t, 8 + t, 12 + t, so that a warp reads four whole rows of the page at a time.
// Values, (tokens, d): column g of product j is element kTiles g + j of the warp's own, and the inner places
// of lane t are tokens 4 t .. 4 t + 3.
#pragma once

#include <type_traits>

#include "cuda/kernels/kv.h"

namespace rz::cuda {

// The first halves of two words, or the second ones.
RZ_DEVICE Half2 low_halves(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x5410); }
RZ_DEVICE Half2 high_halves(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x7632); }
RZ_DEVICE Half2 pair_of(Half a, Half b) { return static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 16; }

// Two words of four codes each become pairs of halves, one code of each word: or-ed into the bits of 1024, a
// code plus 128 counts up from it.
RZ_DEVICE void pairs_of_codes(uint32_t a, uint32_t b, Half2 (&pairs)[4]) {
  constexpr uint32_t kFlipSigns = 0x80808080, k1024 = 0x64646464;
  constexpr Half2 k1152 = 0x64806480;
  a ^= kFlipSigns;
  b ^= kFlipSigns;
  const uint32_t first = byte_perm(a, b, 0x5140), second = byte_perm(a, b, 0x7362);
  pairs[0] = h2_sub(byte_perm(first, k1024, 0x4140), k1152);
  pairs[1] = h2_sub(byte_perm(first, k1024, 0x4342), k1152);
  pairs[2] = h2_sub(byte_perm(second, k1024, 0x4140), k1152);
  pairs[3] = h2_sub(byte_perm(second, k1024, 0x4342), k1152);
}

// The same of 8-bit floats, which come out 2^-8 times as large: their 4 bits of exponent and 3 of fraction
// are the upper ones of a half's but for its highest bit of exponent, and the biases differ by 8. That is
// exact, the subnormal ones included; what is computed with them is multiplied by kF8Unscale in the end.
// Magnitude 0x7f alone carries into that highest bit, and becomes a half that is NaN too.
constexpr float kF8Unscale = 256;
RZ_DEVICE void pairs_of_f8(uint32_t a, uint32_t b, Half2 (&pairs)[4]) {
  constexpr uint32_t kSigns = 0x80008000, kMagnitudes = 0x3f803f80;
  constexpr uint32_t kOne = 0x00800080, kHighest = 0x40004000;
  RZ_UNROLL
  for (int i = 0; i < 4; ++i) {
    const uint32_t codes = byte_perm(a, b, 0x4400 + 0x1111 * static_cast<uint32_t>(i));  // each one twice
    const Half2 pair = (codes & kSigns) | (codes >> 1 & kMagnitudes);
    pairs[i] = pair | (((pair & kMagnitudes) + kOne) & kHighest);
  }
}

// ---- keys -----------------------------------------------------------------------------------------------------
struct KeysF16 {
  const Words2 *at;  // the lane's four tokens of row t
  int rows;

  KeysF16() = default;
  RZ_DEVICE KeysF16(const std::byte *head, int, int rows_there) : rows(rows_there) {
    at = reinterpret_cast<const Words2 *>(head) + lane() % 4 * (kPageTokens / 4) + lane() / 4;
  }

  // Rows d to d + 15; zeros past those that are there. b: of each product, its two words.
  RZ_DEVICE void step(int d, Half2 (&b)[4][2]) const {
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      Words2 r[2] = {{0, 0}, {0, 0}};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int row = d + 8 * i + 4 * e;
        if (row < rows) r[e] = ld(at + row * (kPageTokens / 4));
      }
      b[0][i] = low_halves(r[0].x, r[1].x);
      b[1][i] = high_halves(r[0].x, r[1].x);
      b[2][i] = low_halves(r[0].y, r[1].y);
      b[3][i] = high_halves(r[0].y, r[1].y);
    }
  }
};

// Rows of bytes.
struct KeyBytes {
  const uint32_t *at;  // the lane's four tokens of row t
  int rows;

  KeyBytes() = default;
  RZ_DEVICE KeyBytes(const std::byte *first, int rows_there) : rows(rows_there) {
    at = reinterpret_cast<const uint32_t *>(first) + lane() % 4 * (kPageTokens / 4) + lane() / 4;
  }

  // Of rows d and d + 4; zeros past those that are there.
  RZ_DEVICE void load(int d, uint32_t (&r)[2]) const {
    RZ_UNROLL
    for (int e = 0; e < 2; ++e) {
      const int row = d + 4 * e;
      r[e] = row < rows ? at[row * (kPageTokens / 4)] : 0;
    }
  }
};

struct KeysF8 {
  KeyBytes bytes;

  KeysF8() = default;
  RZ_DEVICE KeysF8(const std::byte *head, int, int rows_there) : bytes(head, rows_there) {}

  RZ_DEVICE void step(int d, Half2 (&b)[4][2]) const {
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2];
      bytes.load(d + 8 * i, r);
      Half2 pairs[4];
      pairs_of_f8(r[0], r[1], pairs);
      RZ_UNROLL
      for (int j = 0; j < 4; ++j) b[j][i] = pairs[j];
    }
  }
};

struct KeysQ8 {
  const Words2 *scales;  // the lane's four tokens of the first group
  KeyBytes codes;

  KeysQ8() = default;
  RZ_DEVICE KeysQ8(const std::byte *head, int head_dim, int rows_there)
      : codes(head + scale_bytes(head_dim), rows_there) {
    scales = reinterpret_cast<const Words2 *>(head) + lane() / 4;
  }

  RZ_DEVICE void step(int d, Half2 (&b)[4][2]) const {
    Words2 s = {0, 0};
    if (d < codes.rows) s = ld(scales + d / kGroup * (kPageTokens / 4));
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2];
      codes.load(d + 8 * i, r);
      Half2 pairs[4];
      pairs_of_codes(r[0], r[1], pairs);
      b[0][i] = h2_mul(pairs[0], low_halves(s.x, s.x));
      b[1][i] = h2_mul(pairs[1], high_halves(s.x, s.x));
      b[2][i] = h2_mul(pairs[2], low_halves(s.y, s.y));
      b[3][i] = h2_mul(pairs[3], high_halves(s.y, s.y));
    }
  }
};

// ---- values ---------------------------------------------------------------------------------------------------
// Tokens of a page that somebody sees. Others may never have been written: a weight of zero would not undo a
// NaN.
struct Seen {
  int first, last;
  RZ_DEVICE bool operator()(int token) const { return token >= first && token <= last; }
};

template <int kWords>
RZ_DEVICE void load_words(const std::byte *from, uint32_t (&to)[kWords]) {
  if constexpr (kWords == 4) {
    const Words4 v = ld(reinterpret_cast<const Words4 *>(from));
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else if constexpr (kWords == 2) {
    const Words2 v = ld(reinterpret_cast<const Words2 *>(from));
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = *reinterpret_cast<const uint32_t *>(from);
  }
}

// kTiles: products side by side, and the elements of a token that a lane reads. `column`: its first one.
template <int kTiles>
struct ValuesF16 {
  const std::byte *at;  // the lane's elements of token 4 t
  int stride;           // bytes of a token
  bool there;

  RZ_DEVICE ValuesF16(const std::byte *head, int padded, int column)
      : stride(padded * 2), there(column < padded) {
    at = head + lane() % 4 * 4 * stride + column * 2;
  }

  // Tokens `token` to token + 15 of the page.
  RZ_DEVICE void step(int token, Seen seen, Half2 (&b)[kTiles][2]) const {
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2][kTiles / 2] = {};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int from = token + 2 * i + e;
        if (there && seen(from + lane() % 4 * 4)) load_words(at + from * stride, r[e]);
      }
      RZ_UNROLL
      for (int w = 0; w < kTiles / 2; ++w) {
        b[2 * w][i] = low_halves(r[0][w], r[1][w]);
        b[2 * w + 1][i] = high_halves(r[0][w], r[1][w]);
      }
    }
  }
};

// Tokens of bytes.
template <int kTiles>
struct ValueBytes {
  static constexpr int kWords = kTiles > 4 ? kTiles / 4 : 1;
  const std::byte *at;  // the lane's elements of token 4 t
  int stride;           // bytes of a token
  bool there;

  RZ_DEVICE ValueBytes(const std::byte *first, int padded, int column)
      : stride(padded), there(column < padded) {
    at = first + lane() % 4 * 4 * stride + column;
  }

  // Of a token that somebody sees; else false.
  RZ_DEVICE bool load(int token, Seen seen, uint32_t (&r)[kWords]) const {
    if (!there || !seen(token + lane() % 4 * 4)) return false;
    if constexpr (kTiles == 2) {
      r[0] = *reinterpret_cast<const uint16_t *>(at + token * stride);
    } else {
      load_words(at + token * stride, r);
    }
    return true;
  }
};

template <int kTiles>
struct ValuesF8 {
  using Bytes = ValueBytes<kTiles>;
  Bytes bytes;

  RZ_DEVICE ValuesF8(const std::byte *head, int padded, int column) : bytes(head, padded, column) {}

  RZ_DEVICE void step(int token, Seen seen, Half2 (&b)[kTiles][2]) const {
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2][Bytes::kWords] = {};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) bytes.load(token + 2 * i + e, seen, r[e]);
      RZ_UNROLL
      for (int w = 0; w < Bytes::kWords; ++w) {
        Half2 pairs[4];
        pairs_of_f8(r[0][w], r[1][w], pairs);
        RZ_UNROLL
        for (int j = 0; j < 4 && j < kTiles; ++j) b[4 * w + j][i] = pairs[j];
      }
    }
  }
};

template <int kTiles>
struct ValuesQ8 {
  using Bytes = ValueBytes<kTiles>;
  const Half *scales;  // of the lane's group, token 4 t
  int groups;
  Bytes codes;

  RZ_DEVICE ValuesQ8(const std::byte *head, int padded, int column)
      : groups(groups_of(padded)), codes(head + scale_bytes(padded), padded, column) {
    scales = reinterpret_cast<const Half *>(head) + lane() % 4 * 4 * groups + column / kGroup;
  }

  RZ_DEVICE void step(int token, Seen seen, Half2 (&b)[kTiles][2]) const {
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2][Bytes::kWords] = {};
      Half scale[2] = {0, 0};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int from = token + 2 * i + e;
        if (codes.load(from, seen, r[e])) scale[e] = scales[from * groups];
      }
      RZ_UNROLL
      for (int w = 0; w < Bytes::kWords; ++w) {
        Half2 pairs[4];
        pairs_of_codes(r[0][w], r[1][w], pairs);
        RZ_UNROLL
        for (int j = 0; j < 4 && j < kTiles; ++j)
          b[4 * w + j][i] = h2_mul(pairs[j], pair_of(scale[0], scale[1]));
      }
    }
  }
};

// ---- of a type of pages -----------------------------------------------------------------------------------------
template <Type kPages, class OfF16, class OfQ8, class OfF8>
using ByType =
    std::conditional_t<kPages == Type::F16, OfF16, std::conditional_t<kPages == Type::Q8_0, OfQ8, OfF8>>;
template <Type kPages>
using KeysOf = ByType<kPages, KeysF16, KeysQ8, KeysF8>;
template <Type kPages, int kTiles>
using ValuesOf = ByType<kPages, ValuesF16<kTiles>, ValuesQ8<kTiles>, ValuesF8<kTiles>>;

}  // namespace rz::cuda
