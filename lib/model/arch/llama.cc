// Llama and all that share its shape: Llama 1 to 3 (3.1 with its rope factors), Mistral, Mixtral, Yi, SmolLM.
// Pre-norm RMS, rope on adjacent pairs, grouped-query attention, SwiGLU; with experts, a softmax router.
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {

void build_llama(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const Vector factors = w.optional_vector("rope_freqs", s.rope_dims / 2);
  const int32_t rope = p.rope(read_rope(metadata, s, RopeStyle::Adjacent, factors.data, factors.size));

  const BufferId x = p.embed(embeddings);
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::Optional);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v,
                             {.bq = w_qkv.bq, .bk = w_qkv.bk, .bv = w_qkv.bv, .rope = rope});
    p.matmul_add(x, p.attn(q, layer), w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out),
                 {.bias = w.optional_bias(blk + "attn_output", s.hidden)});

    y = p.norm(x, rms_norm(context, blk + "ffn_norm"));
    if (s.experts > 0) {
      swiglu_experts(context, blk, x, y);
      continue;
    }
    const BufferId h =
        p.gate_up(y, w.matrix(blk + "ffn_gate", s.ffn, s.hidden), w.matrix(blk + "ffn_up", s.ffn, s.hidden),
                  {.gate_bias = w.optional_bias(blk + "ffn_gate", s.ffn),
                   .up_bias = w.optional_bias(blk + "ffn_up", s.ffn)});
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn),
                 {.bias = w.optional_bias(blk + "ffn_down", s.hidden)});
  }
  p.head(x, rms_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
