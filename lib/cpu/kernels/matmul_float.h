// Float formats: dot products of 16 lanes, one accumulator a result, so that few and many rows add in the
// same order. Weights are widened to 32 bits in registers and multiplied with 32-bit activations: nothing is
// rounded to 8 or 16.
#pragma once

#include "cpu/kernels/matmul_few.h"

namespace rz::cpu::RZ_ISA {

// Weight rows [r, r + R) times activation rows [i, i + N). `First` to pass over the weights: brings in those
// that come next, R rows further.
template <class F, int R, int N, bool First>
void float_tile(const MatmulJob &job, int64_t r, int64_t i) {
  using Weight = typename F::Weight;
  const Weight *w[R];
  const float *x[N];
  for (int j = 0; j < R; ++j)
    w[j] = reinterpret_cast<const Weight *>(job.w + static_cast<uint64_t>(r + j) * job.row_bytes);
  for (int j = 0; j < N; ++j) x[j] = job.x.values + x_row(job, i + j) * job.x.value_stride;
  [[maybe_unused]] const uint64_t ahead = bytes_ahead(job, r, R);
  Floats acc[R][N];
  for (int a = 0; a < R; ++a) {
    for (int b = 0; b < N; ++b) acc[a][b] = zeros();
  }
  int64_t k = 0;
  for (; k + 16 <= job.cols; k += 16) {
    Floats weights[R];
    [[maybe_unused]] const std::byte *next = reinterpret_cast<const std::byte *>(w[0] + R * k) + ahead;
    for (int a = 0; a < R; ++a) {
      if constexpr (First) ask_part<R * 16 * sizeof(Weight), R>(next, a);
      weights[a] = F::load16(w[a] + k);
    }
    for (int b = 0; b < N; ++b) {
      const Floats values = load(x[b] + k);
      for (int a = 0; a < R; ++a) acc[a][b] = fma(weights[a], values, acc[a][b]);
    }
  }
  if (k < job.cols) {
    for (int a = 0; a < R; ++a) {
      Weight padded[16] = {};
      std::memcpy(padded, w[a] + k, static_cast<size_t>(job.cols - k) * sizeof(Weight));
      for (int b = 0; b < N; ++b)
        acc[a][b] = fma(F::load16(padded), load_some(x[b] + k, job.cols - k), acc[a][b]);
    }
  }
  for (int b = 0; b < N; ++b) {
    for (int a = 0; a < R; ++a) job.y[(i + b) * job.y_stride + r + a] = sum(acc[a][b]);
  }
}

// All weight rows by tiles of R, the rest one by one.
template <class F, int R, int N, bool First>
void float_rows(const MatmulJob &job, int64_t i) {
  int64_t r = 0;
  for (; r + R <= job.rows; r += R) float_tile<F, R, N, First>(job, r, i);
  for (; r < job.rows; ++r) float_tile<F, 1, N, First>(job, r, i);
}

// Activation rows by tiles of N, the rest by smaller ones: a job's weights stay in the second-level cache.
template <class F, int N = kFloatTile>
RZ_INLINE void float_columns(const MatmulJob &job, int64_t i) {
  constexpr int kRows = N == 1 ? 2 * kFloatRows : kFloatRows;
  if (i == 0 && N <= job.n) {
    float_rows<F, kRows, N, true>(job, i);
    i += N;
  }
  for (; i + N <= job.n; i += N) float_rows<F, kRows, N, false>(job, i);
  if constexpr (N > 1) float_columns<F, (N + 1) / 2>(job, i);
}

template <class F>
void matmul_float(const MatmulJob &job) {
  float_columns<F>(job, 0);
}

}  // namespace rz::cpu::RZ_ISA
