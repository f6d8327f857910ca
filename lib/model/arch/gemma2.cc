// Gemma 2: embeddings times sqrt(width), a norm before and after each branch, GeGLU, soft caps on the
// attention scores and the logits, and a sliding window on every other layer, beginning with the first. The
// norms' "+ 1" is already in the file's weights.
#include <cmath>

#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {
namespace {

// The 27B model scales scores by width / heads, not by its head size; only its layers tell it apart.
constexpr int32_t kLayersOf27B = 46;

}  // namespace

void build_gemma2(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  s.attention_softcap = read_softcap(metadata, "gemma2.attn_logit_softcapping", 50);
  s.final_softcap = read_softcap(metadata, "gemma2.final_logit_softcapping", 30);
  if (s.layers == kLayersOf27B) s.attention_scale = 1 / std::sqrt(static_cast<float>(s.hidden / s.heads));
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const int32_t rope = p.rope(read_rope(metadata, s, RopeStyle::Halves));

  const BufferId x = p.embed(embeddings, {.scale = std::sqrt(static_cast<float>(s.hidden))});
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::None);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v, {.rope = rope});
    const BufferId a = p.attn(q, layer, {.window = layer % 2 == 0 ? s.window : 0});
    p.matmul_add(x, a, w.matrix(blk + "attn_output", s.hidden, HeadWidths(s).out),
                 {.post_norm = rms_norm(context, blk + "post_attention_norm")});

    y = p.norm(x, rms_norm(context, blk + "ffn_norm"));
    const BufferId h = p.gate_up(y, w.matrix(blk + "ffn_gate", s.ffn, s.hidden),
                                 w.matrix(blk + "ffn_up", s.ffn, s.hidden), {.act = Activation::GeluTanh});
    p.matmul_add(x, h, w.matrix(blk + "ffn_down", s.hidden, s.ffn),
                 {.post_norm = rms_norm(context, blk + "post_ffw_norm")});
  }
  p.head(x, rms_norm(context, "output_norm"), output_or(context, embeddings));
}

}  // namespace rz
