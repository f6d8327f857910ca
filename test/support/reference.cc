// The reference forward. One class runs all families; what they differ in is a table of switches at the top.
#include "support/reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>

#include "quant/half.h"

namespace rz::test {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one a position

struct Family {
  const char *name;
  bool halves = true;       // rope pairs (i, i + n/2); else (2i, 2i + 1)
  bool layer_norm = false;  // else RMS
  bool gelu = false;        // else SiLU
  bool gated = true;        // feed-forward has a gate
  bool fused_qkv = false, fused_gate_up = false;
  bool head_norms = false;  // q and k normed per head
  bool gemma = false;       // scaled embeddings, norms after each branch
  int window_period = 0;    // of so many layers ...
  int window_layers = 0;    // ... the first so many have the window that the file names
};

constexpr Family kFamilies[] = {
    {.name = "llama", .halves = false},
    {.name = "mistral", .halves = false},
    {.name = "qwen2"},
    {.name = "qwen3", .head_norms = true},
    {.name = "qwen3moe", .head_norms = true},
    {.name = "gemma2", .gelu = true, .gemma = true, .window_period = 2, .window_layers = 1},
    {.name = "gemma3",
     .gelu = true,
     .head_norms = true,
     .gemma = true,
     .window_period = 6,
     .window_layers = 5},
    {.name = "phi3", .fused_qkv = true, .fused_gate_up = true, .window_period = 1, .window_layers = 1},
    {.name = "gpt2", .layer_norm = true, .gelu = true, .gated = false, .fused_qkv = true},
    {.name = "starcoder2", .layer_norm = true, .gelu = true, .gated = false},
};

const Family &family_of(std::string_view name) {
  for (const Family &family : kFamilies) {
    if (name == family.name) return family;
  }
  throw std::runtime_error("the reference does not know " + std::string(name));
}

struct Tensor {
  std::array<size_t, 3> dims;  // row length, rows, matrices
  std::vector<float> weights;
};

class Forward {
 public:
  Forward(const ModelFile &file, const ReferenceOptions &options)
      : file_(file),
        options_(options),
        arch_(file.metadata.string("general.architecture")),
        family_(family_of(arch_)) {
    hidden_ = size("embedding_length");
    layers_ = size("block_count");
    heads_ = size("attention.head_count");
    kv_heads_ = size("attention.head_count_kv", heads_);
    head_dim_ = size("attention.key_length", hidden_ / heads_);
    value_dim_ = size("attention.value_length", hidden_ / heads_);
    eps_ =
        number(family_.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 0);
  }

  Rows hidden(std::span<const int32_t> tokens) {
    Rows x = embed(tokens);
    for (size_t layer = 0; layer < layers_; ++layer) {
      const std::string blk = "blk." + std::to_string(layer) + ".";
      add(x, branch(attention(norm(x, blk + "attn_norm"), blk, layer), blk + "post_attention_norm"));
      add(x, branch(feed_forward(norm(x, blk + "ffn_norm"), blk), blk + "post_ffw_norm"));
    }
    return norm(x, "output_norm");
  }

  Rows logits(std::span<const int32_t> tokens) {
    const Rows last = hidden(tokens);
    Rows logits = linear(last, has("output.weight") ? "output" : "token_embd");
    for (Row &row : logits) cap(row, number("final_logit_softcapping", arch_ == "gemma2" ? 30 : 0));
    return logits;
  }

 private:
  // ---- metadata and tensors
  double number(const std::string &name, double absent) const {
    return file_.metadata.number_or(arch_ + "." + name, absent);
  }
  size_t size(const std::string &name) const {
    return static_cast<size_t>(file_.metadata.integer(arch_ + "." + name, 0, INT64_MAX));
  }
  size_t size(const std::string &name, size_t absent) const {
    return file_.metadata.find(arch_ + "." + name) ? size(name) : absent;
  }
  bool has(const std::string &name) const { return file_.find(name) != nullptr; }

  const Tensor &tensor(const std::string &name) {
    const auto known = tensors_.find(name);
    if (known != tensors_.end()) return known->second;
    const TensorInfo *info = file_.find(name);
    if (!info) throw std::runtime_error("no tensor " + name);
    std::vector<std::byte> bytes(info->size_bytes);
    file_.read(*info, bytes.data());
    Tensor &read = tensors_[name];
    for (size_t i = 0; i < 3; ++i) read.dims[i] = static_cast<size_t>(info->dims[i]);
    read.weights.resize(info->elements());
    traits(info->type).decode(bytes.data(), read.weights.data(), static_cast<int64_t>(read.weights.size()));
    return read;
  }

  // ---- arithmetic
  // W x (+ b) for one row, by matrix `which` of the tensor.
  Row linear(const Row &x, const std::string &name, size_t which = 0) {
    const Tensor &w = tensor(name + ".weight");
    const Tensor *bias = has(name + ".bias") ? &tensor(name + ".bias") : nullptr;
    if (w.dims[0] != x.size()) throw std::runtime_error(name + " does not fit");
    Row y(w.dims[1]);
    for (size_t r = 0; r < y.size(); ++r) {
      const float *row = &w.weights[(which * w.dims[1] + r) * w.dims[0]];
      for (size_t c = 0; c < x.size(); ++c) y[r] += static_cast<double>(row[c]) * x[c];
      if (bias) y[r] += static_cast<double>(bias->weights[r]);
    }
    return y;
  }
  Rows linear(const Rows &x, const std::string &name) {
    Rows y;
    for (const Row &row : x) y.push_back(linear(row, name));
    return y;
  }

  Row norm(Row x, const std::string &name) {
    const Tensor &weight = tensor(name + ".weight");
    const Tensor *bias = family_.layer_norm ? &tensor(name + ".bias") : nullptr;
    const auto n = static_cast<double>(x.size());
    const double mean = family_.layer_norm ? std::accumulate(x.begin(), x.end(), 0.0) / n : 0;
    double squares = 0;
    for (double &value : x) {
      value -= mean;
      squares += value * value;
    }
    const double scale = 1 / std::sqrt(squares / n + eps_);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] *= scale * static_cast<double>(weight.weights[i]);
      if (bias) x[i] += static_cast<double>(bias->weights[i]);
    }
    return x;
  }
  Rows norm(const Rows &x, const std::string &name) {
    Rows y;
    for (const Row &row : x) y.push_back(norm(row, name));
    return y;
  }

  static void add(Rows &x, const Rows &y) {
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x[i].size(); ++j) x[i][j] += y[i][j];
    }
  }
  static void cap(Row &x, double limit) {
    if (limit == 0) return;
    for (double &value : x) value = limit * std::tanh(value / limit);
  }
  static void softmax(Row &x) {
    const double most = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (double &value : x) sum += value = std::exp(value - most);
    for (double &value : x) value /= sum;
  }
  double activation(double x) const {
    if (!family_.gelu) return x / (1 + std::exp(-x));
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  static Row part(const Row &x, size_t first, size_t n) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
    return Row(begin, begin + static_cast<std::ptrdiff_t>(n));
  }

  // ---- the model
  Rows embed(std::span<const int32_t> tokens) {
    const Tensor &table = tensor("token_embd.weight");
    Rows x(tokens.size(), Row(hidden_));
    for (size_t pos = 0; pos < tokens.size(); ++pos) {
      for (size_t i = 0; i < hidden_; ++i) {
        x[pos][i] = static_cast<double>(table.weights[static_cast<size_t>(tokens[pos]) * hidden_ + i]);
        if (family_.gemma) x[pos][i] *= std::sqrt(static_cast<double>(hidden_));
        if (arch_ == "gpt2") {
          x[pos][i] += static_cast<double>(tensor("position_embd.weight").weights[pos * hidden_ + i]);
        }
      }
    }
    return x;
  }

  Rows branch(Rows y, const std::string &post_norm) { return family_.gemma ? norm(y, post_norm) : y; }

  // How far layer `layer` looks back; 0 = to the beginning.
  size_t window_of(size_t layer) const {
    const bool windowed =
        family_.window_period > 0 && static_cast<int>(layer) % family_.window_period < family_.window_layers;
    return windowed ? size("attention.sliding_window", 0) : 0;
  }

  double score_scale() const {
    const bool by_width = (arch_ == "gemma2" && layers_ == 46) || (arch_ == "gemma3" && layers_ == 62);
    return 1 / std::sqrt(static_cast<double>(by_width ? hidden_ / heads_ : head_dim_));
  }

  struct Qkv {
    Row q, k, v;
  };
  Qkv project(const Row &y, const std::string &blk) {
    if (!family_.fused_qkv) {
      return {linear(y, blk + "attn_q"), linear(y, blk + "attn_k"), linear(y, blk + "attn_v")};
    }
    const Row all = linear(y, blk + "attn_qkv");
    const size_t q = heads_ * head_dim_, k = kv_heads_ * head_dim_;
    return {part(all, 0, q), part(all, q, k), part(all, q + k, kv_heads_ * value_dim_)};
  }

  // Norms and turns each head of q or k at its position.
  void finish_heads(Row &x, const std::string &norm_name, size_t pos, size_t layer) {
    for (size_t first = 0; first < x.size(); first += head_dim_) {
      Row head = part(x, first, head_dim_);
      if (family_.head_norms) head = norm(head, norm_name);
      if (arch_ != "gpt2") rotate(head, pos, layer);
      std::copy(head.begin(), head.end(), x.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  Rows attention(const Rows &y, const std::string &blk, size_t layer) {
    std::vector<Qkv> all;
    for (size_t pos = 0; pos < y.size(); ++pos) {
      all.push_back(project(y[pos], blk));
      finish_heads(all[pos].q, blk + "attn_q_norm", pos, layer);
      finish_heads(all[pos].k, blk + "attn_k_norm", pos, layer);
      if (options_.half_kv) {
        for (Row *kept : {&all[pos].k, &all[pos].v}) {
          for (double &value : *kept) value = half_to_float(float_to_half(static_cast<float>(value)));
        }
      }
    }
    const size_t window = window_of(layer);
    Rows out;
    for (size_t pos = 0; pos < y.size(); ++pos) {
      const size_t first = window > 0 && pos + 1 > window ? pos + 1 - window : 0;
      out.push_back(linear(attend(all, pos, first), blk + "attn_output"));
    }
    return out;
  }

  // Every head of position `pos` over positions first .. pos.
  Row attend(const std::vector<Qkv> &all, size_t pos, size_t first) const {
    Row out(heads_ * value_dim_);
    for (size_t head = 0; head < heads_; ++head) {
      const size_t kv_head = head / (heads_ / kv_heads_);
      Row scores;
      for (size_t seen = first; seen <= pos; ++seen) {
        double dot = 0;
        for (size_t i = 0; i < head_dim_; ++i) {
          dot += all[pos].q[head * head_dim_ + i] * all[seen].k[kv_head * head_dim_ + i];
        }
        scores.push_back(dot * score_scale());
      }
      cap(scores, number("attn_logit_softcapping", arch_ == "gemma2" ? 50 : 0));
      softmax(scores);
      for (size_t seen = first; seen <= pos; ++seen) {
        for (size_t i = 0; i < value_dim_; ++i) {
          out[head * value_dim_ + i] += scores[seen - first] * all[seen].v[kv_head * value_dim_ + i];
        }
      }
    }
    return out;
  }

  Rows feed_forward(const Rows &y, const std::string &blk) {
    Rows out;
    for (const Row &row : y) {
      out.push_back(size("expert_count", 0) > 0 ? experts(row, blk) : dense(row, blk));
    }
    return out;
  }

  Row dense(const Row &y, const std::string &blk) {
    Row gate, up = linear(y, blk + "ffn_up");
    if (family_.fused_gate_up) {
      gate = part(up, 0, up.size() / 2);
      up = part(up, up.size() / 2, up.size() / 2);
    } else if (family_.gated) {
      gate = linear(y, blk + "ffn_gate");
    }
    for (size_t i = 0; i < up.size(); ++i) {
      up[i] = family_.gated ? activation(gate[i]) * up[i] : activation(up[i]);
    }
    return linear(up, blk + "ffn_down");
  }

  Row experts(const Row &y, const std::string &blk) {
    Row odds = linear(y, blk + "ffn_gate_inp");
    softmax(odds);
    std::vector<size_t> best(odds.size());
    std::iota(best.begin(), best.end(), size_t{0});
    std::stable_sort(best.begin(), best.end(), [&](size_t a, size_t b) { return odds[a] > odds[b]; });
    best.resize(size("expert_used_count"));
    double sum = 0;
    for (const size_t expert : best) sum += odds[expert];
    Row out(y.size());
    for (const size_t expert : best) {
      const Row gate = linear(y, blk + "ffn_gate_exps", expert);
      Row h = linear(y, blk + "ffn_up_exps", expert);
      for (size_t i = 0; i < h.size(); ++i) h[i] *= activation(gate[i]);
      const Row down = linear(h, blk + "ffn_down_exps", expert);
      for (size_t i = 0; i < out.size(); ++i) out[i] += odds[expert] / sum * down[i];
    }
    return out;
  }

  // ---- rope
  void rotate(Row &head, size_t pos, size_t layer) {
    const size_t dims = size("rope.dimension_count", head_dim_);
    const bool local = arch_ == "gemma3" && window_of(layer) > 0;  // its own base, never scaled
    const double base = local ? 10000 : number("rope.freq_base", 10000);
    for (size_t pair = 0; pair < dims / 2; ++pair) {
      const double plain = std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dims));
      const double frequency = local ? plain : scaled(plain, pair, dims, base);
      const double angle = static_cast<double>(pos) * frequency, size = local ? 1 : magnitude();
      double &a = head[family_.halves ? pair : 2 * pair];
      double &b = head[family_.halves ? pair + dims / 2 : 2 * pair + 1];
      const double turned_a = a * std::cos(angle) - b * std::sin(angle);
      const double turned_b = a * std::sin(angle) + b * std::cos(angle);
      a = turned_a * size;
      b = turned_b * size;
    }
  }

  std::string scaling() const {
    const std::string key = arch_ + ".rope.scaling.type";
    return std::string(file_.metadata.string_or(key, "linear"));
  }
  double factor() const { return number("rope.scaling.factor", number("rope.scale_linear", 1)); }

  double magnitude() const {
    const double yarn = scaling() == "yarn" ? 1 + 0.1 * std::log(factor()) : 1;
    return yarn * number("rope.scaling.attn_factor", 1);
  }

  double scaled(double frequency, size_t pair, size_t dims, double base) {
    const double trained = number("context_length", 0),
                 first = number("rope.scaling.original_context_length", trained);
    std::string divisors = "rope_freqs.weight";
    if (arch_ == "phi3") {
      const double context = options_.context > 0 ? options_.context : trained;
      divisors = context > first ? "rope_factors_long.weight" : "rope_factors_short.weight";
    }
    if (has(divisors)) frequency /= static_cast<double>(tensor(divisors).weights[pair]);
    if (scaling() == "linear") return frequency / factor();
    if (scaling() != "yarn") return frequency;

    // YaRN: pairs below `low` keep their frequency, those above `high` are divided, a ramp between.
    const auto n = static_cast<double>(dims);
    const auto pair_turning = [&](double times) {
      return n * std::log(first / (times * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    const double low = std::max(0.0, std::floor(pair_turning(32)));
    const double high = std::min(n - 1, std::ceil(pair_turning(1)));
    const double ramp = std::clamp((static_cast<double>(pair) - low) / std::max(0.001, high - low), 0.0, 1.0);
    return frequency / factor() * ramp + frequency * (1 - ramp);
  }

  const ModelFile &file_;
  const ReferenceOptions options_;
  const std::string arch_;
  const Family &family_;
  std::map<std::string, Tensor> tensors_;
  size_t hidden_, layers_, heads_, kv_heads_, head_dim_, value_dim_;
  double eps_;
};

std::vector<double> flat(const Rows &rows) {
  std::vector<double> values;
  for (const Row &row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

}  // namespace

std::vector<double> reference_logits(const ModelFile &file, std::span<const int32_t> tokens,
                                     const ReferenceOptions &options) {
  return flat(Forward(file, options).logits(tokens));
}

std::vector<double> reference_hidden(const ModelFile &file, std::span<const int32_t> tokens,
                                     const ReferenceOptions &options) {
  return flat(Forward(file, options).hidden(tokens));
}

}  // namespace rz::test
