// What a lane makes of its part of a step: the words it holds while they are on their way (load), and the A
// fragments they become (step). A new format is a tile in tiles.h, a decoder here and a packer in pack.h; the
// products over tiles are written once, in matmul.h.
//
// Codes become halves without a conversion: or-ed into 0x6400, the bits of 1024, they count up from it.
#pragma once

#include "cuda/simt.h"
#include "cuda/tiles.h"

namespace rz::cuda {

using Fragment = uint32_t[4];

constexpr Half2 k1024 = 0x64006400;

// A tile's scale for rows g and g + 8, each twice.
struct RowPair {
  Half2 row[2];
};
RZ_DEVICE RowPair spread(Half2 rows) {  // (row g, row g + 8)
  return {{byte_perm(rows, 0, 0x1010), byte_perm(rows, 0, 0x3232)}};
}
// Word `part` of four.
RZ_DEVICE uint32_t word_of(const Words4 &w, int part) {
  return part == 0 ? w.x : part == 1 ? w.y : part == 2 ? w.z : w.w;
}

struct DecodeF16 {
  using Tile = TileF16;
  Words4 halves[4];
  RZ_DEVICE void load(const Tile &tile, int, int lane) {
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) halves[s] = ld_stream(&tile.halves[s][lane]);
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      a[s][0] = halves[s].x;
      a[s][1] = halves[s].y;
      a[s][2] = halves[s].z;
      a[s][3] = halves[s].w;
    }
  }
};

struct DecodeQ4 {
  using Tile = TileQ4;
  Words4 codes;
  Half2 d;
  RZ_DEVICE void load(const Tile &tile, int, int lane) {
    codes = ld_stream(&tile.codes[lane]);
    d = tile.d[lane / 4][lane % 4 / 2];
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    constexpr Half2 k1032 = 0x64086408;
    const RowPair scale = spread(d);
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      const uint32_t word = word_of(codes, s);
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Half2 q = h2_sub((word >> 4 * i & 0x000f000f) | k1024, k1032);
        a[s][i] = h2_mul(q, scale.row[i & 1]);
      }
    }
  }
};

// Eight bits a code: part s's pairs from words 2 s and 2 s + 1 of a lane's eight.
RZ_DEVICE void bytes_of(const Words4 (&codes)[2], int part, Half2 (&pairs)[4]) {
  const Words4 &four = codes[part / 2];
  const uint32_t first = part & 1 ? four.z : four.x, second = part & 1 ? four.w : four.y;
  pairs[0] = byte_perm(first, 0x64, 0x4140);
  pairs[1] = byte_perm(first, 0x64, 0x4342);
  pairs[2] = byte_perm(second, 0x64, 0x4140);
  pairs[3] = byte_perm(second, 0x64, 0x4342);
}

struct DecodeQ8 {
  using Tile = TileQ8;
  Words4 codes[2];
  Half2 d;
  RZ_DEVICE void load(const Tile &tile, int, int lane) {
    codes[0] = ld_stream(&tile.codes[0][lane]);
    codes[1] = ld_stream(&tile.codes[1][lane]);
    d = tile.d[lane / 4][lane % 4 / 2];
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    constexpr Half2 k1152 = 0x64806480;
    const RowPair scale = spread(d);
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      bytes_of(codes, s, a[s]);
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) a[s][i] = h2_mul(h2_sub(a[s][i], k1152), scale.row[i & 1]);
    }
  }
};

struct DecodeA8 {
  using Tile = TileA8;
  Words4 codes[2];
  Half2 d, m;
  RZ_DEVICE void load(const Tile &tile, int, int lane) {
    codes[0] = ld_stream(&tile.codes[0][lane]);
    codes[1] = ld_stream(&tile.codes[1][lane]);
    d = tile.d[lane];
    m = tile.m[lane];
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    const RowPair scale = spread(d), offset = spread(m);
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      bytes_of(codes, s, a[s]);
      RZ_UNROLL
      for (int i = 0; i < 4; ++i)
        a[s][i] = h2_fma(h2_sub(a[s][i], k1024), scale.row[i & 1], offset.row[i & 1]);
    }
  }
};

// Scales and minima of K-quants with 32 weights a scale: d scale and - dmin min of a lane's two rows.
struct ScaleAndMin {
  RowPair scale, minus_min;
};
RZ_DEVICE ScaleAndMin scales_of(uint32_t bytes, const Words2 &d) {
  ScaleAndMin out;
  RZ_UNROLL
  for (int r = 0; r < 2; ++r) {
    const Half2 small = h2_sub(byte_perm(bytes, 0x64, r == 0 ? 0x4140 : 0x4342), k1024);  // (scale, min)
    const Half2 both = h2_mul(small, r == 0 ? d.x : d.y);
    out.scale.row[r] = byte_perm(both, 0, 0x1010);
    out.minus_min.row[r] = byte_perm(both, 0, 0x3232) ^ 0x80008000;
  }
  return out;
}

struct DecodeQ4_K {
  using Tile = TileQ4_K;
  Words4 codes;
  uint32_t scales;
  Words2 d;
  RZ_DEVICE void load(const Tile &tile, int j, int lane) {
    codes = ld_stream(&tile.codes[j][lane]);
    scales = tile.scales[j][lane / 4][lane % 4 / 2];
    d = ld(reinterpret_cast<const Words2 *>(tile.d[lane / 4]));
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    const ScaleAndMin of = scales_of(scales, d);
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      const uint32_t word = word_of(codes, s);
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Half2 q = h2_sub((word >> 4 * i & 0x000f000f) | k1024, k1024);
        a[s][i] = h2_fma(q, of.scale.row[i & 1], of.minus_min.row[i & 1]);
      }
    }
  }
};

// Moves bit `from` (and from + 16) to bit `to` (and to + 16); the others are noise.
RZ_DEVICE uint32_t move_bit(uint32_t word, int from, int to) {
  return from >= to ? word >> (from - to) : word << (to - from);
}

struct DecodeQ5_K {
  using Tile = TileQ5_K;
  Words4 codes;
  uint32_t high, scales;
  Words2 d;
  RZ_DEVICE void load(const Tile &tile, int j, int lane) {
    codes = ld_stream(&tile.codes[j][lane]);
    high = tile.high[j][lane];
    scales = tile.scales[j][lane / 4][lane % 4 / 2];
    d = ld(reinterpret_cast<const Words2 *>(tile.d[lane / 4]));
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    const ScaleAndMin of = scales_of(scales, d);
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      const uint32_t word = word_of(codes, s);
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) {
        const uint32_t q = (word >> 4 * i & 0x000f000f) | (move_bit(high, 4 * s + i, 4) & 0x00100010) | k1024;
        a[s][i] = h2_fma(h2_sub(q, k1024), of.scale.row[i & 1], of.minus_min.row[i & 1]);
      }
    }
  }
};

struct DecodeQ6_K {
  using Tile = TileQ6_K;
  Words4 codes;
  Words2 high;
  uint32_t scales;
  Half2 d;
  RZ_DEVICE void load(const Tile &tile, int j, int lane) {
    codes = ld_stream(&tile.codes[j][lane]);
    high = ld(&tile.high[j][lane]);
    scales = tile.scales[j][lane];
    d = tile.d[lane / 4];
  }
  RZ_DEVICE void step(Fragment (&a)[4]) const {
    constexpr Half2 k1056 = 0x64206420, k1152 = 0x64806480;
    // Signed bytes of rows g and g + 8; with 128 added they count up from 1024 - 128.
    const Half2 rows = h2_sub(byte_perm(scales ^ 0x8080, 0x64, 0x4140), k1152);
    const RowPair scale = spread(h2_mul(rows, d));
    RZ_UNROLL
    for (int s = 0; s < 4; ++s) {
      const uint32_t word = word_of(codes, s);
      const uint32_t upper = s < 2 ? high.x : high.y;
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) {
        const uint32_t two = move_bit(upper, 2 * (s % 2 * 4 + i), 4) & 0x00300030;
        const Half2 q = h2_sub((word >> 4 * i & 0x000f000f) | two | k1024, k1056);
        a[s][i] = h2_mul(q, scale.row[i & 1]);
      }
    }
  }
};

}  // namespace rz::cuda
