// The Plan: a model as a straight list of coarse steps, built once at load and walked for every batch. An op
// row holds its weights, its parameters and the buffers it reads and writes. There is nothing else to a
// forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/spec.h"
#include "quant/type.h"

namespace rz {

// Weights of a linear map y = W x, stored row by row in blocks. With experts, that many matrices one after
// another.
struct Matrix {
  std::string_view name;  // of the tensor, for messages and the printed plan
  Type type = Type::F32;
  int64_t rows = 0, cols = 0;  // outputs, inputs
  int32_t experts = 1;
  const std::byte *data = nullptr;  // (experts, rows, cols); null when only headers were read
  int64_t first_row = 0;            // of the tensor, where this is a slice of it

  explicit operator bool() const { return rows != 0; }
  uint64_t row_bytes() const { return bytes_of(type, static_cast<uint64_t>(cols)); }
  uint64_t bytes() const {
    return row_bytes() * static_cast<uint64_t>(rows) * static_cast<uint64_t>(experts);
  }
  // Rows [first, first + n): a part of a fused tensor, as a matrix of its own.
  Matrix slice(int64_t first, int64_t n) const;
};

struct Vector {
  const float *data = nullptr;
  int64_t size = 0;
  explicit operator bool() const { return size != 0; }
  Vector slice(int64_t first, int64_t n) const { return {data ? data + first : nullptr, n}; }
};

// Rms: y = x / sqrt(mean(x^2) + eps) * weight. Layer: y = (x - mean) / sqrt(var + eps) * weight + bias.
struct Norm {
  NormKind kind = NormKind::Rms;
  float eps = 0;
  Vector weight, bias;
  explicit operator bool() const { return static_cast<bool>(weight); }
};

// A buffer of activations, (rows of the batch, width) floats. Buffers that never live at once share memory.
using BufferId = int32_t;
struct BufferInfo {
  int32_t width = 0;
  int32_t first_op = 0, last_op = 0;  // where it is written first and read last
  int64_t offset = 0;                 // floats per row before it: it begins at arena + offset * max_rows
};

// out = table[token] * scale (+ positions[position])
struct EmbedOp {
  BufferId out;
  Matrix table;
  float scale;
  Matrix positions;  // learned positions (context, hidden), or empty
};

struct NormOp {
  BufferId in, out;
  Norm norm;
};

// q, k, v = W in (+ b); q and k normed per head, then turned by rope; k and v appended to the layer's cache.
struct QkvOp {
  BufferId in, q;  // q: (heads, head_dim)
  int32_t layer;
  int32_t heads, kv_heads, head_dim, value_dim;
  Matrix wq, wk, wv;
  Vector bq, bk, bv;
  Norm q_norm, k_norm;  // weight of head_dim, or none
  int32_t rope;         // index into Plan::ropes, -1 = none
};

// out = softmax(scale q k^T, soft cap, window) v over the sequence's pages. Head h reads kv head h / (heads /
// kv_heads).
struct AttnOp {
  BufferId q, out;  // out: (heads, value_dim)
  int32_t layer;
  int32_t heads, kv_heads, head_dim, value_dim;
  float scale, softcap;  // softcap c: c tanh(s / c); 0 = off
  int32_t window;        // 0 = off
};

// x += scale (W in + b), with post_norm applied to the term before the sum when it is there.
struct MatmulAddOp {
  BufferId in, x, scratch;  // scratch: (hidden) when post_norm, else -1
  Matrix w;
  Vector bias;
  float scale;
  Norm post_norm;
};

// out = act(gate in + bg) * (up in + bu); without a gate, act(up in + bu).
struct GateUpOp {
  BufferId in, out;
  Matrix gate, up;
  Vector gate_bias, up_bias;
  Activation act;
};

// Chooses the `used` experts of highest probability; ties go to the lower id.
struct RouteOp {
  BufferId in, route;  // route: (2, used): int32 ids in order of choice, then float weights
  Matrix w;            // (experts, hidden), F32
  int32_t used;
  bool normalize;  // weights divided by their sum
  float scale;     // of the weights
};

// out[slot] = act(gate_e in) * (up_e in) for each chosen expert e
struct MoeGateUpOp {
  BufferId in, route, out;  // out: (used, expert_ffn)
  Matrix gate, up;          // experts
  int32_t used;
  Activation act;
};

// x += sum over slots, in order, of weight (down_e in[slot]), with post_norm as in MatmulAdd
struct MoeDownOp {
  BufferId in, route, x, scratch;  // scratch: (used, hidden)
  Matrix down;
  int32_t used;
  Norm post_norm;
};

// logits = softcap(scale (W norm(in) + b)), for the rows that want them
struct HeadOp {
  BufferId in;
  Norm norm;
  Matrix w;
  Vector bias;
  float scale, softcap;
};

// hidden = norm(in), for the rows that want it
struct PoolOp {
  BufferId in;
  Norm norm;
};

using Op = std::variant<EmbedOp, NormOp, QkvOp, AttnOp, MatmulAddOp, GateUpOp, RouteOp, MoeGateUpOp,
                        MoeDownOp, HeadOp, PoolOp>;
const char *op_name(const Op &op);  // "Qkv"

// What a layer keeps per token.
struct LayerKv {
  int32_t kv_heads = 0, head_dim = 0, value_dim = 0;
};

struct Plan {
  int32_t hidden = 0, vocab = 0;
  std::vector<Op> ops;
  std::vector<BufferInfo> buffers;
  int64_t floats_per_row = 0;  // of the arena that holds all buffers
  std::vector<LayerKv> kv;     // (layers)
  std::vector<Rope> ropes;

  std::string print() const;  // one line an op: number, name, layer, shapes, types

  // ---- plan_part.cc: a plan whose parts are computed by several executors
  // The op that a layer begins with: the norm before its Qkv, or the Qkv where it reads the residual stream.
  int32_t layer_begin(int32_t layer) const;
  // Buffers that ops before `op` write and later ones read: the residual stream alone where a layer begins.
  std::vector<BufferId> crossing(int32_t op) const;
  // Ops [first, end) as a plan of their own. Buffers keep their numbers and places. One that was written
  // before has first_op -1, one that is read afterwards has the number of ops as last_op, and one that lives
  // elsewhere has both there. A layer whose attention is elsewhere keeps nothing: its kv_heads are 0.
  Plan part(int32_t first, int32_t end) const;
};

// Parameters of the builder's calls; what is left out keeps the value it has here.
struct EmbedArgs {
  float scale = 1;
  Matrix positions = {};
};
struct QkvArgs {
  Vector bq = {}, bk = {}, bv = {};
  Norm q_norm = {}, k_norm = {};
  int32_t rope = -1;
};
struct AttnArgs {
  float scale = 0;  // 0 = the Spec's
  int32_t window = 0;
};
struct AddArgs {
  Vector bias = {};
  float scale = 1;
  Norm post_norm = {};
};
struct FfnArgs {
  Vector gate_bias = {}, up_bias = {};
  Activation act = Activation::Silu;
};
struct RouteArgs {
  bool normalize = true;
  float scale = 1;
};
struct HeadArgs {
  Vector bias = {};
  float scale = 1;
};

// What `arch/*.cc` writes a model with; see llama.cc for how it reads. Buffers are made by the call that
// fills them.
class PlanBuilder {
 public:
  explicit PlanBuilder(const Spec &spec);

  int32_t rope(Rope rope);  // for QkvArgs::rope
  BufferId embed(const Matrix &table, const EmbedArgs &args = {});
  BufferId norm(BufferId x, const Norm &norm);
  BufferId qkv(BufferId y, int32_t layer, const Matrix &wq, const Matrix &wk, const Matrix &wv,
               const QkvArgs &args);
  BufferId attn(BufferId q, int32_t layer, const AttnArgs &args = {});
  void matmul_add(BufferId x, BufferId a, const Matrix &w, const AddArgs &args = {});
  BufferId gate_up(BufferId y, const Matrix &gate, const Matrix &up, const FfnArgs &args = {});
  BufferId up(BufferId y, const Matrix &up, const FfnArgs &args = {});  // no gate
  BufferId route(BufferId y, const Matrix &router, const RouteArgs &args = {});
  BufferId moe_gate_up(BufferId y, BufferId route, const Matrix &gate, const Matrix &up,
                       Activation act = Activation::Silu);
  void moe_down(BufferId x, BufferId h, BufferId route, const Matrix &down, const Norm &post_norm = {});
  // Emits Head (and Pool, which shares its norm).
  void head(BufferId x, const Norm &norm, const Matrix &w, const HeadArgs &args = {});

  // Computes the buffers' lives and offsets. The builder is empty afterwards.
  Plan finish();

 private:
  BufferId make_buffer(int64_t width);
  void use(BufferId buffer);  // by the op about to be added

  const Spec &spec_;
  Plan plan_;
};

}  // namespace rz
