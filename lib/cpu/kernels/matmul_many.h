// Many activation rows (prefill): a tile of weights is unpacked once into a panel, four codes of 16 rows a
// step, that stays in the first-level cache while all activation rows pass over it. The limit is the rate of
// 8-bit multiply-accumulates: a step costs one load per kTileRows products and one broadcast per
// kTileVectors.
#pragma once

#include "cpu/kernels/matmul_few.h"

namespace rz::cpu::RZ_ISA {

constexpr int64_t kPanelCols = 512;  // 16 KiB of codes for 32 rows

// 16 weight rows of a panel.
struct alignas(64) Panel {
  uint8_t codes[kPanelCols / 4][16][4];
  // K-quants, of each 256 weights: S of pairs of 16 weights, then M of the same.
  int16_t scales[kPanelCols / 256][2][8][16][2];
  float d[kPanelCols / 32][16], m[kPanelCols / 32][16];
};
static_assert(sizeof(Panel) * 2 <= kPanelBytes);

template <class F>
void pack_plain(const std::byte *const *rows, uint64_t ahead, int64_t first_block, int64_t blocks,
                Panel &panel) {
  using Block = typename F::Block;
  for (int64_t b = 0; b < blocks; b += 2) {
    const int64_t k = first_block + b, second = b + 1 < blocks ? k + 1 : k;
    Bytes64 codes[16];
    for (int r = 0; r < 16; ++r) {
      const std::byte *next = rows[r] + ahead + static_cast<uint64_t>(k) * sizeof(Block);
      for (uint64_t i = 0; i < 2 * sizeof(Block); i += 64) prefetch(next + i);
      codes[r] = F::codes(block_at<Block>(rows[r], k), block_at<Block>(rows[r], second));
    }
    transpose_codes(codes, panel.codes[b * kBlock / 4][0]);
    for (int64_t j = k; j <= second; ++j) {
      const uint64_t at = static_cast<uint64_t>(j) * sizeof(Block);
      store(panel.d[j - first_block], load_halves(rows, at + F::kD));
      if constexpr (F::kM != kNone) store(panel.m[j - first_block], load_halves(rows, at + F::kM));
    }
  }
}

template <class F>
void pack_super(const std::byte *const *rows, uint64_t ahead, int64_t first_block, int64_t blocks,
                Panel &panel) {
  using Block = typename F::Block;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      Bytes64 codes[16];
      for (int r = 0; r < 16; ++r) {
        const Block &block = block_at<Block>(rows[r], first_block + b);
        const std::byte *next = reinterpret_cast<const std::byte *>(&block) + ahead + 64 * quarter;
        if (64 * quarter < static_cast<int>(sizeof(Block))) prefetch(next);
        codes[r] = F::codes(block, quarter);
      }
      transpose_codes(codes, panel.codes[b * (kSuperBlock / 4) + 16 * quarter][0]);
    }
    Shorts16 s[16], m[16];
    for (int r = 0; r < 16; ++r) {
      const Scales scales = F::scales(block_at<Block>(rows[r], first_block + b));
      s[r] = scales.s;
      m[r] = scales.m;
    }
    transpose_pairs(s, panel.scales[b][0][0][0]);
    transpose_pairs(m, panel.scales[b][1][0][0]);
    const uint64_t at = static_cast<uint64_t>(first_block + b) * sizeof(Block);
    store(panel.d[b], load_halves(rows, at + F::kD));
    if constexpr (F::kDmin != kNone) store(panel.m[b], load_halves(rows, at + F::kDmin));
  }
}

// A tile's activation rows and the sums they grow in.
template <int N>
struct TileRows : QuantizedRows<N> {
  float *y[N];
};

// Panel steps whose products fit one run: those of a block (or sub-block) of so many weights, or fewer where
// the set grows its sums in lanes too narrow for F's largest codes.
template <class F, int kWeights>
constexpr int kRunSteps = run_steps(F::kLargest) < kWeights / 4 ? run_steps(F::kLargest) : kWeights / 4;

// run[i][v] += codes of `steps` panel steps times the activations
template <class F, int N, int V>
RZ_INLINE void multiply(const Panel *panels, int64_t first_step, int steps, const TileRows<N> &x,
                        Run (&run)[N][V]) {
  for (int step = 0; step < steps; ++step) {
    PanelCodes c[V];
    for (int v = 0; v < V; ++v) c[v] = load_panel<F::kSigned>(panels[v].codes[first_step + step][0]);
    for (int i = 0; i < N; ++i) {
      const Broadcast four = broadcast4(x.codes[i] + 4 * (first_step + step));
      for (int v = 0; v < V; ++v) run[i][v] = dot4<F::kSigned>(run[i][v], c[v], four);
    }
  }
}

template <class F, int N, int V>
void tile_plain(const Panel *panels, int64_t blocks, const TileRows<N> &x) {
  for (int64_t b = 0; b < blocks; ++b) {
    Ints acc[N][V];
    for (int i = 0; i < N; ++i) {
      for (int v = 0; v < V; ++v) acc[i][v] = splat_int(-F::kZero * x.sums[i][b]);
    }
    for (int step = 0; step < kBlock / 4; step += kRunSteps<F, kBlock>) {
      Run run[N][V];
      for (int i = 0; i < N; ++i) {
        for (int v = 0; v < V; ++v) run[i][v] = begin_run(acc[i][v]);
      }
      multiply<F, N, V>(panels, b * (kBlock / 4) + step, kRunSteps<F, kBlock>, x, run);
      for (int i = 0; i < N; ++i) {
        for (int v = 0; v < V; ++v) acc[i][v] = end_run(acc[i][v], run[i][v]);
      }
    }
    for (int i = 0; i < N; ++i) {
      for (int v = 0; v < V; ++v) {
        Floats y = add_scaled(load(x.y[i] + 16 * v), acc[i][v], load(panels[v].d[b]), x.scales[i][b]);
        if constexpr (F::kM != kNone) {
          y = fma(load(panels[v].m[b]), splat(x.scales[i][b] * static_cast<float>(x.sums[i][b])), y);
        }
        store(x.y[i] + 16 * v, y);
      }
    }
  }
}

template <class F, int N, int V>
void tile_super(const Panel *panels, int64_t blocks, const TileRows<N> &x) {
  for (int64_t b = 0; b < blocks; ++b) {
    Ints isum[N][V];
    for (int i = 0; i < N; ++i) {
      for (int v = 0; v < V; ++v) {
        isum[i][v] = kMinimaJoin<F> ? sum_minima(panels[v].scales[b][1], x.sums[i] + 16 * b) : int_zeros();
      }
    }
    for (int step = 0; step < kSuperBlock / 4; step += kRunSteps<F, F::kSub>) {
      Run run[N][V];
      for (int i = 0; i < N; ++i) {
        for (int v = 0; v < V; ++v) run[i][v] = no_run();
      }
      multiply<F, N, V>(panels, b * (kSuperBlock / 4) + step, kRunSteps<F, F::kSub>, x, run);
      for (int v = 0; v < V; ++v) {
        const Shorts32 pairs = load_shorts32(panels[v].scales[b][0][step / 8][0]);
        const RunScale scale = F::kSub == 16 && step % 8 < 4 ? first_of_pairs(pairs) : second_of_pairs(pairs);
        for (int i = 0; i < N; ++i) isum[i][v] = add_run(isum[i][v], run[i][v], scale);
      }
    }
    for (int i = 0; i < N; ++i) {
      for (int v = 0; v < V; ++v) {
        Floats y = add_scaled(load(x.y[i] + 16 * v), isum[i][v], load(panels[v].d[b]), x.scales[i][b]);
        if constexpr (F::kDmin != kNone) {
          const Ints msum = sum_minima(panels[v].scales[b][1], x.sums[i] + 16 * b);
          y = add_scaled(y, msum, load(panels[v].m[b]), -x.scales[i][b]);
        }
        store(x.y[i] + 16 * v, y);
      }
    }
  }
}

constexpr int kTileWeights = 16 * kTileVectors;  // weight rows of a tile

// Activation rows [i, i + N) over the panels of columns [first_col, first_col + blocks of F).
template <class F, int N>
void tile(const MatmulJob &job, const Panel *panels, int64_t first_col, int64_t blocks, int64_t i, float *y,
          int64_t y_stride) {
  TileRows<N> x{quantized_rows<F, N>(job, i, first_col), {}};
  for (int j = 0; j < N; ++j) x.y[j] = y + (i + j) * y_stride;
  if constexpr (kIsSuper<F>) {
    tile_super<F, N, kTileVectors>(panels, blocks, x);
  } else {
    tile_plain<F, N, kTileVectors>(panels, blocks, x);
  }
}

// All activation rows by tiles of the size that comes nearest to kTileRows without leaving a small rest.
template <class F, int N = kTileRows>
RZ_INLINE void tiles(const MatmulJob &job, const Panel *panels, int64_t first_col, int64_t blocks, int64_t i,
                     float *y, int64_t y_stride) {
  if constexpr (N > 1) {
    const int64_t rest = job.n - i, passes = (rest + kTileRows - 1) / kTileRows;
    if (passes * (N - 1) >= rest) return tiles<F, N - 1>(job, panels, first_col, blocks, i, y, y_stride);
  }
  for (; i + N <= job.n; i += N) tile<F, N>(job, panels, first_col, blocks, i, y, y_stride);
  if constexpr (N > 1) {
    if (i < job.n) tiles<F, N - 1>(job, panels, first_col, blocks, i, y, y_stride);
  }
}

template <class F>
void matmul_many(const MatmulJob &job) {
  Panel *panels = reinterpret_cast<Panel *>(job.work);
  float *spare = reinterpret_cast<float *>(job.work + kPanelBytes);  // (n, kTileWeights)
  for (int64_t r0 = 0; r0 < job.rows; r0 += kTileWeights) {
    const std::byte *rows[kTileWeights];
    for (int v = 0; v < kTileVectors; ++v) rows_from(job, r0 + 16 * v, rows + 16 * v);
    // A tile that hangs over the last row grows its sums in spare space behind the panels.
    const int64_t valid = job.rows - r0 < kTileWeights ? job.rows - r0 : kTileWeights;
    float *y = valid == kTileWeights ? job.y + r0 : spare;
    const int64_t y_stride = valid == kTileWeights ? job.y_stride : kTileWeights;
    for (int64_t i = 0; i < job.n; ++i) {
      for (int64_t v = 0; v < kTileVectors; ++v) store(y + i * y_stride + 16 * v, zeros());
    }
    for (int64_t col = 0; col < job.cols; col += kPanelCols) {
      const int64_t cols = col + kPanelCols <= job.cols ? kPanelCols : job.cols - col;
      for (int v = 0; v < kTileVectors; ++v) {
        // A K-quant's panel is packed too quickly for the rows after it: those of the next tile are asked
        // for.
        const uint64_t ahead = bytes_ahead(job, r0 + 16 * v, kIsSuper<F> ? kTileWeights : 16);
        if constexpr (kIsSuper<F>) {
          pack_super<F>(rows + 16 * v, ahead, col / kWidth<F>, cols / kWidth<F>, panels[v]);
        } else {
          pack_plain<F>(rows + 16 * v, ahead, col / kWidth<F>, cols / kWidth<F>, panels[v]);
        }
      }
      tiles<F>(job, panels, col, cols / kWidth<F>, 0, y, y_stride);
    }
    for (int64_t i = 0; valid < kTileWeights && i < job.n; ++i) {
      std::memcpy(job.y + i * job.y_stride + r0, spare + i * kTileWeights,
                  static_cast<size_t>(valid) * sizeof(float));
    }
  }
}

}  // namespace rz::cpu::RZ_ISA
