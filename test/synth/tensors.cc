// One walk over the layers, with the families' differences in place: fused matrices, biases, head norms,
// experts.
#include "tensors.h"

namespace rz::synth {
namespace {

class Lister {
 public:
  explicit Lister(const Shape &shape) : s_(shape), architecture_(shape.architecture) {}

  std::vector<Tensor> list() {
    matrix("token_embd", s_.vocabulary->size, s_.hidden);
    if (s_.variant.llama3_rope_factor > 0) add("rope_freqs.weight", {s_.head_dim / 2}, Fill::RopeFactors);
    for (int32_t layer = 0; layer < s_.layers; ++layer) add_layer("blk." + std::to_string(layer) + ".");
    norm("output_norm", s_.hidden);
    if (!s_.variant.tied) matrix("output", s_.vocabulary->size, s_.hidden);
    return std::move(tensors_);
  }

 private:
  bool is(std::string_view architecture) const { return architecture_ == architecture; }

  void add_layer(const std::string &blk) {
    norm(blk + "attn_norm", s_.hidden);
    add_attention(blk);
    if (is("gemma3")) norm(blk + "post_attention_norm", s_.hidden);
    norm(blk + "ffn_norm", s_.hidden);
    if (s_.variant.experts > 0) {
      add_experts(blk);
    } else {
      add_ffn(blk);
    }
    if (is("gemma3")) norm(blk + "post_ffw_norm", s_.hidden);
  }

  void add_attention(const std::string &blk) {
    const int64_t q = int64_t{s_.heads} * s_.head_dim, k = int64_t{s_.kv_heads} * s_.head_dim;
    if (is("phi3")) {
      matrix(blk + "attn_qkv", q + 2 * k, s_.hidden);
    } else {
      projection(blk + "attn_q", q);
      projection(blk + "attn_k", k);
      projection(blk + "attn_v", k);
    }
    if (is("qwen3") || is("qwen3moe") || is("gemma3")) {
      norm(blk + "attn_q_norm", s_.head_dim);
      norm(blk + "attn_k_norm", s_.head_dim);
    }
    matrix(blk + "attn_output", s_.hidden, q);
  }

  void projection(const std::string &name, int64_t rows) {
    matrix(name, rows, s_.hidden);
    if (is("qwen2")) add(name + ".bias", {rows}, Fill::Bias);
  }

  void add_ffn(const std::string &blk) {
    if (is("phi3")) {
      matrix(blk + "ffn_up", 2 * s_.ffn, s_.hidden);  // gate and up in one
    } else {
      matrix(blk + "ffn_gate", s_.ffn, s_.hidden);
      matrix(blk + "ffn_up", s_.ffn, s_.hidden);
    }
    matrix(blk + "ffn_down", s_.hidden, s_.ffn);
  }

  void add_experts(const std::string &blk) {
    matrix(blk + "ffn_gate_inp", s_.variant.experts, s_.hidden);
    experts(blk + "ffn_gate_exps", s_.variant.expert_ffn, s_.hidden);
    experts(blk + "ffn_up_exps", s_.variant.expert_ffn, s_.hidden);
    experts(blk + "ffn_down_exps", s_.hidden, s_.variant.expert_ffn);
  }

  void matrix(const std::string &name, int64_t rows, int64_t cols) {
    add(name + ".weight", {cols, rows}, Fill::Weights);
  }
  void experts(const std::string &name, int64_t rows, int64_t cols) {
    add(name + ".weight", {cols, rows, s_.variant.experts}, Fill::Weights);
  }
  void norm(const std::string &name, int64_t size) { add(name + ".weight", {size}, Fill::Norm); }
  void add(std::string name, std::vector<int64_t> dims, Fill fill) {
    tensors_.push_back({std::move(name), std::move(dims), fill});
  }

  const Shape &s_;
  std::string_view architecture_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::vector<Tensor> tensors_of(const Shape &shape) { return Lister(shape).list(); }

}  // namespace rz::synth
