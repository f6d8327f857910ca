// The table of mixes, and the few rules that no table row can say: experts, fused and shared matrices, odd
// rows.
#include "quant/mix.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace rz {
namespace {

using enum Type;
using enum When;

constexpr Rule all(Type type) { return {Always, type, type}; }
constexpr Rule given(When when, Type then, Type otherwise) { return {when, then, otherwise}; }
constexpr Rule more_q6(Type otherwise) { return {MoreBits, Q6_K, otherwise}; }

constexpr Mix mix(const char *name, uint32_t file_type, Type base, Rule attn_v, Rule ffn_down,
                  Rule attn_output, Type attn_output_8_experts) {
  return {name, file_type, base, attn_v, ffn_down, attn_output, attn_output_8_experts};
}

// A mix whose rules say nothing.
constexpr Mix pure(const char *name, uint32_t file_type, Type base) {
  return mix(name, file_type, base, all(base), all(base), all(base), base);
}

// name, general.file_type, base; attn_v; ffn_down; attn_output; attn_output with 8 experts
// clang-format off
constexpr Mix kMixes[] = {
    pure("F32",    0, F32),
    pure("F16",    1, F16),
    pure("BF16",   32, BF16),
    pure("Q8_0",   7, Q8_0),
    pure("Q4_0",   2, Q4_0),
    pure("Q4_1",   3, Q4_1),
    pure("Q5_0",   8, Q5_0),
    pure("Q5_1",   9, Q5_1),
    mix("Q2_K",   10, Q2_K, given(WideGqa, Q4_K, Q3_K), all(Q3_K), all(Q3_K), Q5_K),
    mix("Q3_K_S", 11, Q3_K, all(Q3_K), all(Q3_K), all(Q3_K), Q5_K),
    mix("Q3_K_M", 12, Q3_K, given(FirstTwo, Q5_K, Q4_K), given(FirstSixteenth, Q5_K, Q4_K), all(Q4_K), Q5_K),
    mix("Q3_K_L", 13, Q3_K, all(Q5_K), all(Q5_K), all(Q5_K), Q3_K),
    mix("Q4_K_S", 14, Q4_K, given(FirstFour, Q5_K, Q4_K), given(FirstEighth, Q5_K, Q4_K), all(Q4_K), Q5_K),
    mix("Q4_K_M", 15, Q4_K, more_q6(Q4_K), more_q6(Q4_K), all(Q4_K), Q5_K),
    pure("Q5_K_S", 16, Q5_K),
    mix("Q5_K_M", 17, Q5_K, more_q6(Q5_K), more_q6(Q5_K), all(Q5_K), Q5_K),
    pure("Q6_K",   18, Q6_K),
    mix("IQ4_NL", 25, IQ4_NL, given(WideGqa, Q5_K, IQ4_NL),
        given(FirstEighth, Q5_K, IQ4_NL), all(IQ4_NL), Q5_K),
    mix("IQ4_XS", 30, IQ4_XS, given(WideGqa, Q5_K, IQ4_XS),
        given(FirstEighth, Q5_K, IQ4_XS), all(IQ4_XS), Q5_K),
};
// clang-format on

// Matrices that stay as they are: positions, tiny mixers, lookup tables.
constexpr std::string_view kKept[] = {
    "position_embd",        "token_types",         "altup",          "laurel",
    "per_layer_model_proj", "ssm_conv1d",          "shortconv.conv", "attn_rel_b",
    "ffn_gate_tid2eid",     "indexer.k_proj",      "indexer.q_proj", "time_mix_first",
    "time_mix_w0",          "time_mix_w1",         "time_mix_w2",    "time_mix_v0",
    "time_mix_v1",          "time_mix_v2",         "time_mix_a0",    "time_mix_a1",
    "time_mix_a2",          "time_mix_g1",         "time_mix_g2",    "time_mix_decay_w1",
    "time_mix_decay_w2",    "time_mix_lerp_fused",
};

bool contains(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

bool kept(std::string_view name) {
  if (!name.ends_with("weight")) return true;
  for (const std::string_view part : kKept) {
    if (contains(name, part)) return true;
  }
  return false;
}

// N of "blk.N.…"; 0 elsewhere.
int layer_of(std::string_view name) {
  int layer = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

struct Place {  // the tensor's among those of its kind
  int index, count;
};

bool holds(When when, const MixModel &model, Place p) {
  const int eighth = p.count / 8;
  switch (when) {
    case Always:
      return true;
    case FirstTwo:
      return p.index < 2;
    case FirstFour:
      return p.index < 4;
    case FirstSixteenth:
      return p.index < p.count / 16;
    case FirstEighth:
      return p.index < eighth;
    case MoreBits:
      return p.index < eighth || p.index >= 7 * p.count / 8 || (p.index - eighth) % 3 == 2;
    case WideGqa:
      return model.n_kv_heads > 0 && model.n_heads / model.n_kv_heads >= 4;
  }
  return false;
}

Type pick(const Rule &rule, const MixModel &model, Place place) {
  return holds(rule.when, model, place) ? rule.then : rule.otherwise;
}

int rank_of(int layer, const std::vector<int> &layers) {
  const auto at = std::lower_bound(layers.begin(), layers.end(), layer);
  return static_cast<int>(at - layers.begin());
}

bool is_attn_v(std::string_view name) {
  return contains(name, "attn_v.weight") || contains(name, "attn_qkv.weight") ||
         contains(name, "attn_kv_b.weight");
}

bool divides_rows(Type type, int64_t row) { return row % traits(type).block_weights == 0; }

Type output_type(const Mix &mix, int64_t row) {
  return mix.base == Q8_0 || !divides_rows(mix.base, row) ? Q8_0 : Q6_K;
}

Type attn_v_type(const Mix &mix, const MixModel &model, int layer) {
  if (model.n_experts == 8) return Q8_0;
  const auto &layers = model.attn_v_layers;
  const Place place = layers.empty() ? Place{layer, model.n_layers}
                                     : Place{rank_of(layer, layers), static_cast<int>(layers.size())};
  const Type type = pick(mix.attn_v, model, place);
  // Models of 80 layers share each value matrix among 8 heads: more bits there cost next to nothing.
  if (model.n_layers == 80 && (type == Q3_K || type == Q4_K)) return Q5_K;
  return type;
}

// Counted among the layers that have one, but compared with the number of all layers; with experts, by layer.
Type ffn_down_type(const Mix &mix, const MixModel &model, int layer) {
  const bool by_layer = model.n_experts > 1 || model.ffn_down_layers.empty();
  return pick(mix.ffn_down, model,
              {by_layer ? layer : rank_of(layer, model.ffn_down_layers), model.n_layers});
}

Type by_rule(const Mix &mix, const MixModel &model, std::string_view name, int64_t row) {
  const int layer = layer_of(name);
  const bool embedding = name == "token_embd.weight" || name == "per_layer_token_embd.weight";
  if (name == "output.weight" || (embedding && model.tied_output)) return output_type(mix, row);
  if (embedding) return mix.base;
  if (is_attn_v(name)) return attn_v_type(mix, model, layer);
  if (contains(name, "attn_k.weight")) return model.n_experts == 8 ? Q8_0 : mix.base;
  if (contains(name, "attn_output.weight")) {
    return model.n_experts == 8 ? mix.attn_output_8_experts
                                : pick(mix.attn_output, model, {layer, model.n_layers});
  }
  if (contains(name, "ffn_down")) return ffn_down_type(mix, model, layer);
  return mix.base;
}

// IQ4_NL rather than Q4_0, which others take here: the same size, and a tenth less error.
Type fitting(Type type, int64_t row) {
  if (divides_rows(type, row)) return type;
  Type smaller = type;
  switch (type) {
    case Q2_K:
    case Q3_K:
    case IQ4_XS:
      smaller = IQ4_NL;
      break;
    case Q4_K:
      smaller = Q5_0;
      break;
    case Q5_K:
      smaller = Q5_1;
      break;
    case Q6_K:
      smaller = Q8_0;
      break;
    default:
      break;
  }
  return divides_rows(smaller, row) ? smaller : F16;
}

}  // namespace

void MixModel::survey(std::span<const std::string_view> tensor_names) {
  tied_output = true;
  std::set<int> attn_v, ffn_down;
  for (const std::string_view name : tensor_names) {
    if (name == "output.weight") tied_output = false;
    if (is_attn_v(name)) attn_v.insert(layer_of(name));
    if (contains(name, "ffn_down.weight")) ffn_down.insert(layer_of(name));
  }
  attn_v_layers.assign(attn_v.begin(), attn_v.end());
  ffn_down_layers.assign(ffn_down.begin(), ffn_down.end());
}

std::span<const Mix> mixes() { return kMixes; }

const Mix *find_mix(std::string_view scheme) {
  for (const Mix &mix : kMixes) {
    if (scheme == mix.name) return &mix;
  }
  return nullptr;
}

std::string mix_names() {
  std::string names;
  for (const Mix &mix : kMixes) {
    if (!names.empty()) names += ", ";
    names += mix.name;
  }
  return names;
}

Type type_for(const Mix &mix, const MixModel &model, std::string_view name, std::span<const int64_t> dims,
              Type stored) {
  if (!traits(stored).decode) return stored;
  int64_t rows = 1;
  for (size_t i = 1; i < dims.size(); ++i) rows = dims[i] > 1 ? dims[i] : rows;
  if (rows == 1 || contains(name, "_norm.weight") || contains(name, "ffn_gate_inp")) return F32;
  if (kept(name)) return stored;
  if (traits(mix.base).block_weights == 1) return mix.base;
  return fitting(by_rule(mix, model, name, dims[0]), dims[0]);
}

}  // namespace rz
