// Pieces that several families share.
#include "model/arch/layers.h"

#include "base/error.h"

namespace rz {

std::string block(int32_t layer) { return "blk." + std::to_string(layer) + "."; }

HeadWidths::HeadWidths(const Spec &spec)
    : q(int64_t{spec.heads} * spec.head_dim),
      k(int64_t{spec.kv_heads} * spec.head_dim),
      v(int64_t{spec.kv_heads} * spec.value_dim),
      out(int64_t{spec.heads} * spec.value_dim) {}

namespace {

Vector read_bias(Weights &weights, const std::string &name, int64_t size, Bias bias) {
  if (bias == Bias::None) return {};
  return bias == Bias::Needed ? weights.bias(name, size) : weights.optional_bias(name, size);
}

}  // namespace

Projections separate_qkv(ArchContext &context, const std::string &blk, Bias bias) {
  Weights &w = context.weights;
  const HeadWidths width(context.spec);
  const int64_t hidden = context.spec.hidden;
  return {w.matrix(blk + "attn_q", width.q, hidden),   w.matrix(blk + "attn_k", width.k, hidden),
          w.matrix(blk + "attn_v", width.v, hidden),   read_bias(w, blk + "attn_q", width.q, bias),
          read_bias(w, blk + "attn_k", width.k, bias), read_bias(w, blk + "attn_v", width.v, bias)};
}

Projections fused_qkv(ArchContext &context, const std::string &blk, Bias bias) {
  const HeadWidths width(context.spec);
  const int64_t rows = width.q + width.k + width.v;
  const Matrix all = context.weights.matrix(blk + "attn_qkv", rows, context.spec.hidden);
  Projections parts{
      all.slice(0, width.q), all.slice(width.q, width.k), all.slice(width.q + width.k, width.v), {}, {}, {}};
  if (const Vector biases = read_bias(context.weights, blk + "attn_qkv", rows, bias)) {
    parts.bq = biases.slice(0, width.q);
    parts.bk = biases.slice(width.q, width.k);
    parts.bv = biases.slice(width.q + width.k, width.v);
  }
  return parts;
}

Norm rms_norm(ArchContext &context, const std::string &name) {
  return rms_norm(context, name, context.spec.hidden);
}

Norm rms_norm(ArchContext &context, const std::string &name, int64_t size) {
  return {NormKind::Rms, context.spec.norm_eps, context.weights.vector(name, size), {}};
}

Norm layer_norm(ArchContext &context, const std::string &name) {
  const int64_t size = context.spec.hidden;
  return {NormKind::Layer, context.spec.norm_eps, context.weights.vector(name, size),
          context.weights.bias(name, size)};
}

float read_softcap(const Metadata &metadata, const std::string &key, float absent) {
  const double cap = metadata.number_or(key, static_cast<double>(absent));
  constexpr double kLargest = 1e9;
  if (cap < 0 || cap > kLargest) {
    fail(Status::Format, "%s: expected a number from 0 to %g, found %g", key.c_str(), kLargest, cap);
  }
  return static_cast<float>(cap);
}

Matrix output_or(ArchContext &context, const Matrix &embeddings) {
  const Matrix output = context.weights.optional_matrix("output", context.spec.vocab, context.spec.hidden);
  return output ? output : embeddings;
}

void swiglu_experts(ArchContext &context, const std::string &blk, BufferId x, BufferId y) {
  auto &[metadata, s, w, p] = context;
  if (s.experts == 0) {
    fail(Status::Format, "%s.expert_count: expected at least 1, found 0", s.architecture.c_str());
  }
  const BufferId route = p.route(y, w.float_matrix(blk + "ffn_gate_inp", s.experts, s.hidden));
  const BufferId h =
      p.moe_gate_up(y, route, w.experts(blk + "ffn_gate_exps", s.experts, s.expert_ffn, s.hidden),
                    w.experts(blk + "ffn_up_exps", s.experts, s.expert_ffn, s.hidden));
  p.moe_down(x, h, route, w.experts(blk + "ffn_down_exps", s.experts, s.hidden, s.expert_ffn));
}

}  // namespace rz
