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
  // K-quants, of each 256 weights: S of pairs of 16 weights, M of pairs of F::kSub.
  int16_t scales[kPanelCols / 256][8][16][2], minima[kPanelCols / 256][8][16][2];
  float d[kPanelCols / 32][16], m[kPanelCols / 32][16];
};
static_assert(sizeof(Panel) * 2 <= kPanelBytes);

template <class F>
void pack_plain(const std::byte *const *rows, int64_t first_block, int64_t blocks, Panel &panel) {
  using Block = typename F::Block;
  for (int64_t b = 0; b < blocks; b += 2) {
    const int64_t k = first_block + b, second = b + 1 < blocks ? k + 1 : k;
    Bytes64 codes[16];
    for (int r = 0; r < 16; ++r) {
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
void pack_super(const std::byte *const *rows, int64_t first_block, int64_t blocks, Panel &panel) {
  using Block = typename F::Block;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      Bytes64 codes[16];
      for (int r = 0; r < 16; ++r) {
        codes[r] = F::codes(block_at<Block>(rows[r], first_block + b), quarter);
      }
      transpose_codes(codes, panel.codes[b * (kSuperBlock / 4) + 16 * quarter][0]);
    }
    Shorts16 s[16], m[16];
    for (int r = 0; r < 16; ++r) {
      const Scales scales = F::scales(block_at<Block>(rows[r], first_block + b));
      s[r] = scales.s;
      m[r] = scales.m;
    }
    transpose_pairs(s, panel.scales[b][0][0]);
    transpose_pairs(m, panel.minima[b][0][0]);
    for (int k = 0; F::kSub == 32 && k < 4; ++k) {  // both of a pair are equal so far
      const Shorts32 first = load_shorts32(panel.minima[b][2 * k][0]);
      const Shorts32 second = load_shorts32(panel.minima[b][2 * k + 1][0]);
      store_shorts32(panel.minima[b][k][0], first_second(first, second));
    }
    const uint64_t at = static_cast<uint64_t>(first_block + b) * sizeof(Block);
    store(panel.d[b], load_halves(rows, at + F::kD));
    if constexpr (F::kDmin != kNone) store(panel.m[b], load_halves(rows, at + F::kDmin));
  }
}

// A tile's activation rows, and their sums before and after it; `to` may be `from`.
template <int N>
struct TileRows : QuantizedRows<N> {
  const float *from[N];
  float *to[N];
};

template <int N, int V>
RZ_INLINE void load_sums(const TileRows<N> &x, Floats (&y)[N][V]) {
  for (int i = 0; i < N; ++i) {
    for (int v = 0; v < V; ++v) y[i][v] = load(x.from[i] + 16 * v);
  }
}
template <int N, int V>
RZ_INLINE void store_sums(const TileRows<N> &x, const Floats (&y)[N][V]) {
  for (int i = 0; i < N; ++i) {
    for (int v = 0; v < V; ++v) store(x.to[i] + 16 * v, y[i][v]);
  }
}

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
  Floats y[N][V];
  load_sums(x, y);
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
        y[i][v] = add_scaled(y[i][v], acc[i][v], load(panels[v].d[b]), x.scales[i][b]);
        if constexpr (F::kM != kNone) {
          const float sum = x.scales[i][b] * static_cast<float>(x.sums[i][b]);
          y[i][v] = fma(load(panels[v].m[b]), splat(sum), y[i][v]);
        }
      }
    }
  }
  store_sums(x, y);
}

// Sums of each F::kSub activations of a block.
template <class F>
struct SubSums {
  int16_t v[kSuperBlock / F::kSub];
  RZ_INLINE explicit SubSums(const int16_t *sums) {
    for (int g = 0; g < kSuperBlock / F::kSub; ++g) {
      v[g] = F::kSub == 16 ? sums[g] : static_cast<int16_t>(sums[2 * g] + sums[2 * g + 1]);
    }
  }
};

template <class F, int N, int V>
void tile_super(const Panel *panels, int64_t blocks, const TileRows<N> &x) {
  constexpr int kPairs = kSuperBlock / F::kSub / 2;
  Floats y[N][V];
  load_sums(x, y);
  for (int64_t b = 0; b < blocks; ++b) {
    Ints isum[N][V];
    for (int i = 0; i < N; ++i) {
      const SubSums<F> sums(x.sums[i] + 16 * b);
      for (int v = 0; v < V; ++v) {
        isum[i][v] = kMinimaJoin<F> ? sum_minima<kPairs>(panels[v].minima[b], sums.v) : int_zeros();
      }
    }
    for (int step = 0; step < kSuperBlock / 4; step += kRunSteps<F, F::kSub>) {
      Run run[N][V];
      for (int i = 0; i < N; ++i) {
        for (int v = 0; v < V; ++v) run[i][v] = no_run();
      }
      multiply<F, N, V>(panels, b * (kSuperBlock / 4) + step, kRunSteps<F, F::kSub>, x, run);
      for (int v = 0; v < V; ++v) {
        const Shorts32 pairs = load_shorts32(panels[v].scales[b][step / 8][0]);
        const RunScale scale = F::kSub == 16 && step % 8 < 4 ? first_of_pairs(pairs) : second_of_pairs(pairs);
        for (int i = 0; i < N; ++i) isum[i][v] = add_run(isum[i][v], run[i][v], scale);
      }
    }
    for (int i = 0; i < N; ++i) {
      const SubSums<F> sums(x.sums[i] + 16 * b);
      for (int v = 0; v < V; ++v) {
        y[i][v] = add_scaled(y[i][v], isum[i][v], load(panels[v].d[b]), x.scales[i][b]);
        if constexpr (F::kDmin != kNone) {
          const Ints msum = sum_minima<kPairs>(panels[v].minima[b], sums.v);
          y[i][v] = add_scaled(y[i][v], msum, load(panels[v].m[b]), -x.scales[i][b]);
        }
      }
    }
  }
  store_sums(x, y);
}

constexpr int kTileWeights = 16 * kTileVectors;  // weight rows of a tile

// The weights that are packed next, asked for while activation rows pass over the panels at hand: asked for
// any sooner they would be gone from the cache by the time their turn comes.
struct NextWeights {
  const std::byte *first;     // row 0
  uint64_t row_bytes, bytes;  // from row to row, and wanted of each
  int64_t rows;

  void ask(int64_t from, int64_t to) const {  // rows [from, to)
    for (int64_t r = from; r < to && r < rows; ++r) {
      const std::byte *row = first + static_cast<uint64_t>(r) * row_bytes;
      for (uint64_t i = 0; i < bytes + 63; i += 64) prefetch(row + i);
    }
  }
};

// kTileWeights weight rows of columns [first_col, first_col + blocks of F), and what becomes of the sums.
struct Pass {
  const Panel *panels;
  int64_t first_col, blocks;
  const float *from;
  int64_t from_stride;
  float *to;
  int64_t to_stride;
  NextWeights next;
};

// Activation rows [i, i + N) over the panels.
template <class F, int N>
void tile(const MatmulJob &job, const Pass &pass, int64_t i) {
  pass.next.ask(i * kTileWeights / job.n, (i + N) * kTileWeights / job.n);
  TileRows<N> x{quantized_rows<F, N>(job, i, pass.first_col), {}, {}};
  for (int j = 0; j < N; ++j) {
    x.from[j] = pass.from + (i + j) * pass.from_stride;
    x.to[j] = pass.to + (i + j) * pass.to_stride;
  }
  if constexpr (kIsSuper<F>) {
    tile_super<F, N, kTileVectors>(pass.panels, pass.blocks, x);
  } else {
    tile_plain<F, N, kTileVectors>(pass.panels, pass.blocks, x);
  }
}

// All activation rows by tiles of the size that comes nearest to kTileRows without leaving a small rest.
template <class F, int N = kTileRows>
RZ_INLINE void tiles(const MatmulJob &job, const Pass &pass, int64_t i) {
  if constexpr (N > 1) {
    const int64_t rest = job.n - i, passes = (rest + kTileRows - 1) / kTileRows;
    if (passes * (N - 1) >= rest) return tiles<F, N - 1>(job, pass, i);
  }
  for (; i + N <= job.n; i += N) tile<F, N>(job, pass, i);
  if constexpr (N > 1) {
    if (i < job.n) tiles<F, N - 1>(job, pass, i);
  }
}

// Sums stay side by side in the work space until their last columns: rows of the result lie so far apart that
// few of them fit a set of the cache.
template <class F>
void matmul_many(const MatmulJob &job) {
  alignas(64) static constexpr float kZeros[kTileWeights] = {};
  Panel *panels = reinterpret_cast<Panel *>(job.work);
  float *sums = reinterpret_cast<float *>(job.work + kPanelBytes);  // (n, kTileWeights)
  constexpr auto kBlockBytes = static_cast<int64_t>(sizeof(typename F::Block));
  for (int64_t r0 = 0; r0 < job.rows; r0 += kTileWeights) {
    const std::byte *rows[kTileWeights];
    for (int v = 0; v < kTileVectors; ++v) rows_from(job, r0 + 16 * v, rows + 16 * v);
    const bool whole = r0 + kTileWeights <= job.rows;  // else it hangs over the last row
    for (int64_t col = 0; col < job.cols; col += kPanelCols) {
      const bool last = col + kPanelCols >= job.cols;
      const int64_t cols = last ? job.cols - col : kPanelCols;
      for (int v = 0; v < kTileVectors; ++v) {
        if constexpr (kIsSuper<F>) {
          pack_super<F>(rows + 16 * v, col / kWidth<F>, cols / kWidth<F>, panels[v]);
        } else {
          pack_plain<F>(rows + 16 * v, col / kWidth<F>, cols / kWidth<F>, panels[v]);
        }
      }
      Pass pass{panels, col, cols / kWidth<F>, sums, kTileWeights, sums, kTileWeights, {}};
      if (col == 0) {
        pass.from = kZeros;
        pass.from_stride = 0;
      }
      if (last && whole) {
        pass.to = job.y + r0;
        pass.to_stride = job.y_stride;
      }
      const int64_t next_row = last ? r0 + kTileWeights : r0, next_col = last ? 0 : col + kPanelCols;
      pass.next = {job.w + static_cast<uint64_t>(next_row) * job.row_bytes +
                       static_cast<uint64_t>(next_col / kWidth<F> * kBlockBytes),
                   job.row_bytes, static_cast<uint64_t>(kPanelCols / kWidth<F> * kBlockBytes),
                   job.rows + job.rows_after - next_row};
      tiles<F>(job, pass, 0);
    }
    for (int64_t i = 0; !whole && i < job.n; ++i) {
      std::memcpy(job.y + i * job.y_stride + r0, sums + i * kTileWeights,
                  static_cast<size_t>(job.rows - r0) * sizeof(float));
    }
  }
}

}  // namespace rz::cpu::RZ_ISA
