// The matmul kernels for one format, RZ_DECODER; compiled once for each. Both compute 16 x 8 pieces of y with
// one warp at a time; they differ in what the eight warps of a block share.
//
// few: up to 64 rows, limited by reading W once. A block owns some 16 rows of W; each warp takes one strand
// of the inner dimension, and the strands meet in shared memory. The first weights are asked for before the
// kernel ahead has ended. many: more rows, limited by the tensor cores. A block owns 128 rows of W and 128 of
// x, each warp 64 by 32 of them; a warp walks all strands itself, and what it decodes serves its 32 rows.
#include "cuda/kernels/matmul.h"
#include "cuda/launch.h"

namespace rz::cuda {

namespace {

// The lane's rows of x in NT tiles of eight, of which `left` are there; null past them.
template <int NT>
RZ_DEVICE void find_rows(const MatmulArgs &a, int first, int left, const Half *(&x)[NT]) {
  RZ_UNROLL
  for (int n = 0; n < NT; ++n) {
    const int i = n * 8 + lane() / 4;
    x[n] = nullptr;
    if (i < left) {
      const int row = a.slots ? a.slots[first + i] / a.slots_per_x : first + i;
      x[n] = a.x + static_cast<size_t>(row) * a.x_stride + lane() % 4 * 16;
    }
  }
}

template <int MT, int NT>
RZ_DEVICE void clear(float (&acc)[MT][NT][4]) {
  RZ_UNROLL
  for (int m = 0; m < MT; ++m) {
    RZ_UNROLL
    for (int n = 0; n < NT; ++n) acc[m][n][0] = acc[m][n][1] = acc[m][n][2] = acc[m][n][3] = 0;
  }
}

// One strand of MT row tiles by 8 NT rows.
template <int kAhead, int MT, int NT>
RZ_DEVICE void add_strand(const MatmulArgs &a, const Piece &piece, int strand, int first, int left,
                          float (&acc)[MT][NT][4]) {
  const MatmulSegment &segment = a.segments[piece.segment];
  Stream<RZ_DECODER, MT, kAhead> stream;
  stream.begin(segment, is_gated(a), piece.expert, piece.row_tile,
               strand_of(steps_of(segment.w.cols), strand));
  pdl_wait();
  const Half *x[NT];
  find_rows(a, first, left, x);
  stream.run(x, acc);
}

// ---- few ------------------------------------------------------------------------------------------------------------
template <int MT>
struct FewShared {
  float sums[kStrands][MT][kTileRows * 8];  // of one tile of eight rows
};

// acc of every strand becomes y.
template <int MT, int NT>
RZ_DEVICE void finish_strands(const MatmulArgs &a, const Piece &piece, int first, int left,
                              const float (&acc)[MT][NT][4]) {
  const bool gated = is_gated(a);
  const int tiles = gated ? MT / 2 : MT;  // of y
  auto &sums = shared<FewShared<MT>>().sums;
  const MatmulSegment &segment = a.segments[piece.segment];
  const int g = lane() / 4, t = lane() % 4;
  RZ_UNROLL
  for (int n = 0; n < NT; ++n) {
    sync();
    RZ_UNROLL
    for (int m = 0; m < MT; ++m) {
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) sums[warp()][m][(g + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[m][n][i];
    }
    sync();
    for (int e = thread(); e < tiles * kTileRows * 8; e += kMatmulThreads) {
      const int m = e / (kTileRows * 8), in_tile = e % (kTileRows * 8);
      const int row = (piece.row_tile + m) * kTileRows + in_tile / 8, i = n * 8 + in_tile % 8;
      if (row >= segment.w.rows || i >= left) continue;
      float sum = 0, gate = 0;
      for (int s = 0; s < kStrands; ++s) {
        sum += sums[s][m][in_tile];
        if (gated) gate += sums[s][m + MT / 2][in_tile];
      }
      finish(segment, a.x_unscale, row, a.slots ? a.slots[first + i] : first + i, sum, gate);
    }
  }
}

template <int MT, int NT, int kAhead>
RZ_KERNEL(kMatmulThreads, MT *NT <= 4 ? 2 : 1)
matmul_few_kernel(RZ_ARGS(MatmulArgs) a) {
  Piece piece;
  find_tiles(a, is_gated(a) ? MT / 2 : MT, piece);
  if (a.slots) {
    pdl_wait();
    if (!find_expert(a, piece)) return;
  } else {
    piece.first = block_y() * 8 * NT;
    piece.count = a.rows - piece.first;
    if (piece.count > 8 * NT) piece.count = 8 * NT;
  }
  for (int done = 0; done < piece.count; done += 8 * NT) {
    const int first = piece.first + done, left = piece.count - done;
    float acc[MT][NT][4];
    clear(acc);
    add_strand<kAhead>(a, piece, warp(), first, left, acc);
    if (done + 8 * NT >= piece.count) pdl_go();
    finish_strands(a, piece, first, left, acc);
  }
}

// ---- many -----------------------------------------------------------------------------------------------------------
constexpr int kManyTiles = 8;  // row tiles of a block
constexpr int kManyRows = 128;
constexpr int kWarpTiles = 4, kWarpRows = 4;  // of a warp: tiles of 16 rows of W, of 8 rows of x

// The sums over the strands so far, a column for each thread: registers hold the strand under way.
struct ManyShared {
  float totals[kWarpTiles][kWarpRows][4][kMatmulThreads];
};
RZ_DEVICE float &total(int m, int n, int i) { return shared<ManyShared>().totals[m][n][i][thread()]; }

RZ_KERNEL(kMatmulThreads, 1)
matmul_many_kernel(RZ_ARGS(MatmulArgs) a) {
  constexpr int MT = kWarpTiles, NT = kWarpRows;
  const bool gated = is_gated(a);
  const int tiles = gated ? MT / 2 : MT;  // of y, a warp's
  Piece piece;
  find_tiles(a, 2 * tiles, piece);
  const MatmulSegment &segment = a.segments[piece.segment];
  piece.row_tile += warp() % 2 * tiles;
  if (a.slots) {
    pdl_wait();
    if (!find_expert(a, piece)) return;
  } else {
    piece.first = block_y() * kManyRows;
    piece.count = a.rows - piece.first;
    if (piece.count > kManyRows) piece.count = kManyRows;
  }
  if (piece.row_tile >= segment.w.row_tiles) return;
  const int g = lane() / 4, t = lane() % 4;
  for (int done = warp() / 2 * 8 * NT; done < piece.count; done += kManyRows) {
    const int first = piece.first + done, left = piece.count - done;
    RZ_UNROLL
    for (int e = 0; e < MT * NT * 4; ++e) total(e / (4 * NT), e / 4 % NT, e % 4) = 0;
    RZ_NO_UNROLL
    for (int strand = 0; strand < kStrands; ++strand) {
      float acc[MT][NT][4];
      clear(acc);
      add_strand<1>(a, piece, strand, first, left, acc);
      RZ_UNROLL
      for (int m = 0; m < MT; ++m) {
        RZ_UNROLL
        for (int n = 0; n < NT; ++n) {
          RZ_UNROLL
          for (int i = 0; i < 4; ++i) total(m, n, i) += acc[m][n][i];
        }
      }
    }
    for (int m = 0; m < tiles; ++m) {
      RZ_UNROLL
      for (int n = 0; n < NT; ++n) {
        RZ_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int row = (piece.row_tile + m) * kTileRows + g + i / 2 * 8, of = n * 8 + 2 * t + i % 2;
          if (row >= segment.w.rows || of >= left) continue;
          finish(segment, a.x_unscale, row, a.slots ? a.slots[first + of] : first + of, total(m, n, i),
                 gated ? total(m + MT / 2, n, i) : 0.0f);
        }
      }
    }
  }
}

// ---- embed ----------------------------------------------------------------------------------------------------------
// Four lanes decode a step of one row of the table, so a warp eight steps.
RZ_KERNEL(kMatmulThreads, 2)
embed_kernel(RZ_ARGS(EmbedArgs) a) {
  pdl_wait();
  const int which = a.row_for(block_y()), steps = steps_of(a.table.cols);
  const int step = block_x() * (kMatmulThreads / 4) + thread() / 4, t = thread() % 4;
  if (which < 0 || step >= steps) return;
  const int in_tile = which % kTileRows;
  const auto *tile = reinterpret_cast<const RZ_DECODER::Tile *>(a.table.data) +
                     static_cast<size_t>(which / kTileRows) * a.table.col_tiles +
                     step / RZ_DECODER::Tile::kSteps;
  RZ_DECODER decoder;
  decoder.load(*tile, step % RZ_DECODER::Tile::kSteps, in_tile % 8 * 4 + t);
  Fragment fragments[4];
  decoder.step(fragments);
  const float scale = a.table.unscale * a.scale;
  const int first = step * kStepCols + t * 16;
  float *out = a.out + static_cast<size_t>(block_y()) * a.table.cols + first;
  RZ_UNROLL
  for (int k = 0; k < 16; ++k) {  // part k / 4, pair of columns k % 4 / 2
    const uint32_t low = fragments[k / 4][k % 4 / 2 * 2], high = fragments[k / 4][k % 4 / 2 * 2 + 1];
    const uint32_t pair = in_tile < 8 ? low : high;
    if (first + k >= a.table.cols) return;
    const float v = to_float(static_cast<Half>(pair >> 16 * (k % 2))) * scale;
    out[k] = a.add ? out[k] + v : v;
  }
}

template <int MT, int NT, int kAhead>
void few(Queue &queue, const MatmulArgs &a, int experts) {
  const Grid grid{static_cast<uint32_t>(blocks_of(a, a.segments[0].gate.rows > 0 ? MT / 2 : MT)),
                  static_cast<uint32_t>(experts > 0 ? experts : (a.rows + 8 * NT - 1) / (8 * NT))};
  launch(queue, matmul_few_kernel<MT, NT, kAhead>, "matmul few", grid, kMatmulThreads, sizeof(FewShared<MT>),
         a);
}

void many(Queue &queue, const MatmulArgs &a, int experts) {
  const Grid grid{
      static_cast<uint32_t>(blocks_of(a, a.segments[0].gate.rows > 0 ? kManyTiles / 2 : kManyTiles)),
      static_cast<uint32_t>(experts > 0 ? experts : (a.rows + kManyRows - 1) / kManyRows)};
  launch(queue, matmul_many_kernel, "matmul many", grid, kMatmulThreads, sizeof(ManyShared), a);
}

// Steps of weights on their way: as many as half the registers of a multiprocessor hold for two row tiles.
constexpr int kDeep = sizeof(RZ_DECODER) >= 40 ? 1 : 2;

}  // namespace

template <class Decoder>
void matmul_tiles(Queue &queue, const MatmulArgs &a, int experts) {
  const int rows = experts > 0 ? (a.rows + experts - 1) / experts : a.rows;  // that a block will see, about
  if (rows > kFewRows) return many(queue, a, experts);
  if (rows > 16) return few<4, 4, 1>(queue, a, experts);
  if (rows > 8) return few<2, 2, kDeep>(queue, a, experts);
  few<2, 1, kDeep>(queue, a, experts);
}

template <class Decoder>
void embed_tiles(Queue &queue, const EmbedArgs &args, int n) {
  constexpr int kSteps = kMatmulThreads / 4;  // of a block
  const Grid grid{static_cast<uint32_t>((steps_of(args.table.cols) + kSteps - 1) / kSteps),
                  static_cast<uint32_t>(n)};
  launch(queue, embed_kernel, "embed", grid, kMatmulThreads, 0, args);
}

template void matmul_tiles<RZ_DECODER>(Queue &, const MatmulArgs &, int);
template void embed_tiles<RZ_DECODER>(Queue &, const EmbedArgs &, int);

}  // namespace rz::cuda
