// Float formats: dot products of 16 lanes, one accumulator a result, so that few and many rows add in the
// same order. Weights are widened to 32 bits in registers and multiplied with 32-bit activations: nothing is
// rounded to 8 or 16.
#pragma once

#include "cpu/kernels/matmul_few.h"

namespace rz::cpu::RZ_ISA {

// Weight rows [r, r + R) times activation rows [i, i + N).
template <class F, int R, int N>
void float_tile(const MatmulJob &job, int64_t r, int64_t i) {
  using Weight = typename F::Weight;
  const Weight *w[R];
  const float *x[N];
  for (int j = 0; j < R; ++j)
    w[j] = reinterpret_cast<const Weight *>(job.w + static_cast<uint64_t>(r + j) * job.row_bytes);
  for (int j = 0; j < N; ++j) x[j] = job.x.values + x_row(job, i + j) * job.x.value_stride;
  Floats acc[R][N];
  for (int a = 0; a < R; ++a) {
    for (int b = 0; b < N; ++b) acc[a][b] = zeros();
  }
  int64_t k = 0;
  for (; k + 16 <= job.cols; k += 16) {
    Floats weights[R];
    for (int a = 0; a < R; ++a) weights[a] = F::load16(w[a] + k);
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

template <class F, int R>
void float_rows(const MatmulJob &job, int64_t r) {
  int64_t i = 0;
  for (; i + kFloatTile <= job.n; i += kFloatTile) float_tile<F, R, kFloatTile>(job, r, i);
  for (; i < job.n; ++i) float_tile<F, R, 1>(job, r, i);
}

template <class F>
void matmul_float(const MatmulJob &job) {
  int64_t r = 0;
  for (; r + kFloatTile <= job.rows; r += kFloatTile) float_rows<F, kFloatTile>(job, r);
  for (; r < job.rows; ++r) float_rows<F, 1>(job, r);
}

}  // namespace rz::cpu::RZ_ISA
