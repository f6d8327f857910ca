// Builds tiny models: the metadata and tensors that each family's files have, filled with seeded noise of a
// size that keeps activations near 1.
#include "support/tiny_models.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "format/gguf_writer.h"
#include "support/tiny_vocab.h"

namespace rz::test {
namespace {

// SplitMix64: the same numbers with every standard library.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  // Uniform in [-1, 1).
  float next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1;
  }

 private:
  uint64_t state_;
};

// The type asked for where rows are whole blocks of it, else what real files fall back to.
Type fitting_type(Type wanted, int64_t cols) {
  for (const Type type : {wanted, Type::Q8_0}) {
    if (cols % traits(type).block_weights == 0) return type;
  }
  return Type::F16;
}

bool is_one_of(const std::string &name, std::initializer_list<const char *> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Builder {
 public:
  explicit Builder(const TinyModel &what) : m_(what), noise_(what.seed) {}

  TinyFile build() {
    add_dimensions();
    add_rope();
    if (is_one_of(m_.architecture, {"llama", "mistral", "gemma2", "gemma3", "phi3"})) {
      add_spm_vocab(file_, m_.vocab);
    } else {
      add_bpe_vocab(file_, m_.vocab);
    }
    matrix("token_embd", m_.vocab, m_.hidden, 1);
    if (is("gpt2")) floats("position_embd.weight", {m_.hidden, m_.context}, 0, 0.3f);
    for (int32_t layer = 0; layer < m_.layers; ++layer) add_layer("blk." + std::to_string(layer) + ".");
    norm("output_norm", m_.hidden);
    if (!m_.tied) matrix("output", m_.vocab, m_.hidden);
    return std::move(file_);
  }

 private:
  bool is(const char *architecture) const { return m_.architecture == architecture; }
  bool layer_norms() const { return is("gpt2") || is("starcoder2"); }
  bool fused_qkv() const { return is("gpt2") || is("phi3"); }
  int32_t rope_dims() const { return m_.rope_dims ? m_.rope_dims : m_.head_dim; }

  template <class T>
  void key(const std::string &name, T value) {
    file_.set(m_.architecture + "." + name, std::move(value));
  }
  void key(const std::string &name, int32_t value) { key(name, static_cast<uint32_t>(value)); }

  void add_dimensions() {
    file_.set("general.architecture", m_.architecture);
    file_.set("general.name", "tiny " + m_.architecture);
    file_.set("general.file_type", traits(m_.type).file_type);
    key("block_count", m_.layers);
    key("context_length", m_.context);
    key("embedding_length", m_.hidden);
    key("feed_forward_length", m_.ffn);
    key("attention.head_count", m_.heads);
    key("attention.head_count_kv", m_.kv_heads);
    key("attention.key_length", m_.head_dim);
    key("attention.value_length", m_.head_dim);
    key(layer_norms() ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5f);
    if (m_.window > 0) key("attention.sliding_window", m_.window);
    if (m_.experts > 0) {
      key("expert_count", m_.experts);
      key("expert_used_count", m_.experts_used);
      key("expert_feed_forward_length", m_.expert_ffn);
    }
    if (is("gemma2")) {
      key("attn_logit_softcapping", 50.0f);
      key("final_logit_softcapping", 30.0f);
    }
  }

  void add_rope() {
    if (is("gpt2")) return;
    key("rope.dimension_count", rope_dims());
    key("rope.freq_base", is("gemma3") ? 1e6f : 1e4f);
    if (!m_.rope_scaling.empty()) {
      key("rope.scaling.type", m_.rope_scaling);
      key("rope.scaling.factor", 4.0f);
      key("rope.scaling.original_context_length", m_.context / 4);
    }
    if (!m_.rope_factors) return;
    const int64_t n = rope_dims() / 2;
    if (is("phi3")) {
      key("rope.scaling.original_context_length", m_.context / 4);
      key("rope.scaling.attn_factor", 1.19f);
      floats("rope_factors_long.weight", {n}, 3, 2);
      floats("rope_factors_short.weight", {n}, 1.5f, 0.5f);
    } else {
      floats("rope_freqs.weight", {n}, 4, 3);
    }
  }

  void add_layer(const std::string &blk) {
    add_attention(blk);
    norm(blk + "ffn_norm", m_.hidden);
    if (m_.experts > 0) {
      add_experts(blk);
    } else {
      add_ffn(blk);
    }
    if (is("gemma2") || is("gemma3")) norm(blk + "post_ffw_norm", m_.hidden);
  }

  void add_attention(const std::string &blk) {
    const int64_t q = m_.heads * m_.head_dim, k = m_.kv_heads * m_.head_dim;
    norm(blk + "attn_norm", m_.hidden);
    if (fused_qkv()) {
      matrix(blk + "attn_qkv", q + 2 * k, m_.hidden);
      if (is("gpt2")) bias(blk + "attn_qkv", q + 2 * k);
    } else {
      const bool biased = m_.biases || is("qwen2");
      for (const char *name : {"attn_q", "attn_k", "attn_v"}) {
        const int64_t rows = name == std::string("attn_q") ? q : k;
        matrix(blk + name, rows, m_.hidden);
        if (biased) bias(blk + name, rows);
      }
    }
    if (is_one_of(m_.architecture, {"qwen3", "qwen3moe", "gemma3"})) {
      norm(blk + "attn_q_norm", m_.head_dim);
      norm(blk + "attn_k_norm", m_.head_dim);
    }
    matrix(blk + "attn_output", m_.hidden, q);
    if (m_.biases || is("gpt2")) bias(blk + "attn_output", m_.hidden);
    if (is("gemma2") || is("gemma3")) norm(blk + "post_attention_norm", m_.hidden);
  }

  void add_ffn(const std::string &blk) {
    const bool biased = layer_norms() || (m_.biases && is("llama"));
    if (!layer_norms() && !is("phi3")) {
      matrix(blk + "ffn_gate", m_.ffn, m_.hidden);
      if (biased) bias(blk + "ffn_gate", m_.ffn);
    }
    matrix(blk + "ffn_up", is("phi3") ? 2 * m_.ffn : m_.ffn, m_.hidden);
    matrix(blk + "ffn_down", m_.hidden, m_.ffn);
    if (!biased) return;
    bias(blk + "ffn_up", m_.ffn);
    bias(blk + "ffn_down", m_.hidden);
  }

  void add_experts(const std::string &blk) {
    floats(blk + "ffn_gate_inp.weight", {m_.hidden, m_.experts}, 0, 0.3f);
    matrix(blk + "ffn_gate_exps", m_.expert_ffn, m_.hidden, 0, m_.experts);
    matrix(blk + "ffn_up_exps", m_.expert_ffn, m_.hidden, 0, m_.experts);
    matrix(blk + "ffn_down_exps", m_.hidden, m_.expert_ffn, 0, m_.experts);
  }

  void norm(const std::string &name, int64_t size) {
    floats(name + ".weight", {size}, 1, 0.2f);
    if (layer_norms()) bias(name, size);
  }
  void bias(const std::string &name, int64_t size) { floats(name + ".bias", {size}, 0, 0.2f); }

  // Uniform noise whose products with values near 1 sum to values near 1, unless a spread is given.
  void matrix(const std::string &name, int64_t rows, int64_t cols, float spread = 0, int64_t experts = 1) {
    if (spread == 0) spread = std::sqrt(3.0f / static_cast<float>(cols));
    std::vector<int64_t> dims = {cols, rows};
    if (experts > 1) dims.push_back(experts);
    file_.add_tensor(name + ".weight", fitting_type(m_.type, cols), dims,
                     draw(rows * cols * experts, 0, spread));
  }
  void floats(const std::string &name, const std::vector<int64_t> &dims, float middle, float spread) {
    int64_t n = 1;
    for (const int64_t dim : dims) n *= dim;
    file_.add_tensor(name, Type::F32, dims, draw(n, middle, spread));
  }
  std::vector<float> draw(int64_t n, float middle, float spread) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float &value : values) value = middle + spread * noise_.next();
    return values;
  }

  const TinyModel &m_;
  Noise noise_;
  TinyFile file_;
};

struct AddTo {
  GgufWriter &writer;
  const std::string &key;
  void operator()(uint32_t v) const { writer.add_u32(key, v); }
  void operator()(uint64_t v) const { writer.add_u64(key, v); }
  void operator()(int32_t v) const {
    Value value;
    value.type = ValueType::I32;
    value.data = static_cast<int64_t>(v);
    writer.add(key, value);
  }
  void operator()(float v) const { writer.add_f32(key, v); }
  void operator()(bool v) const { writer.add_bool(key, v); }
  void operator()(const std::string &v) const { writer.add_string(key, v); }
  void operator()(const std::vector<std::string> &v) const { writer.add_strings(key, v); }
  void operator()(const std::vector<float> &v) const { writer.add_f32s(key, v); }
  void operator()(const std::vector<int32_t> &v) const { writer.add_i32s(key, v); }
};

}  // namespace

TinyModel tiny_model(const std::string &architecture, Type type) {
  TinyModel what;
  what.architecture = architecture;
  what.type = type;
  if (traits(type).block_weights == 256) {
    what.hidden = 256;
    what.head_dim = 128;
    what.ffn = 288;
  }
  if (architecture == "qwen3moe") {
    what.experts = 6;
    what.experts_used = 2;
    what.expert_ffn = traits(type).block_weights == 256 ? 256 : 64;
  }
  if (architecture == "gpt2") what.kv_heads = what.heads;
  if (architecture == "gemma2" || architecture == "gemma3") {
    what.window = 8;
    what.tied = true;
  }
  if (architecture == "gemma3") what.layers = 7;
  if (architecture == "qwen2") what.tied = true;
  return what;
}

const std::vector<std::string> &tiny_architectures() {
  static const std::vector<std::string> names = {"llama",  "qwen2", "qwen3", "qwen3moe",  "gemma2",
                                                 "gemma3", "phi3",  "gpt2",  "starcoder2"};
  return names;
}

void TinyFile::set(const std::string &key, TinyValue value) {
  for (auto &[name, old] : metadata) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  metadata.emplace_back(key, std::move(value));
}

void TinyFile::remove(const std::string &key) {
  std::erase_if(metadata, [&](const auto &entry) { return entry.first == key; });
}

TinyTensor &TinyFile::tensor(const std::string &name) {
  for (TinyTensor &tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

void TinyFile::remove_tensor(const std::string &name) {
  std::erase_if(tensors, [&](const TinyTensor &tensor) { return tensor.name == name; });
}

void TinyFile::add_tensor(const std::string &name, Type type, std::vector<int64_t> dims,
                          const std::vector<float> &weights) {
  TinyTensor tensor{name, type, std::move(dims), std::vector<std::byte>(bytes_of(type, weights.size()))};
  traits(type).encode(weights.data(), tensor.bytes.data(), static_cast<int64_t>(weights.size()));
  tensors.push_back(std::move(tensor));
}

void TinyFile::write(const std::filesystem::path &path) const {
  GgufWriter writer(path.string());
  for (const auto &[key, value] : metadata) std::visit(AddTo{writer, key}, value);
  for (const TinyTensor &tensor : tensors) writer.add_tensor(tensor.name, tensor.type, tensor.dims);
  for (const TinyTensor &tensor : tensors) writer.write_tensor(tensor.bytes);
  writer.finish();
}

TinyFile make_tiny_model(const TinyModel &what) { return Builder(what).build(); }

std::filesystem::path write_tiny_model(const TinyModel &what, const std::filesystem::path &folder) {
  static int next = 0;  // several models of one kind may live in one folder
  const std::filesystem::path path =
      folder / (what.architecture + "-" + traits(what.type).name + "-" + std::to_string(next++) + ".gguf");
  make_tiny_model(what).write(path);
  return path;
}

}  // namespace rz::test
