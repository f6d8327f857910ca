// How the device keeps matrices: tiles of 16 rows in the order in which the tensor cores want them, so that a
// warp reads a tile from its first byte to its last, 16 bytes a lane, and no lane needs what another one has
// read.
//
// Columns come in steps of 64. In a step, lane (g, t) = (lane / 4, lane % 4) owns columns 16 t .. 16 t + 15
// of rows g and g + 8: 32 weights, in four parts of four columns. Part s gives the A fragment of one
// mma16816:
//
//   pair 0 = row g,     columns 16 t + 4 s + {0, 1}        pair 2 = row g,     columns 16 t + 4 s + {2, 3}
//   pair 1 = row g + 8, columns 16 t + 4 s + {0, 1}        pair 3 = row g + 8, columns 16 t + 4 s + {2, 3}
//
// The inner dimension of a product may be ordered at will if both factors agree, so activations stay as they
// are: the B fragment of part s is columns 16 t + 4 s .. + 3 of an activation row, and a lane reads 32
// contiguous bytes a step. Sixteen columns of a lane lie within one scale of every format. What is missing in
// the last tile of a row of tiles, or past the last row, is zero.
#pragma once

#include "base/both_sides.h"
#include "cuda/types.h"

namespace rz::cuda {

constexpr int kTileRows = 16;
constexpr int kStepCols = 64;

enum class Format : uint8_t {
  F32,  // not tiled: rows of floats, as they are
  F16,  // F16, BF16
  Q4,   // Q4_0
  Q8,   // Q8_0, Q5_0, IQ4_NL, IQ4_XS: d q
  A8,   // Q4_1, Q5_1, Q2_K: d q + m
  Q4_K,
  Q5_K,
  Q6_K,  // Q6_K, Q3_K
  Count
};

// Scales are stored times this, so that the products of small scales stay normal halves; 1 for F16.
constexpr float kScaleUp = 64;

// A lane's words of a step, and where its halves and codes lie in them: part s, pair i, element e.
struct TileF16 {  // 16 x 64
  static constexpr int kSteps = 1;
  Words4 halves[4][kWarp];  // part s: word i is pair i
};
struct TileQ4 {  // 16 x 64
  static constexpr int kSteps = 1;
  Words4 codes[kWarp];  // word s, bits 4 i + 16 e: q + 8
  Half2 d[8][2];        // (g, t / 2): of rows g and g + 8
};
struct TileQ8 {  // 16 x 64
  static constexpr int kSteps = 1;
  Words4 codes[2][kWarp];  // words 2 s and 2 s + 1, byte 2 (i % 2) + e of word 2 s + i / 2: q + 128
  Half2 d[8][2];
};
struct TileA8 {  // 16 x 64
  static constexpr int kSteps = 1;
  Words4 codes[2][kWarp];  // as TileQ8, q >= 0
  Half2 d[kWarp], m[kWarp];
};
struct TileQ4_K {  // 16 x 256
  static constexpr int kSteps = 4;
  Words4 codes[4][kWarp];    // step, as TileQ4, q as it is
  uint32_t scales[4][8][2];  // step, (g, t / 2): bytes scale and min of row g, then of row g + 8
  Half2 d[8][2];             // g: (d, dmin) of row g, then of row g + 8
};
struct TileQ5_K {  // 16 x 256
  static constexpr int kSteps = 4;
  Words4 codes[4][kWarp];   // low four bits, as TileQ4_K
  uint32_t high[4][kWarp];  // step, bits 4 s + i + 16 e: the fifth
  uint32_t scales[4][8][2];
  Half2 d[8][2];
};
struct TileQ6_K {  // 16 x 256
  static constexpr int kSteps = 4;
  Words4 codes[4][kWarp];     // low four bits of q + 32
  Words2 high[4][kWarp];      // step, word s / 2, bits 2 (4 (s % 2) + i) + 16 e
  uint16_t scales[4][kWarp];  // step, bytes: of rows g and g + 8, signed
  Half2 d[8];                 // g: of rows g and g + 8
};
static_assert(sizeof(TileF16) == 2048 && sizeof(TileQ4) == 576 && sizeof(TileQ8) == 1088);
static_assert(sizeof(TileA8) == 1280 && sizeof(TileQ4_K) == 2368 && sizeof(TileQ5_K) == 2880);
static_assert(sizeof(TileQ6_K) == 3360);

// What all of a format's tiles have in common.
struct FormatFacts {
  int steps;  // of a tile: its columns / 64; 0 = not tiled
  int tile_bytes;
  float unscale;  // what sums of products are multiplied with
};
constexpr FormatFacts kFormats[] = {
    {0, 0, 1},
    {TileF16::kSteps, sizeof(TileF16), 1},
    {TileQ4::kSteps, sizeof(TileQ4), 1 / kScaleUp},
    {TileQ8::kSteps, sizeof(TileQ8), 1 / kScaleUp},
    {TileA8::kSteps, sizeof(TileA8), 1 / kScaleUp},
    {TileQ4_K::kSteps, sizeof(TileQ4_K), 1 / kScaleUp},
    {TileQ5_K::kSteps, sizeof(TileQ5_K), 1 / kScaleUp},
    {TileQ6_K::kSteps, sizeof(TileQ6_K), 1 / kScaleUp},
};
static_assert(sizeof kFormats / sizeof *kFormats == static_cast<size_t>(Format::Count));

// A matrix on the device: tiles of rows 0 to 15 from left to right, then those of rows 16 to 31, and so on;
// expert by expert. F32: plain rows.
struct Tiles {
  const std::byte *data = nullptr;
  int32_t rows = 0, cols = 0;
  int32_t row_tiles = 0;  // of an expert
  int32_t col_tiles = 0;
  Format format = Format::F32;
  float unscale = 1;
};

RZ_BOTH_SIDES constexpr int steps_of(int cols) { return (cols + kStepCols - 1) / kStepCols; }

// A matrix of `rows` by `cols`, still without data.
inline Tiles make_tiles(Format format, int32_t rows, int32_t cols) {
  const FormatFacts &facts = kFormats[static_cast<int>(format)];
  Tiles tiles;
  tiles.rows = rows;
  tiles.cols = cols;
  tiles.row_tiles = (rows + kTileRows - 1) / kTileRows;
  tiles.col_tiles = facts.steps == 0 ? 0 : (steps_of(cols) + facts.steps - 1) / facts.steps;
  tiles.format = format;
  tiles.unscale = facts.unscale;
  return tiles;
}

// Of one expert.
inline uint64_t bytes_of(const Tiles &t) {
  if (t.format == Format::F32)
    return static_cast<uint64_t>(t.rows) * static_cast<uint64_t>(t.cols) * sizeof(float);
  return static_cast<uint64_t>(t.row_tiles) * static_cast<uint64_t>(t.col_tiles) *
         static_cast<uint64_t>(kFormats[static_cast<int>(t.format)].tile_bytes);
}

}  // namespace rz::cuda
