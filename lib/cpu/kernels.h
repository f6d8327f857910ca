// What the CPU backend asks of an instruction set: one table of functions per set, picked by cpuid when the
// backend opens. Kernels are single-threaded and know nothing of plans or batches; the executor hands out the
// work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/plan.h"
#include "quant/type.h"

namespace rz::cpu {

// How a block format wants the activations it is multiplied with.
enum class ActKind : uint8_t {
  Float,   // as they are
  Blocks,  // 8 bits, one scale per 32: the plain block formats
  Super    // 8 bits, one scale per 256: the K-quants, whose scales inside 256 weights are integers
};
constexpr int kActKinds = 3;

// Activation rows in one of these forms. Codes are padded with zeros to a multiple of 64 columns.
struct Activations {
  const float *values = nullptr;  // (rows, value_stride); Float
  const int8_t *codes = nullptr;  // (rows, code_stride)
  const float *scales = nullptr;  // (rows, scale_stride): value = code * scale
  const int16_t *sums = nullptr;  // (rows, sum_stride): of 32 codes (Blocks) or of 16 (Super)
  int64_t value_stride = 0, code_stride = 0, scale_stride = 0, sum_stride = 0;
};

// y[i, r] = sum over k of w[r, k] x[i, k], for `n` activation rows and `rows` weight rows. The bits of y[i,
// r] depend on w[r], x[i] and cols alone: blocks are summed in order, each exact in integers before its one
// float multiply-add; float formats sum 16 lanes over k, then the lanes by halves.
struct MatmulJob {
  const std::byte *w;  // first weight row
  uint64_t row_bytes;
  int64_t rows, cols;
  int64_t rows_after;  // weight rows behind these that the same thread will multiply next
  Activations x;
  const int32_t *x_rows;  // (n) which activation rows; null: 0 .. n - 1
  int64_t n;
  float *y;  // (n, y_stride), `rows` of each written
  int64_t y_stride;
  std::byte *work;  // matmul_work_bytes(n) of work space, 64-byte aligned
};
constexpr uint64_t kPanelBytes = 32 * 1024;
constexpr uint64_t matmul_work_bytes(int64_t n) { return kPanelBytes + static_cast<uint64_t>(n) * 128; }

struct MatmulKernels {
  ActKind activations = ActKind::Float;
  void (*few)(const MatmulJob &) = nullptr;   // streams the weights: best up to few_rows activation rows
  void (*many)(const MatmulJob &) = nullptr;  // unpacks a tile of weights once for all activation rows
  int32_t few_rows = 0;
};

// A query's running softmax over the pages it has seen: maximum, sum, then value_stride weighted values.
constexpr int kStateHeader = 2;
struct AttnQuery {
  const float *q;       // (head_dim)
  int32_t first, last;  // positions it sees, both included
  float *state;         // (kStateHeader + value_stride)
};

// Some pages of one kv head, and the queries that look at them.
struct AttnChunk {
  Type type;                        // F16 or Q8_0
  const std::byte *const *k_pages;  // (pages) this layer and head: see KvLayout
  const std::byte *const *v_pages;
  int32_t first_position, pages;  // position of the first page's first token
  int32_t head_dim, value_dim;
  float scale, softcap;
  const AttnQuery *queries;
  int32_t n_queries;
};

// Sums over a vocabulary.
struct ExpSums {
  double weights = 0;   // of w_i = e^x_i
  double weighted = 0;  // of w_i x_i, for the entropy: ln(weights) - weighted / weights
};

struct Kernels {
  const char *name;  // "avx512"
  MatmulKernels matmul[static_cast<int>(Type::Count)];

  // One row of n activations; n is a multiple of 32 or of 256, codes beyond n up to a multiple of 64 are
  // zeroed. A NaN or infinity makes its block's scale NaN, so that it reaches the result.
  void (*quantize_blocks)(const float *x, int64_t n, int8_t *codes, float *scales, int16_t *sums);
  void (*quantize_super)(const float *x, int64_t n, int8_t *codes, float *scales, int16_t *sums);

  void (*norm)(const Norm &norm, const float *x, float *y, int64_t n);  // y may be x
  void (*rope)(RopeStyle style, float *x, const float *cos, const float *sin, int64_t dims);
  void (*activate)(Activation act, const float *gate, const float *up, float *out,
                   int64_t n);                                    // up null: act(gate)
  void (*add)(float *x, const float *y, float scale, int64_t n);  // x += scale y
  void (*softcap)(float *x, float cap, int64_t n);                // x = cap tanh(x / cap)
  void (*softmax)(float *x, int64_t n);

  // K and V of one token and kv head go to slot `slot` of their page.
  void (*append_k)(Type type, std::byte *page, int32_t slot, const float *k, int32_t head_dim);
  void (*append_v)(Type type, std::byte *page, int32_t slot, const float *v, int32_t value_dim);
  void (*attend)(const AttnChunk &chunk);  // states are overwritten
  void (*merge)(float *state, const float *later,
                int32_t value_dim);  // state of earlier pages, then of later ones
  void (*finish)(const float *state, float *out, int32_t value_dim);

  // For sampling, over the logits of a vocabulary; the same bits from every set.
  float (*largest_logit)(const float *logits, int64_t n);  // +infinity where one is that, or NaN
  float (*exp_weight)(float x);                            // e^x for x <= 0, within 2e-7; 0 below -87
  ExpSums (*exp_sums)(const float *logits, int64_t n, float max, float scale);  // x = (logit - max) scale

  // Ceilings of this set. The arithmetic ones return the operations they did: 2 per multiply-accumulate.
  void (*read_memory)(const std::byte *data, uint64_t bytes);  // a multiple of 256
  uint64_t (*multiply_int8)(uint64_t steps);
  uint64_t (*multiply_float)(uint64_t steps);
};

// Null where the processor cannot run the set (or it was not compiled in).
const Kernels *plain_kernels();
const Kernels *avx2_kernels();
const Kernels *avx512_kernels();

}  // namespace rz::cpu
