// StarCoder 2: rope on halves and grouped queries as in Llama, but layer norms, biases and GELU without a
// gate as in GPT-2.
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {

void build_starcoder2(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const int32_t rope = p.rope(read_rope(metadata, s, RopeStyle::Halves));

  const BufferId x = p.embed(embeddings);
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, layer_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::Optional);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v,
                             {.bq = w_qkv.bq, .bk = w_qkv.bk, .bv = w_qkv.bv, .rope = rope});
    p.matmul_add(x, p.attn(q, layer), w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out),
                 {.bias = w.optional_bias(blk + "attn_output", s.hidden)});

    y = p.norm(x, layer_norm(context, blk + "ffn_norm"));
    const BufferId h = p.up(y, w.matrix(blk + "ffn_up", s.ffn, s.hidden),
                            {.up_bias = w.bias(blk + "ffn_up", s.ffn), .act = Activation::GeluTanh});
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn),
                 {.bias = w.bias(blk + "ffn_down", s.hidden)});
  }
  p.head(x, layer_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
