// Phi 3 to 4: Llama's shape with q, k, v in one matrix and gate, up in another, rope on halves, and LongRoPE:
// two sets of frequency factors, one for contexts as long as first trained, one for longer.
#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {
namespace {

Rope long_rope(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  const int64_t first_trained =
      metadata.integer_or("phi3.rope.scaling.original_context_length", 1, INT32_MAX, s.trained_context);
  const Vector long_factors = w.optional_vector("rope_factors_long", s.rope_dims / 2);
  const Vector short_factors = w.optional_vector("rope_factors_short", s.rope_dims / 2);
  const Vector &factors = s.context > first_trained ? long_factors : short_factors;
  return read_rope(metadata, s, RopeStyle::Halves, factors.data, factors.size);
}

}  // namespace

void build_phi3(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const int32_t rope = p.rope(long_rope(context));

  const BufferId x = p.embed(embeddings);
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = fused_qkv(context, blk, Bias::None);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v, {.rope = rope});
    const BufferId a = p.attn(q, layer, {.window = s.window});
    p.matmul_add(x, a, w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out));

    y = p.norm(x, rms_norm(context, blk + "ffn_norm"));
    const Matrix gate_up = w.matrix(blk + "ffn_up", int64_t{2} * s.ffn, s.hidden);
    const BufferId h = p.gate_up(y, gate_up.slice(0, s.ffn), gate_up.slice(s.ffn, s.ffn));
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn));
  }
  p.head(x, rms_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
