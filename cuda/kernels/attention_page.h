// Factors of attention's products, straight from a page: what a lane (g, t) = (lane / 4, lane % 4) gives
// mma16816 for its eight columns. Columns and the inner dimension may be ordered at will if everybody agrees,
// so that lanes read several neighbouring elements at once and nothing crosses lanes.
//
// Keys, (d, tokens): column g of product j is token 4 g + j, and inner places 2 t, 2 t + 1, 2 t + 8, 2 t + 9
// are d = t, 4 + t, 8 + t, 12 + t, so that a warp reads four whole rows of the page at a time.
// Values, (tokens, d): column g of product j is element kTiles g + j of the warp's own, and the inner places
// of lane t are tokens 4 t .. 4 t + 3.
#pragma once

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

struct KeysQ8 {
  const Words2 *scales;  // the lane's four tokens of the first group
  const uint32_t *at;    // likewise of row t
  int rows;

  KeysQ8() = default;
  RZ_DEVICE KeysQ8(const std::byte *head, int head_dim, int rows_there) : rows(rows_there) {
    scales = reinterpret_cast<const Words2 *>(head) + lane() / 4;
    at = reinterpret_cast<const uint32_t *>(head + scale_bytes(head_dim)) + lane() % 4 * (kPageTokens / 4) +
         lane() / 4;
  }

  RZ_DEVICE void step(int d, Half2 (&b)[4][2]) const {
    Words2 s = {0, 0};
    if (d < rows) s = ld(scales + d / kGroup * (kPageTokens / 4));
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2] = {0, 0};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int row = d + 8 * i + 4 * e;
        if (row < rows) r[e] = at[row * (kPageTokens / 4)];
      }
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

template <int kTiles>
struct ValuesQ8 {
  const std::byte *at;
  const Half *scales;  // of the lane's group, token 4 t
  int stride, groups;
  bool there;

  RZ_DEVICE ValuesQ8(const std::byte *head, int padded, int column)
      : stride(padded), groups(groups_of(padded)), there(column < padded) {
    scales = reinterpret_cast<const Half *>(head) + lane() % 4 * 4 * groups + column / kGroup;
    at = head + scale_bytes(padded) + lane() % 4 * 4 * stride + column;
  }

  RZ_DEVICE void step(int token, Seen seen, Half2 (&b)[kTiles][2]) const {
    constexpr int kWords = kTiles > 4 ? kTiles / 4 : 1;
    RZ_UNROLL
    for (int i = 0; i < 2; ++i) {
      uint32_t r[2][kWords] = {};
      Half scale[2] = {0, 0};
      RZ_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int from = token + 2 * i + e;
        if (!there || !seen(from + lane() % 4 * 4)) continue;
        scale[e] = scales[from * groups];
        if constexpr (kTiles == 2) {
          r[e][0] = *reinterpret_cast<const uint16_t *>(at + from * stride);
        } else {
          load_words(at + from * stride, r[e]);
        }
      }
      RZ_UNROLL
      for (int w = 0; w < kWords; ++w) {
        Half2 pairs[4];
        pairs_of_codes(r[0][w], r[1][w], pairs);
        RZ_UNROLL
        for (int j = 0; j < 4 && j < kTiles; ++j)
          b[4 * w + j][i] = h2_mul(pairs[j], pair_of(scale[0], scale[1]));
      }
    }
  }
};

}  // namespace rz::cuda
