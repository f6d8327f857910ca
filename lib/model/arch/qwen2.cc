// Qwen 2 and 2.5: Llama's shape with biases on q, k and v, and rope on the two halves of a head.
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {

void build_qwen2(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const int32_t rope = p.rope(read_rope(metadata, s, RopeStyle::Halves));

  const BufferId x = p.embed(embeddings);
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::Needed);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v,
                             {.bq = w_qkv.bq, .bk = w_qkv.bk, .bv = w_qkv.bv, .rope = rope});
    p.matmul_add(x, p.attn(q, layer), w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out));

    y = p.norm(x, rms_norm(context, blk + "ffn_norm"));
    const BufferId h =
        p.gate_up(y, w.matrix(blk + "ffn_gate", s.ffn, s.hidden), w.matrix(blk + "ffn_up", s.ffn, s.hidden));
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn));
  }
  p.head(x, rms_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
