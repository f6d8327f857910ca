// Matrices on their way to the device: blocks as files have them become tiles. A thread makes what one lane
// will read in one step: 32 weights of two rows. Every type of file that has a tile of the same values is
// read here; what a scale loses is a rounding to a half, as in every product.
#include "cuda/kernels/kernels.h"
#include "cuda/launch.h"
#include "cuda/simt.h"
#include "quant/blocks.h"

namespace rz::cuda {

namespace {

constexpr int kPackThreads = 256;

// Where a lane's weights come from: two rows of 16 columns, or nothing where the matrix has ended.
template <class Block>
struct Rows {
  const Block *row[2];  // blocks of rows g and g + 8; null past the last row
  int col;              // first of 16
  int left;             // columns from there to the end of the row
};

// One weight's place among the lane's words: part s, pair i, element e is column 4 s + 2 (i / 2) + e of row i
// % 2.
RZ_DEVICE int column_of(int s, int i, int e) { return 4 * s + i / 2 * 2 + e; }

RZ_DEVICE Half scaled_up(float d) { return to_half(d * kScaleUp); }
RZ_DEVICE Half2 pair_of(Half low, Half high) {
  return static_cast<Half2>(low) | static_cast<Half2>(high) << 16;
}

RZ_DEVICE int nibble(const uint8_t *qs, int k) { return k < 16 ? qs[k] & 15 : qs[k - 16] >> 4; }

// ---- blocks: weight k of a block is d(k) (code(k) - zero) + m(k) ---------------------------------------------------------
struct SourceF16 {
  using Block = uint16_t;
  static constexpr int kWidth = 1;
  RZ_DEVICE static Half half(const Block &b) { return b; }
};
struct SourceBF16 {
  using Block = uint16_t;
  static constexpr int kWidth = 1;
  RZ_DEVICE static Half half(const Block &b) { return to_half(as_float(static_cast<uint32_t>(b) << 16)); }
};

struct SourceQ4_0 {
  using Block = BlockQ4_0;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) { return nibble(b.qs, k); }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
};

struct SourceQ8_0 {
  using Block = BlockQ8_0;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) { return b.qs[k] + 128; }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
};

RZ_DEVICE int fifth_bit(const uint8_t *qh, int k) { return qh[k / 8] >> k % 8 & 1; }

struct SourceQ5_0 {
  using Block = BlockQ5_0;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) {
    return (nibble(b.qs, k) | fifth_bit(b.qh, k) << 4) - 16 + 128;
  }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
};

// Entry `index` of kIq4Values, with 128 added. The table travels in two constants: device code has no arrays
// of the host.
constexpr uint64_t eight_of_iq4(int first) {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= static_cast<uint64_t>(kIq4Values[first + i] + 128) << 8 * i;
  return word;
}
constexpr uint64_t kIq4Low = eight_of_iq4(0), kIq4High = eight_of_iq4(8);
RZ_DEVICE int iq4_code(int index) {
  return static_cast<int>((index < 8 ? kIq4Low : kIq4High) >> 8 * (index & 7) & 0xff);
}

struct SourceIQ4_NL {
  using Block = BlockIQ4_NL;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) { return iq4_code(nibble(b.qs, k)); }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
};

struct SourceIQ4_XS {
  using Block = BlockIQ4_XS;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) { return iq4_code(nibble(b.qs + k / 32 * 16, k % 32)); }
  RZ_DEVICE static float d(const Block &b, int k) {
    const int i = k / 32;
    const int scale = (b.scales_l[i / 2] >> i % 2 * 4 & 15) | (b.scales_h >> 2 * i & 3) << 4;
    return to_float(b.d) * static_cast<float>(scale - 32);
  }
};

struct SourceQ4_1 {
  using Block = BlockQ4_1;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) { return nibble(b.qs, k); }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
  RZ_DEVICE static float m(const Block &b, int) { return to_float(b.m); }
};

struct SourceQ5_1 {
  using Block = BlockQ5_1;
  static constexpr int kWidth = 32;
  RZ_DEVICE static int code(const Block &b, int k) { return nibble(b.qs, k) | fifth_bit(b.qh, k) << 4; }
  RZ_DEVICE static float d(const Block &b, int) { return to_float(b.d); }
  RZ_DEVICE static float m(const Block &b, int) { return to_float(b.m); }
};

// Two bits of weight k of 256, as Q2_K and Q3_K lay them.
RZ_DEVICE int two_bits(const uint8_t *qs, int k) { return qs[k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3; }

struct SourceQ2_K {
  using Block = BlockQ2_K;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) { return two_bits(b.qs, k); }
  RZ_DEVICE static float d(const Block &b, int k) {
    return to_float(b.d) * static_cast<float>(b.scales[k / 16] & 15);
  }
  RZ_DEVICE static float m(const Block &b, int k) {
    return -to_float(b.dmin) * static_cast<float>(b.scales[k / 16] >> 4);
  }
};

// Scale and minimum of sub-block i of Q4_K and Q5_K: six bits each, packed in twelve bytes.
RZ_DEVICE int packed_scale(const uint8_t *p, int i) {
  return i < 4 ? p[i] & 63 : (p[i + 4] & 15) | p[i - 4] >> 6 << 4;
}
RZ_DEVICE int packed_min(const uint8_t *p, int i) {
  return i < 4 ? p[i + 4] & 63 : p[i + 4] >> 4 | p[i] >> 6 << 4;
}

struct SourceQ4_K {
  using Block = BlockQ4_K;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) {
    return b.qs[k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15;
  }
};
struct SourceQ5_K {
  using Block = BlockQ5_K;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) {
    return (b.qs[k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15) | (b.qh[k % 32] >> k / 32 & 1) << 4;
  }
};

struct SourceQ6_K {
  using Block = BlockQ6_K;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) {
    const int group = k % 128 / 32;
    const int low = b.ql[k / 128 * 64 + group % 2 * 32 + k % 32] >> group / 2 * 4 & 15;
    return low | (b.qh[k / 128 * 32 + k % 32] >> 2 * group & 3) << 4;
  }
  RZ_DEVICE static int scale(const Block &b, int k) { return b.scales[k / 16]; }
};
struct SourceQ3_K {  // Q6_K with fewer codes: scales of 16 weights are integers in both
  using Block = BlockQ3_K;
  static constexpr int kWidth = 256;
  RZ_DEVICE static int code(const Block &b, int k) {
    return (two_bits(b.qs, k) | (b.hmask[k % 32] >> k / 32 & 1) << 2) - 4 + 32;
  }
  RZ_DEVICE static int scale(const Block &b, int k) {
    const int i = k / 16;
    const int low = b.scales[i % 8] >> i / 8 * 4 & 15, high = b.scales[8 + i % 4] >> i / 4 * 2 & 3;
    return (low | high << 4) - 32;
  }
};

// ---- tiles -----------------------------------------------------------------------------------------------------------------
template <class Source>
RZ_DEVICE int code_at(const Rows<typename Source::Block> &rows, int s, int i, int e) {
  const int k = rows.col + column_of(s, i, e);
  return rows.row[i & 1] ? Source::code(rows.row[i & 1][k / Source::kWidth], k % Source::kWidth) : 0;
}
template <class Source>
RZ_DEVICE float d_at(const Rows<typename Source::Block> &rows, int r) {
  return rows.row[r] ? Source::d(rows.row[r][rows.col / Source::kWidth], rows.col % Source::kWidth) : 0.0f;
}

template <class Source>
RZ_DEVICE void pack(TileF16 &tile, int, int lane, const Rows<typename Source::Block> &rows) {
  for (int s = 0; s < 4; ++s) {
    uint32_t words[4];
    for (int i = 0; i < 4; ++i) {
      Half halves[2] = {0, 0};
      for (int e = 0; e < 2; ++e) {
        const int k = column_of(s, i, e);
        if (rows.row[i & 1] && k < rows.left) halves[e] = Source::half(rows.row[i & 1][rows.col + k]);
      }
      words[i] = pair_of(halves[0], halves[1]);
    }
    tile.halves[s][lane] = {words[0], words[1], words[2], words[3]};
  }
}

// Low four bits of the lane's codes.
template <class Source>
RZ_DEVICE Words4 low_codes(const Rows<typename Source::Block> &rows) {
  uint32_t words[4] = {};
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 4; ++i) {
      for (int e = 0; e < 2; ++e) words[s] |= (code_at<Source>(rows, s, i, e) & 15u) << (4 * i + 16 * e);
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

template <class Source>
RZ_DEVICE void pack(TileQ4 &tile, int, int lane, const Rows<typename Source::Block> &rows) {
  tile.codes[lane] = low_codes<Source>(rows);
  if (lane % 2 == 0) {
    tile.d[lane / 4][lane % 4 / 2] =
        pair_of(scaled_up(d_at<Source>(rows, 0)), scaled_up(d_at<Source>(rows, 1)));
  }
}

template <class Source>
RZ_DEVICE void byte_codes(Words4 (&codes)[2][kWarp], int lane, const Rows<typename Source::Block> &rows) {
  uint32_t words[8] = {};
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 4; ++i) {
      for (int e = 0; e < 2; ++e) {
        words[2 * s + i / 2] |= static_cast<uint32_t>(code_at<Source>(rows, s, i, e)) << 8 * (i % 2 * 2 + e);
      }
    }
  }
  codes[0][lane] = {words[0], words[1], words[2], words[3]};
  codes[1][lane] = {words[4], words[5], words[6], words[7]};
}

template <class Source>
RZ_DEVICE void pack(TileQ8 &tile, int, int lane, const Rows<typename Source::Block> &rows) {
  byte_codes<Source>(tile.codes, lane, rows);
  if (lane % 2 == 0) {
    tile.d[lane / 4][lane % 4 / 2] =
        pair_of(scaled_up(d_at<Source>(rows, 0)), scaled_up(d_at<Source>(rows, 1)));
  }
}

template <class Source>
RZ_DEVICE void pack(TileA8 &tile, int, int lane, const Rows<typename Source::Block> &rows) {
  byte_codes<Source>(tile.codes, lane, rows);
  Half m[2] = {0, 0};
  for (int r = 0; r < 2; ++r) {
    if (rows.row[r]) {
      m[r] = scaled_up(Source::m(rows.row[r][rows.col / Source::kWidth], rows.col % Source::kWidth));
    }
  }
  tile.d[lane] = pair_of(scaled_up(d_at<Source>(rows, 0)), scaled_up(d_at<Source>(rows, 1)));
  tile.m[lane] = pair_of(m[0], m[1]);
}

// Scales and minima of both rows, and d and dmin, of Q4_K and Q5_K.
template <class Tile, class Block>
RZ_DEVICE void pack_scales(Tile &tile, int step, int lane, const Rows<Block> &rows) {
  if (lane % 2 != 0) return;
  uint32_t bytes = 0;
  for (int r = 0; r < 2; ++r) {
    Half2 d = 0;
    if (rows.row[r]) {
      const Block &b = rows.row[r][rows.col / 256];
      const int i = rows.col % 256 / 32;
      bytes |= static_cast<uint32_t>(packed_scale(b.scales, i) | packed_min(b.scales, i) << 8) << 16 * r;
      d = pair_of(scaled_up(to_float(b.d)), scaled_up(to_float(b.dmin)));
    }
    if (step == 0 && lane % 4 == 0) tile.d[lane / 4][r] = d;
  }
  tile.scales[step][lane / 4][lane % 4 / 2] = bytes;
}

template <class Source>
RZ_DEVICE void pack(TileQ4_K &tile, int step, int lane, const Rows<typename Source::Block> &rows) {
  tile.codes[step][lane] = low_codes<Source>(rows);
  pack_scales(tile, step, lane, rows);
}

template <class Source>
RZ_DEVICE void pack(TileQ5_K &tile, int step, int lane, const Rows<typename Source::Block> &rows) {
  tile.codes[step][lane] = low_codes<Source>(rows);
  uint32_t high = 0;
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 4; ++i) {
      for (int e = 0; e < 2; ++e) {
        high |= static_cast<uint32_t>(code_at<Source>(rows, s, i, e) >> 4 & 1) << (4 * s + i + 16 * e);
      }
    }
  }
  tile.high[step][lane] = high;
  pack_scales(tile, step, lane, rows);
}

template <class Source>
RZ_DEVICE void pack(TileQ6_K &tile, int step, int lane, const Rows<typename Source::Block> &rows) {
  tile.codes[step][lane] = low_codes<Source>(rows);
  uint32_t high[2] = {};
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 4; ++i) {
      for (int e = 0; e < 2; ++e) {
        high[s / 2] |= static_cast<uint32_t>(code_at<Source>(rows, s, i, e) >> 4 & 3)
                       << (2 * (s % 2 * 4 + i) + 16 * e);
      }
    }
  }
  tile.high[step][lane] = {high[0], high[1]};
  uint32_t bytes = 0;
  Half d[2] = {0, 0};
  for (int r = 0; r < 2; ++r) {
    if (!rows.row[r]) continue;
    const auto &b = rows.row[r][rows.col / 256];
    bytes |= static_cast<uint32_t>(Source::scale(b, rows.col % 256) & 0xff) << 8 * r;
    d[r] = scaled_up(to_float(b.d));
  }
  tile.scales[step][lane] = static_cast<uint16_t>(bytes);
  if (step == 0 && lane % 4 == 0) tile.d[lane / 4] = pair_of(d[0], d[1]);
}

template <class Source, class Tile>
RZ_KERNEL(kPackThreads, 1)
pack_kernel(RZ_ARGS(PackArgs) a) {
  using Block = typename Source::Block;
  pdl_wait();
  constexpr int steps = Tile::kSteps;
  const int step_total = a.to.col_tiles * steps;
  const int64_t i = static_cast<int64_t>(block_x()) * kPackThreads + thread();
  const int of_lane = static_cast<int>(i % kWarp), step = static_cast<int>(i / kWarp % step_total);
  const auto row_tile = static_cast<int>(i / kWarp / step_total);
  if (row_tile >= a.row_tiles) return;
  auto *tile =
      reinterpret_cast<Tile *>(a.out) + static_cast<size_t>(row_tile) * a.to.col_tiles + step / steps;
  Rows<Block> rows;
  rows.col = step * kStepCols + of_lane % 4 * 16;
  rows.left = a.to.cols - rows.col;
  for (int r = 0; r < 2; ++r) {
    const int row = row_tile * kTileRows + of_lane / 4 + 8 * r;
    const bool there = row < a.rows && rows.left > 0;
    rows.row[r] = there ? reinterpret_cast<const Block *>(a.in) +
                              static_cast<size_t>(row) * (a.to.cols / Source::kWidth)
                        : nullptr;
  }
  pack<Source>(*tile, step % steps, of_lane, rows);
}

template <class Source, class Tile>
void start(Queue &queue, const PackArgs &a, int64_t lanes) {
  const Grid grid{static_cast<uint32_t>((lanes + kPackThreads - 1) / kPackThreads)};
  launch(queue, pack_kernel<Source, Tile>, "pack", grid, kPackThreads, 0, a);
}

struct Packer {
  Type type;
  Format format;
  void (*start)(Queue &, const PackArgs &, int64_t lanes);
};
constexpr Packer kPackers[] = {
    {Type::F16, Format::F16, start<SourceF16, TileF16>},
    {Type::BF16, Format::F16, start<SourceBF16, TileF16>},
    {Type::Q4_0, Format::Q4, start<SourceQ4_0, TileQ4>},
    {Type::Q8_0, Format::Q8, start<SourceQ8_0, TileQ8>},
    {Type::Q5_0, Format::Q8, start<SourceQ5_0, TileQ8>},
    {Type::IQ4_NL, Format::Q8, start<SourceIQ4_NL, TileQ8>},
    {Type::IQ4_XS, Format::Q8, start<SourceIQ4_XS, TileQ8>},
    {Type::Q4_1, Format::A8, start<SourceQ4_1, TileA8>},
    {Type::Q5_1, Format::A8, start<SourceQ5_1, TileA8>},
    {Type::Q2_K, Format::A8, start<SourceQ2_K, TileA8>},
    {Type::Q4_K, Format::Q4_K, start<SourceQ4_K, TileQ4_K>},
    {Type::Q5_K, Format::Q5_K, start<SourceQ5_K, TileQ5_K>},
    {Type::Q6_K, Format::Q6_K, start<SourceQ6_K, TileQ6_K>},
    {Type::Q3_K, Format::Q6_K, start<SourceQ3_K, TileQ6_K>},
};

}  // namespace

Format format_of(Type type) {
  for (const Packer &packer : kPackers) {
    if (packer.type == type) return packer.format;
  }
  return type == Type::F32 ? Format::F32 : Format::Count;
}

void pack(Queue &queue, const PackArgs &args) {
  const FormatFacts &facts = kFormats[static_cast<int>(args.to.format)];
  const int64_t lanes = static_cast<int64_t>(args.row_tiles) * args.to.col_tiles * facts.steps * kWarp;
  for (const Packer &packer : kPackers) {
    if (packer.type == args.from) packer.start(queue, args, lanes);
  }
}

}  // namespace rz::cuda
