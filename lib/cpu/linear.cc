// y = W x for the team: activations are brought into the forms the matrices want, then units of weight rows
// are taken by whoever is free. Few rows stream the weights, many rows unpack them; both give the same bits.
#include "cpu/executor.h"

namespace rz::cpu {

namespace {

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

void quantize_row(const Kernels &kernels, ActKind kind, const Activations &out, const float *x, int64_t row,
                  int64_t cols) {
  const auto quantize = kind == ActKind::Blocks ? kernels.quantize_blocks : kernels.quantize_super;
  quantize(x + row * cols, cols, const_cast<int8_t *>(out.codes) + row * out.code_stride,
           const_cast<float *>(out.scales) + row * out.scale_stride,
           const_cast<int16_t *>(out.sums) + row * out.sum_stride);
}

void set_strides(Activations &a, ActKind kind, int64_t cols) {
  a.code_stride = round_up(cols, 64);
  a.scale_stride = kind == ActKind::Blocks ? a.code_stride / 32 : cols / 256;
  a.sum_stride = kind == ActKind::Blocks ? a.code_stride / 32 : cols / 16;
}

}  // namespace

CpuExecutor::Inputs CpuExecutor::prepare(Lane &lane, std::initializer_list<const Matrix *> matrices,
                                         const float *x, int64_t n, int64_t cols) {
  bool wanted[kActKinds] = {};
  for (const Matrix *w : matrices) {
    if (*w) wanted[static_cast<int>(kind_of(*w))] = true;
  }
  Inputs in = {};
  in.n = n;
  in.as[static_cast<int>(ActKind::Float)].values = x;
  in.as[static_cast<int>(ActKind::Float)].value_stride = cols;
  bool shared = false;
  int64_t used = 0;  // of the private space, by the first kind when both are wanted
  for (const ActKind kind : {ActKind::Blocks, ActKind::Super}) {
    if (!wanted[static_cast<int>(kind)]) continue;
    Activations &a = in.as[static_cast<int>(kind)];
    const bool alone = n * round_up(cols, 64) <= kPrivateValues;
    if (alone) {
      a.codes = lane.codes + used;
      a.scales = lane.scales + used / 32;
      a.sums = lane.sums + used / 16;
      used += kPrivateValues;
    } else {
      a = kind == ActKind::Blocks ? space_.blocks : space_.super;
      shared = true;
    }
    set_strides(a, kind, cols);
    const int64_t step = alone ? 1 : team_.active();
    for (int64_t row = alone ? 0 : lane.thread; row < n; row += step)
      quantize_row(kernels_, kind, a, x, row, cols);
  }
  if (shared) team_.barrier();
  return in;
}

void CpuExecutor::multiply(Lane &lane, const Matrix &w, int64_t expert, RowPart rows, const Inputs &in,
                           const int32_t *x_rows, int64_t n, float *y, int64_t y_stride) {
  const MatmulKernels &kernels = kernels_.matmul[static_cast<int>(w.type)];
  MatmulJob job;
  job.row_bytes = w.row_bytes();
  job.w = w.data + static_cast<uint64_t>(expert * w.rows + rows.first) * job.row_bytes;
  job.rows = rows.count;
  job.rows_after = rows.after;
  job.cols = w.cols;
  job.x = in.as[static_cast<int>(kernels.activations)];
  job.x_rows = x_rows;
  job.n = n;
  job.y = y;
  job.y_stride = y_stride;
  job.work = lane.work;
  (n <= kernels.few_rows ? kernels.few : kernels.many)(job);
}

}  // namespace rz::cpu
