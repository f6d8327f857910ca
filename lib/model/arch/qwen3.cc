// Qwen 3, dense and with experts: every head of q and k is RMS-normed before rope, and the heads' size is the
// file's own, not width / heads. The expert form differs in its feed-forward only.
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {
namespace {

void dense_ffn(ArchContext &context, const std::string &blk, BufferId x, BufferId y) {
  auto &[metadata, s, w, p] = context;
  const BufferId h =
      p.gate_up(y, w.matrix(blk + "ffn_gate", s.ffn, s.hidden), w.matrix(blk + "ffn_up", s.ffn, s.hidden));
  p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn));
}

void build(ArchContext &context, void (*ffn)(ArchContext &, const std::string &, BufferId, BufferId)) {
  auto &[metadata, s, w, p] = context;
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const int32_t rope = p.rope(read_rope(metadata, s, RopeStyle::Halves));

  const BufferId x = p.embed(embeddings);
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::None);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v,
                             {.q_norm = rms_norm(context, blk + "attn_q_norm", s.head_dim),
                              .k_norm = rms_norm(context, blk + "attn_k_norm", s.head_dim),
                              .rope = rope});
    p.matmul_add(x, p.attn(q, layer), w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out));

    y = p.norm(x, rms_norm(context, blk + "ffn_norm"));
    ffn(context, blk, x, y);
  }
  p.head(x, rms_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace

void build_qwen3(ArchContext &context) { build(context, dense_ffn); }
void build_qwen3moe(ArchContext &context) { build(context, swiglu_experts); }

}  // namespace rz
