// What the executor may start: the arguments of each kernel, and the functions that start it. Buffers are
// (rows, width); `rows` are the rows of a batch.
#pragma once

#include "base/both_sides.h"
#include "cuda/runtime.h"
#include "cuda/tiles.h"
#include "quant/type.h"

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

// ---- rows ---------------------------------------------------------------------------------------------------------------
enum class NormStyle : uint8_t { Rms, Layer };
struct NormWeights {
  NormStyle kind = NormStyle::Rms;
  float eps = 0;
  const float *weight = nullptr, *bias = nullptr;  // (cols); weight null = no norm, bias null = none
};

// y[i] = norm(x[rows[i]])
struct NormArgs {
  NormWeights norm;
  const float *x = nullptr;       // (rows, cols)
  const int32_t *rows = nullptr;  // (n), null = 0 .. n - 1
  int32_t cols = 0;
  Half *y = nullptr;  // (n, y_stride), zero past cols; null = not wanted
  int32_t y_stride = 0;
  float *y_float = nullptr;  // (n, cols), null = not wanted
};
void norm(Queue &queue, const NormArgs &args, int n);

// x += norm(term), or x += norm(sum over slots of weight term)
struct AddTermArgs {
  const float *term = nullptr;     // (n, used, cols)
  const float *weights = nullptr;  // (n, 2, used): the second half of a route; null = 1
  int32_t used = 1, cols = 0;
  NormWeights norm;    // without a weight: none
  float *x = nullptr;  // (n, cols)
};
void add_term(Queue &queue, const AddTermArgs &args, int n);

// out[i] = scale table[index[i]], added to what is there where `add` says so; negative indices are passed
// over
struct EmbedArgs {
  Tiles table;
  const int32_t *index = nullptr;   // (n) rows of the table; below 0: chosen[-1 - index], or none
  const int32_t *chosen = nullptr;  // see SampleArgs
  float scale = 1;
  bool add = false;
  float *out = nullptr;  // (n, table.cols)

  RZ_BOTH_SIDES int row_for(int i) const {
    const int row = index[i];
    return row < 0 && chosen ? chosen[-1 - row] : row;
  }
};
void embed(Queue &queue, const EmbedArgs &args, int n);
void embed_floats(Queue &queue, const EmbedArgs &args, int n);  // of a table of floats: embed() calls it

// y = kHiddenScale act(gate) up, for a gate and up that were computed apart
struct ActivateArgs {
  const float *gate = nullptr, *up = nullptr;  // (n, cols)
  int32_t cols = 0;
  Act act = Act::Silu;
  Half *y = nullptr;  // (n, y_stride)
  int32_t y_stride = 0;
};
void activate_rows(Queue &queue, const ActivateArgs &args, int n);

// ---- experts ------------------------------------------------------------------------------------------------------------
constexpr int kMostExperts = 1024;

struct RouteArgs {
  const float *x = nullptr;  // (rows, cols)
  const float *w = nullptr;  // (experts, cols)
  int32_t cols = 0, experts = 0, used = 0;
  bool normalize = false;
  float scale = 1;
  float *route = nullptr;  // (rows, 2, used): ids in order of choice, then weights
};
void route(Queue &queue, const RouteArgs &args, int rows);

// Slots (row * used + choice) by expert, as MatmulArgs wants them.
struct GroupArgs {
  const float *route = nullptr;
  int32_t slots_total = 0, used = 0, experts = 0;
  int32_t *slots = nullptr;         // (slots_total)
  int32_t *expert_first = nullptr;  // (experts + 1)
  int32_t *active = nullptr;        // (experts), behind those with slots -1
};
void group(Queue &queue, const GroupArgs &args);

// ---- ceilings -----------------------------------------------------------------------------------------------------------
struct ReadCeilingArgs {
  const Words4 *data = nullptr;
  int64_t words = 0;
  uint32_t *out = nullptr;  // written if what was read adds up to `never`
  uint32_t never = 0xdeadbeef;
};
void read_ceiling(Queue &queue, const ReadCeilingArgs &args, int blocks);

constexpr int kMultiplyChains = 8;  // independent sums of a warp: enough to hide how long one takes
struct MultiplyCeilingArgs {
  int32_t steps = 0;
  uint32_t *out = nullptr;
};
// Returns the operations that this takes.
uint64_t multiply_ceiling(Queue &queue, const MultiplyCeilingArgs &args, int blocks);

// ---- blocks of a file to tiles --------------------------------------------------------------------------------------
// The device's format for a type of file: F32 stays as it is; Count where there is none.
Format format_of(Type type);

struct PackArgs {
  Type from = Type::F32;
  const std::byte *in = nullptr;  // (rows, to.cols) in blocks
  int32_t rows = 0;
  Tiles to;                  // whose rows these are
  std::byte *out = nullptr;  // the first of row_tiles row tiles, each to.col_tiles tiles
  int32_t row_tiles = 0;
};
void pack(Queue &queue, const PackArgs &args);

// ---- the rows of a batch, and the pages of their sequences -------------------------------------------------------------
constexpr int kPageTokens = 32;

// In device memory, so that a recorded step can be replayed with others.
struct Rows {
  int32_t count = 0;
  const int32_t *positions = nullptr;  // (rows); -1 = a row that only fills up the batch
  const int32_t *table_of_row =
      nullptr;                      // (rows) where the table of its sequence begins; equal = same sequence
  const int32_t *tables = nullptr;  // from there on: the page of positions 32 i .. 32 i + 31
};

// A layer's K and V: see KvLayout.
struct KvPages {
  std::byte *pages = nullptr;
  uint64_t page_bytes = 0;
  uint64_t k_offset = 0, v_offset = 0;          // bytes from the start of a page
  uint64_t k_head_bytes = 0, v_head_bytes = 0;  // of one kv head's 32 tokens
  int32_t kv_heads = 0, head_dim = 0, value_dim = 0;
  Type type = Type::F16;  // F16, Q8_0 or F8
};

// ---- cos and sin of a rope's angles, once a step ------------------------------------------------------------------------
struct RopeAnglesArgs {
  const int32_t *positions = nullptr;   // (rows)
  const double *frequencies = nullptr;  // (pairs)
  float *angles = nullptr;              // (rows, stride): cos of each pair, then sin, times magnitude
  int32_t rows = 0, pairs = 0, stride = 0;
  float magnitude = 1;
};
void rope_angles(Queue &queue, const RopeAnglesArgs &args);

// ---- q, k, v: normed, turned, rounded; k and v to their pages -----------------------------------------------------------
enum class Turn : uint8_t { None, Adjacent, Halves };  // as RopeStyle

struct HeadNorm {
  const float *weight = nullptr, *bias = nullptr;  // (head_dim); no weight = no norm
  float eps = 0;
  bool layer = false;  // of the deviations from the mean, else rms
};

struct AppendArgs {
  Rows rows;
  KvPages kv;
  int32_t heads = 0;
  const float *q = nullptr;  // (rows, heads, head_dim)
  const float *k = nullptr;  // (rows, kv_heads, head_dim)
  const float *v = nullptr;  // (rows, kv_heads, value_dim)
  Half *q_out = nullptr;     // (rows, heads, head_dim)
  HeadNorm q_norm, k_norm;
  Turn turn = Turn::None;
  int32_t dims = 0;               // leading elements of a head that are turned
  const float *angles = nullptr;  // (rows, angle_stride), of the layer's rope
  int32_t angle_stride = 0;
};
void append(Queue &queue, const AppendArgs &args);

// ---- attention over the pages -------------------------------------------------------------------------------------------
// Softmax and sums go by chunks of this many tokens, counted from position 0, which are merged in order: the
// same for every batch, however the work is shared.
constexpr int kChunkTokens = 256;
constexpr int kMostDim = 256;  // of a head's keys and of its values; both are multiples of 8

struct AttentionArgs {
  Rows rows;
  KvPages kv;
  int32_t heads = 0;        // head h reads kv head h / (heads / kv_heads)
  const Half *q = nullptr;  // (rows, heads, head_dim)
  Half *out = nullptr;      // (rows, out_stride): (heads, value_dim), then zeros
  int32_t out_stride = 0;
  float scale = 1, softcap = 0;  // softcap c: c tanh(s / c); 0 = off
  int32_t window = 0;            // position p sees p - window + 1 .. p; 0 = everything
  // Blocks that share the chunks of a row. 1: a block takes all of them, and needs none of the following.
  int32_t splits = 1;
  int32_t chunks = 0;          // most that a row may have
  float *states = nullptr;     // attention_state_bytes(), 16-aligned
  int32_t *arrived = nullptr;  // (rows, heads) zeros, and zeros again afterwards
};
void attention(Queue &queue, const AttentionArgs &args);

// As many splits as keep the device busy; for attention_state_bytes(), ask with the same numbers.
int attention_splits(const AttentionArgs &args, int multiprocessors);
uint64_t attention_state_bytes(const AttentionArgs &args);

}  // namespace rz::cuda
