// Few activation rows (decode): the weights are read once, in file order, 16 rows side by side. A thread's
// limit is the memory; codes are unpacked into registers once and multiplied with up to kFew activation
// rows.
#pragma once

#include "cpu/kernels.h"
#include "cpu/kernels/formats.h"

namespace rz::cpu::RZ_ISA {

// Pointers to 16 weight rows from `first`; past the last one it is repeated, its results are not stored.
RZ_INLINE void rows_from(const MatmulJob &job, int64_t first, const std::byte **rows) {
  for (int64_t r = 0; r < 16; ++r) {
    const int64_t row = first + r < job.rows ? first + r : job.rows - 1;
    rows[r] = job.w + static_cast<uint64_t>(row) * job.row_bytes;
  }
}

RZ_INLINE int64_t x_row(const MatmulJob &job, int64_t i) { return job.x_rows ? job.x_rows[i] : i; }

// How far behind the rows from `first` on those lie that come `n` rows later, in bytes: by the time their
// turn comes they are to be in the cache. 0 where they are another thread's.
RZ_INLINE uint64_t bytes_ahead(const MatmulJob &job, int64_t first, int64_t n) {
  return first + n < job.rows + job.rows_after ? static_cast<uint64_t>(n) * job.row_bytes : 0;
}

// Asks for part `part` of kParts of the kBytes from `p` on. Rows that are computed side by side are asked for
// in the order of the file: the processor's own prefetching follows that, and not so many short streams.
template <uint64_t kBytes, uint64_t kParts>
RZ_INLINE void ask_part(const std::byte *p, int part) {
  constexpr uint64_t kLines = (kBytes + 63) / 64;
  const uint64_t i = static_cast<uint64_t>(part);
  for (uint64_t line = i * kLines / kParts; line < (i + 1) * kLines / kParts; ++line) prefetch(p + 64 * line);
}

template <class Block>
RZ_INLINE const Block &block_at(const std::byte *row, int64_t index) {
  return reinterpret_cast<const Block *>(row)[index];
}

// One block's term for 16 rows: y + d a (isum), and for formats with minima y - dmin a (msum) or y + m (a
// sum).
RZ_INLINE Floats add_scaled(Floats y, Ints isum, Floats d, float a) {
  return fma(to_floats(isum), mul(d, splat(a)), y);
}

// The quantized activation rows [first, first + N) of a job, from column `col` on.
template <int N>
struct QuantizedRows {
  const int8_t *codes[N];
  const float *scales[N];
  const int16_t *sums[N];
};

template <class F>
constexpr bool kIsSuper = sizeof(typename F::Block) > 64;
template <class F>
constexpr int64_t kWidth = kIsSuper<F> ? kSuperBlock : kBlock;  // weights of a block

// M of 256 weights of 16 rows, in kPairs pairs of equal groups of weights, times the sums of their
// activations.
template <int kPairs = 8>
RZ_INLINE Ints sum_minima(const int16_t (*pairs)[16][2], const int16_t *x_sums) {
  Ints sum = int_zeros();
  for (int j = 0; j < kPairs; ++j) sum = add_pair(sum, load_shorts32(pairs[j][0]), x_sums + 2 * j);
  return sum;
}

// Whether M has the scale of the codes, d; else it has dmin, or is 0.
template <class F>
constexpr bool kMinimaJoin = F::kDmin == kNone &&F::kZero != 0;

template <class F, int N>
RZ_INLINE QuantizedRows<N> quantized_rows(const MatmulJob &job, int64_t first, int64_t col) {
  constexpr int64_t kSumWidth = kIsSuper<F> ? 16 : kBlock;
  QuantizedRows<N> x;
  for (int i = 0; i < N; ++i) {
    const int64_t row = x_row(job, first + i);
    x.codes[i] = job.x.codes + row * job.x.code_stride + col;
    x.scales[i] = job.x.scales + row * job.x.scale_stride + col / kWidth<F>;
    x.sums[i] = job.x.sums + row * job.x.sum_stride + col / kSumWidth;
  }
  return x;
}

template <class F, int N>
void few_plain(const MatmulJob &job, int64_t first_x) {
  using Block = typename F::Block;
  const int64_t blocks = job.cols / kBlock;
  const QuantizedRows<N> x = quantized_rows<F, N>(job, first_x, 0);
  for (int64_t r0 = 0; r0 < job.rows; r0 += 16) {
    const std::byte *rows[16];
    rows_from(job, r0, rows);
    const uint64_t ahead = bytes_ahead(job, r0, 16);
    Floats y[N];
    for (int i = 0; i < N; ++i) y[i] = zeros();
    for (int64_t b = 0; b < blocks; b += 2) {
      const int64_t second =
          b + 1 < blocks ? b + 1 : b;  // an odd last block is read twice, the copy not used
      const std::byte *next = rows[0] + ahead + 16 * static_cast<uint64_t>(b) * sizeof(Block);
      Ints p[N][16];
#pragma GCC unroll 16  // sums stay in registers, and lines to ask for are constants
      for (int r = 0; r < 16; ++r) {
        ask_part<32 * sizeof(Block), 16>(next, r);
        const Bytes64 c = F::codes(block_at<Block>(rows[r], b), block_at<Block>(rows[r], second));
        for (int i = 0; i < N; ++i) p[i][r] = dot<F::kSigned>(c, load_bytes64(x.codes[i] + b * kBlock));
      }
      for (int i = 0; i < N; ++i) {
        const IntHalves h = sum_halves_of_rows(p[i]);
        for (int64_t k = b; k <= second; ++k) {
          const Ints isum = sub_ints(k == b ? h.low : h.high, splat_int(F::kZero * x.sums[i][k]));
          const uint64_t at = static_cast<uint64_t>(k) * sizeof(Block);
          y[i] = add_scaled(y[i], isum, load_halves(rows, at + F::kD), x.scales[i][k]);
          if constexpr (F::kM != kNone) {
            y[i] = fma(load_halves(rows, at + F::kM),
                       splat(x.scales[i][k] * static_cast<float>(x.sums[i][k])), y[i]);
          }
        }
      }
    }
    for (int i = 0; i < N; ++i) store_some(job.y + (first_x + i) * job.y_stride + r0, y[i], job.rows - r0);
  }
}

template <class F, int N>
void few_super(const MatmulJob &job, int64_t first_x) {
  using Block = typename F::Block;
  const int64_t blocks = job.cols / kSuperBlock;
  const QuantizedRows<N> x = quantized_rows<F, N>(job, first_x, 0);
  for (int64_t r0 = 0; r0 < job.rows; r0 += 16) {
    const std::byte *rows[16];
    rows_from(job, r0, rows);
    const uint64_t ahead = bytes_ahead(job, r0, 16);
    Floats y[N];
    for (int i = 0; i < N; ++i) y[i] = zeros();
    for (int64_t b = 0; b < blocks; ++b) {
      const std::byte *next = rows[0] + ahead + 16 * static_cast<uint64_t>(b) * sizeof(Block);
      Ints p[N][16];
      Shorts16 minima[16];
      for (int r = 0; r < 16; ++r) {
        const Block &block = block_at<Block>(rows[r], b);
        ask_part<16 * sizeof(Block), 16>(next, r);
        const Scales s = F::scales(block);
        minima[r] = s.m;
        Ints acc[N];
        for (int i = 0; i < N; ++i) acc[i] = int_zeros();
        for (int quarter = 0; quarter < 4; ++quarter) {
          const Bytes64 c = F::codes(block, quarter);
          const Shorts32 pair_scales = spread(s.s, quarter);
          for (int i = 0; i < N; ++i) {
            const Bytes64 values = load_bytes64(x.codes[i] + b * kSuperBlock + 64 * quarter);
            acc[i] = dot_scaled<F::kSigned>(acc[i], c, values, pair_scales);
          }
        }
        for (int i = 0; i < N; ++i) p[i][r] = acc[i];
      }
      alignas(64) int16_t pairs[8][16][2];
      if constexpr (kMinimaJoin<F> || F::kDmin != kNone) transpose_pairs(minima, pairs[0][0]);
      const uint64_t at = static_cast<uint64_t>(b) * sizeof(Block);
      const Floats d = load_halves(rows, at + F::kD);
      for (int i = 0; i < N; ++i) {
        Ints isum = sum_of_rows(p[i]);
        if constexpr (kMinimaJoin<F>) isum = add_ints(isum, sum_minima(pairs, x.sums[i] + 16 * b));
        y[i] = add_scaled(y[i], isum, d, x.scales[i][b]);
      }
      if constexpr (F::kDmin != kNone) {
        const Floats dmin = load_halves(rows, at + F::kDmin);
        for (int i = 0; i < N; ++i) {
          y[i] = add_scaled(y[i], sum_minima(pairs, x.sums[i] + 16 * b), dmin, -x.scales[i][b]);
        }
      }
    }
    for (int i = 0; i < N; ++i) store_some(job.y + (first_x + i) * job.y_stride + r0, y[i], job.rows - r0);
  }
}

template <class F, int N>
RZ_INLINE void few_rows_of(const MatmulJob &job, int64_t first_x) {
  if constexpr (kIsSuper<F>) {
    few_super<F, N>(job, first_x);
  } else {
    few_plain<F, N>(job, first_x);
  }
}

template <class F>
constexpr int kFew = !kIsSuper<F> ? kFewBlocks
                     : F::kSigned ? kFewSigned
                                  : kFewSuper;

template <class F, int N = kFew<F>>
RZ_INLINE void few_tiles(const MatmulJob &job, int64_t i) {
  for (; i + N <= job.n; i += N) few_rows_of<F, N>(job, i);
  if constexpr (N > 1) few_tiles<F, N - 1>(job, i);
}

template <class F>
void matmul_few(const MatmulJob &job) {
  few_tiles<F>(job, 0);
}

}  // namespace rz::cpu::RZ_ISA
