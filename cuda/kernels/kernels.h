// What the executor may start: the arguments of each kernel, and the functions that start it. Buffers are
// (rows, width); `rows` are the rows of a batch.
#pragma once

#include "cuda/runtime.h"
#include "cuda/tiles.h"

namespace rz::cuda {

// ---- y = W x for rows of halves x, with what becomes of y -------------------------------------------------------------
constexpr int kStrands = 8;
constexpr int kMatmulThreads = kStrands * kWarp;

enum class Finish : uint8_t {
  Store,     // y = scale (sum + bias), soft-capped
  Add,       // y += scale (sum + bias)
  Activate,  // half y = kHiddenScale act(gate sum + gate bias) (sum + bias), or of act(sum + bias) without a
             // gate
};
enum class Act : uint8_t { Silu, GeluTanh };

// The product of gate and up may pass the range of halves by far: it is kept a sixteenth as large, which
// leaves numbers from 0.001 to a million all their digits. The next matrix takes the factor out again.
constexpr float kHiddenScale = 1.0f / 16;

struct MatmulSegment {
  Tiles w;
  Tiles gate;                                         // Activate: of the same shape; rows 0 = none
  const float *bias = nullptr, *gate_bias = nullptr;  // (w.rows), null = none
  Finish finish = Finish::Store;
  Act act = Act::Silu;
  float scale = 1, softcap = 0;  // softcap 0 = off
  void *y = nullptr;             // (rows, y_stride) floats, or halves for Activate
  int32_t y_stride = 0;
};

constexpr int kMostSegments = 3;  // q, k and v

struct MatmulArgs {
  MatmulSegment segments[kMostSegments];  // one after another: their row tiles count through
  int32_t n_segments = 0;
  const Half *x = nullptr;  // (rows, x_stride), zero past cols up to the next multiple of 64
  int32_t x_stride = 0;
  float x_unscale = 1;  // what x was multiplied with, inverse
  int32_t rows = 0;
  // Experts: rows are slots (row * used + choice), grouped by expert. Null: all rows, one matrix.
  const int32_t *slots = nullptr;         // (slots)
  const int32_t *expert_first = nullptr;  // (experts + 1) where an expert's slots begin
  const int32_t *active = nullptr;        // (experts) those with slots; behind them -1
  int32_t slots_per_x = 1;                // slot / this = its row of x
};

constexpr int kFewRows =
    64;  // up to here W is read once for all rows; with more, the tensor cores are the limit

// `experts`: how many may be active at most, 0 = one matrix for all rows. Segments of one launch have gates
// or none.
void matmul(Queue &queue, const MatmulArgs &args, int experts = 0);

}  // namespace rz::cuda
