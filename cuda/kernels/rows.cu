// Kernels over whole rows of activations: norms, sums of terms, embeddings that are floats. A block has a
// row, and reads it from the second-level cache; sums run over 256 threads and then by halves, so their order
// is that of the row alone.
#include "cuda/kernels/matmul.h"
#include "cuda/launch.h"
#include "cuda/simt.h"

namespace rz::cuda {

namespace {

constexpr int kRowThreads = 256, kRowWarps = kRowThreads / kWarp;

struct RowShared {
  float sums[kRowWarps];
};

// Of every thread's v; the same for all of them.
RZ_DEVICE float sum_of_block(float v) {
  auto &sums = shared<RowShared>().sums;
  for (int mask = kWarp / 2; mask > 0; mask /= 2) v += shfl_xor(v, mask);
  sync();
  if (lane() == 0) sums[warp()] = v;
  sync();
  float sum = 0;
  for (int w = 0; w < kRowWarps; ++w) sum += sums[w];
  return sum;
}

// What each element of a row is multiplied with and what is taken from it before, see Norm in the plan.
struct Moments {
  float mean = 0, inverse = 1;
};
template <class At>
RZ_DEVICE Moments moments_of(const NormWeights &norm, int cols, At at) {
  Moments m;
  if (norm.kind == NormStyle::Layer) {
    float sum = 0;
    for (int i = thread(); i < cols; i += kRowThreads) sum += at(i);
    m.mean = sum_of_block(sum) / static_cast<float>(cols);
  }
  float squares = 0;
  for (int i = thread(); i < cols; i += kRowThreads) {
    const float d = at(i) - m.mean;
    squares = fma(d, d, squares);
  }
  m.inverse = rsqrt(sum_of_block(squares) / static_cast<float>(cols) + norm.eps);
  return m;
}

RZ_DEVICE float normed(const NormWeights &norm, const Moments &m, int i, float v) {
  const float y = (v - m.mean) * m.inverse * norm.weight[i];
  return norm.bias ? y + norm.bias[i] : y;
}

RZ_KERNEL(kRowThreads, 4)
norm_kernel(RZ_ARGS(NormArgs) a) {
  pdl_wait();
  const int row = a.rows ? a.rows[block_x()] : block_x();
  const float *x = a.x + static_cast<size_t>(row) * a.cols;
  const Moments m = moments_of(a.norm, a.cols, [&](int i) { return x[i]; });
  pdl_go();
  for (int i = thread(); i < a.y_stride; i += kRowThreads) {
    const float y = i < a.cols ? normed(a.norm, m, i, x[i]) : 0.0f;
    if (a.y) a.y[static_cast<size_t>(block_x()) * a.y_stride + i] = to_half(y);
    if (a.y_float && i < a.cols) a.y_float[static_cast<size_t>(block_x()) * a.cols + i] = y;
  }
}

// Term i of a row: one, or those of the chosen experts in the order of choice.
RZ_DEVICE float term_at(const AddTermArgs &a, int row, int i) {
  const float *term = a.term + static_cast<size_t>(row) * a.used * a.cols + i;
  if (!a.weights) return *term;
  float sum = 0;
  for (int slot = 0; slot < a.used; ++slot) {
    sum = fma(a.weights[(static_cast<size_t>(row) * 2 + 1) * a.used + slot],
              term[static_cast<size_t>(slot) * a.cols], sum);
  }
  return sum;
}

RZ_KERNEL(kRowThreads, 4)
add_term_kernel(RZ_ARGS(AddTermArgs) a) {
  pdl_wait();
  const int row = block_x();
  float *x = a.x + static_cast<size_t>(row) * a.cols;
  Moments m;
  if (a.norm.weight) m = moments_of(a.norm, a.cols, [&](int i) { return term_at(a, row, i); });
  pdl_go();
  for (int i = thread(); i < a.cols; i += kRowThreads) {
    const float v = term_at(a, row, i);
    x[i] += a.norm.weight ? normed(a.norm, m, i, v) : v;
  }
}

RZ_KERNEL(kRowThreads, 4)
embed_floats_kernel(RZ_ARGS(EmbedArgs) a) {
  pdl_wait();
  const int row = block_x(), which = a.row_for(row);
  if (which < 0) return;
  const auto *from =
      reinterpret_cast<const float *>(a.table.data) + static_cast<size_t>(which) * a.table.cols;
  float *out = a.out + static_cast<size_t>(row) * a.table.cols;
  for (int i = thread(); i < a.table.cols; i += kRowThreads) {
    const float v = from[i] * a.scale;
    out[i] = a.add ? out[i] + v : v;
  }
}

RZ_KERNEL(kRowThreads, 4)
activate_kernel(RZ_ARGS(ActivateArgs) a) {
  pdl_wait();
  const size_t row = static_cast<size_t>(block_x());
  for (int i = thread(); i < a.cols; i += kRowThreads) {
    const float h = activate(a.act, a.gate[row * a.cols + i]) * a.up[row * a.cols + i];
    a.y[row * a.y_stride + i] = to_half(h * kHiddenScale);
  }
}

}  // namespace

void activate_rows(Queue &queue, const ActivateArgs &args, int n) {
  launch(queue, activate_kernel, "activate", {static_cast<uint32_t>(n)}, kRowThreads, 0, args);
}

void norm(Queue &queue, const NormArgs &args, int n) {
  launch(queue, norm_kernel, "norm", {static_cast<uint32_t>(n)}, kRowThreads, sizeof(RowShared), args);
}

void add_term(Queue &queue, const AddTermArgs &args, int n) {
  launch(queue, add_term_kernel, "add term", {static_cast<uint32_t>(n)}, kRowThreads, sizeof(RowShared),
         args);
}

void embed_floats(Queue &queue, const EmbedArgs &args, int n) {
  launch(queue, embed_floats_kernel, "embed", {static_cast<uint32_t>(n)}, kRowThreads, 0, args);
}

}  // namespace rz::cuda
