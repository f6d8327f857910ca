// GPT-2: learned positions instead of rope, layer norms, one matrix for q, k and v, biases everywhere, GELU
// without a gate.
#include "base/error.h"
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {

void build_gpt2(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  if (s.context > s.trained_context) {
    fail(Status::Limit, "context: expected at most %d, the positions that gpt2 has learned; found %d",
         s.trained_context, s.context);
  }
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const Matrix positions = w.matrix("position_embd", s.trained_context, s.hidden);

  const BufferId x = p.embed(embeddings, {.positions = positions});
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, layer_norm(context, blk + "attn_norm"));
    const Projections w_qkv = fused_qkv(context, blk, Bias::Needed);
    const BufferId q =
        p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v, {.bq = w_qkv.bq, .bk = w_qkv.bk, .bv = w_qkv.bv});
    p.matmul_add(x, p.attn(q, layer), w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out),
                 {.bias = w.bias(blk + "attn_output", s.hidden)});

    y = p.norm(x, layer_norm(context, blk + "ffn_norm"));
    const BufferId h = p.up(y, w.matrix(blk + "ffn_up", s.ffn, s.hidden),
                            {.up_bias = w.bias(blk + "ffn_up", s.ffn), .act = Activation::GeluTanh});
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn),
                 {.bias = w.bias(blk + "ffn_down", s.hidden)});
  }
  p.head(x, layer_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
