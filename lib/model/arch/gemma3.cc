// Gemma 3: Gemma 2 without score caps, with head norms on q and k, and five layers with a sliding window and
// their own unscaled rope to each one that sees everything.
#include <cmath>

#include "model/arch/families.h"
#include "model/arch/layers.h"

namespace rz {
namespace {

constexpr int32_t kPeriod = 6;  // every sixth layer sees everything
// The 27B model scales scores by width / heads, not by its head size; only its layers tell it apart.
constexpr int32_t kLayersOf27B = 62;

}  // namespace

void build_gemma3(ArchContext &context) {
  auto &[metadata, s, w, p] = context;
  s.final_softcap = read_softcap(metadata, "gemma3.final_logit_softcapping", 0);
  if (s.layers == kLayersOf27B) s.attention_scale = 1 / std::sqrt(static_cast<float>(s.hidden / s.heads));
  const Matrix embeddings = w.matrix("token_embd", s.vocab, s.hidden);
  const char *local_base = "gemma3.rope.freq_base_swa";
  const int32_t global = p.rope(read_rope(metadata, s, RopeStyle::Halves));
  const int32_t local =
      p.rope(plain_rope(local_base, metadata.number_or(local_base, 10000), s.rope_dims, RopeStyle::Halves));

  const BufferId x = p.embed(embeddings, {.scale = std::sqrt(static_cast<float>(s.hidden))});
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = block(layer);
    const bool sees_all = s.window == 0 || (layer + 1) % kPeriod == 0;
    BufferId y = p.norm(x, rms_norm(context, blk + "attn_norm"));
    const Projections w_qkv = separate_qkv(context, blk, Bias::None);
    const BufferId q = p.qkv(y, layer, w_qkv.q, w_qkv.k, w_qkv.v,
                             {.q_norm = rms_norm(context, blk + "attn_q_norm", s.head_dim),
                              .k_norm = rms_norm(context, blk + "attn_k_norm", s.head_dim),
                              .rope = sees_all ? global : local});
    const BufferId a = p.attn(q, layer, {.window = sees_all ? 0 : s.window});
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
