// Pieces that several families share: the projections of attention, norms by name, the expert layer, the
// output matrix. What only one family does stays in its own file.
#pragma once

#include <string>

#include "model/arch.h"

namespace rz {

std::string block(int32_t layer);  // "blk.3."

// Rows of the projections, all heads together.
struct HeadWidths {
  int64_t q, k, v, out;
  explicit HeadWidths(const Spec &spec);
};

struct Projections {
  Matrix q, k,
      v;  // (heads * head_dim, hidden), (kv_heads * head_dim, hidden), (kv_heads * value_dim, hidden)
  Vector bq, bk, bv;  // empty where the family has none
};
enum class Bias : uint8_t { None, Optional, Needed };
// attn_q, attn_k, attn_v; or attn_qkv, whose rows are those of q, then k, then v.
Projections separate_qkv(ArchContext &context, const std::string &blk, Bias bias);
Projections fused_qkv(ArchContext &context, const std::string &blk, Bias bias);

Norm rms_norm(ArchContext &context, const std::string &name);                // over the hidden width
Norm rms_norm(ArchContext &context, const std::string &name, int64_t size);  // over a head
Norm layer_norm(ArchContext &context, const std::string &name);              // with bias

// A soft cap's size, 0 = off. Throws Format for one below 0.
float read_softcap(const Metadata &metadata, const std::string &key, float absent);

// The matrix `output`, or the embeddings again where the file has none.
Matrix output_or(ArchContext &context, const Matrix &embeddings);

// x += SwiGLU experts of y, chosen by a softmax over all of them, the chosen ones' weights made to sum to 1.
void swiglu_experts(ArchContext &context, const std::string &blk, BufferId x, BufferId y);

}  // namespace rz
