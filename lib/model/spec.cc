// Reads a model's dimensions from metadata. Ranges are wide enough for any model that can exist today and
// narrow enough that products of two of them fit 63 bits; whoever passes them is a broken or hostile file.
#include "model/spec.h"

#include <cinttypes>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace rz {
namespace {

constexpr int64_t kMaxLayers = 512;
constexpr int64_t kMaxWidth = 1 << 24;  // hidden, ffn
constexpr int64_t kMaxHeads = 1 << 14;  // times kMaxHeadDim: fits 31 bits
constexpr int64_t kMaxHeadDim = 1 << 14;
constexpr int64_t kMaxExperts = 1 << 14;
constexpr int64_t kMaxContext = 1 << 30;
constexpr int64_t kMaxVocab = INT32_MAX;

// Reads the keys of one family: `<arch>.<name>`.
class Keys {
 public:
  Keys(const Metadata &metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string full(const char *name) const { return architecture_ + "." + name; }
  bool has(const char *name) const { return metadata_.find(full(name)) != nullptr; }

  // Some families give one number a layer here. Where all are equal that is the same model; where not, it is
  // one that these families have no form for.
  int32_t integer(const char *name, int64_t low, int64_t high) const {
    const std::string key = full(name);
    const Value *value = metadata_.find(key);
    if (!value || value->type != ValueType::Array) {
      return static_cast<int32_t>(metadata_.integer(key, low, high));
    }
    const ArrayValue &each = metadata_.array(key);
    if (each.count == 0) fail(Status::Format, "%s: expected an integer, found an empty array", key.c_str());
    check_integers(key, each);
    const int64_t first = each.integer(0);
    for (uint64_t i = 1; i < each.count; ++i) {
      if (each.integer(i) != first) {
        fail(Status::Unsupported, "%s: expected one value for all layers, found %" PRId64 " and %" PRId64,
             key.c_str(), first, each.integer(i));
      }
    }
    if (first < low || first > high) {
      fail(Status::Format, "%s: expected %" PRId64 " to %" PRId64 ", found %" PRId64, key.c_str(), low, high,
           first);
    }
    return static_cast<int32_t>(first);
  }
  int32_t integer_or(const char *name, int64_t low, int64_t high, int32_t absent) const {
    return has(name) ? integer(name, low, high) : absent;
  }

  float positive(const char *name) const {
    const std::string key = full(name);
    const double number = metadata_.number(key);
    using Float = std::numeric_limits<float>;
    if (number < static_cast<double>(Float::min()) || number > static_cast<double>(Float::max())) {
      fail(Status::Format, "%s: expected a number above 0 that a float holds, found %g", key.c_str(), number);
    }
    return static_cast<float>(number);
  }
  float positive_or(const char *name, float absent) const { return has(name) ? positive(name) : absent; }

 private:
  static void check_integers(const std::string &key, const ArrayValue &array) {
    switch (array.element) {
      case ValueType::String:
      case ValueType::F32:
      case ValueType::F64:
      case ValueType::Array:
        fail(Status::Format, "%s: expected an integer, found an array of %s", key.c_str(),
             value_type_name(array.element));
      default:
        return;
    }
  }

  const Metadata &metadata_;
  std::string architecture_;
};

void read_heads(const Keys &keys, Spec &spec) {
  spec.heads = keys.integer("attention.head_count", 1, kMaxHeads);
  spec.kv_heads = keys.integer_or("attention.head_count_kv", 1, kMaxHeads, spec.heads);
  if (spec.heads % spec.kv_heads != 0) {
    fail(Status::Format, "%s: expected a divisor of the %d heads, found %d",
         keys.full("attention.head_count_kv").c_str(), spec.heads, spec.kv_heads);
  }
  spec.head_dim = keys.integer_or("attention.key_length", 1, kMaxHeadDim, 0);
  if (spec.head_dim == 0) {
    if (spec.hidden % spec.heads != 0) {
      fail(Status::Format, "%s: expected it, as %d heads do not divide the width of %d; found nothing",
           keys.full("attention.key_length").c_str(), spec.heads, spec.hidden);
    }
    spec.head_dim = spec.hidden / spec.heads;
  }
  spec.value_dim = keys.integer_or("attention.value_length", 1, kMaxHeadDim, spec.head_dim);
  spec.rope_dims = keys.integer_or("rope.dimension_count", 2, spec.head_dim, spec.head_dim / 2 * 2);
  if (spec.rope_dims % 2 != 0) {
    fail(Status::Format, "%s: expected an even number, found %d", keys.full("rope.dimension_count").c_str(),
         spec.rope_dims);
  }
}

void read_experts(const Keys &keys, Spec &spec) {
  spec.experts = keys.integer_or("expert_count", 0, kMaxExperts, 0);
  if (spec.experts == 0) {
    spec.ffn = keys.integer("feed_forward_length", 1, kMaxWidth);
    return;
  }
  spec.experts_used = keys.integer("expert_used_count", 1, spec.experts);
  spec.ffn = keys.integer_or("feed_forward_length", 1, kMaxWidth, 0);
  spec.expert_ffn = spec.ffn ? keys.integer_or("expert_feed_forward_length", 1, kMaxWidth, spec.ffn)
                             : keys.integer("expert_feed_forward_length", 1, kMaxWidth);
}

float read_norm_eps(const Keys &keys) {
  const char *rms = "attention.layer_norm_rms_epsilon", *layer = "attention.layer_norm_epsilon";
  if (keys.has(rms) || !keys.has(layer)) return keys.positive(rms);
  return keys.positive(layer);
}

Pooling read_pooling(const Metadata &metadata, const Keys &keys) {
  const int64_t number = metadata.integer_or(keys.full("pooling_type"), 0, UINT32_MAX, 0);
  constexpr Pooling kByNumber[] = {Pooling::None, Pooling::Mean, Pooling::First, Pooling::Last};
  if (number >= 4) {
    fail(Status::Unsupported, "%s: expected 0 (none), 1 (mean), 2 (first) or 3 (last), found %" PRId64,
         keys.full("pooling_type").c_str(), number);
  }
  return kByNumber[number];
}

int32_t read_vocab_size(const Metadata &metadata, const Keys &keys) {
  if (const ArrayValue *tokens = metadata.find_array("tokenizer.ggml.tokens")) {
    if (tokens->count > static_cast<uint64_t>(kMaxVocab)) {
      fail(Status::Limit, "tokenizer.ggml.tokens: expected at most %" PRId64 " tokens, found %" PRIu64,
           kMaxVocab, tokens->count);
    }
    return static_cast<int32_t>(tokens->count);
  }
  return keys.integer_or("vocab_size", 1, kMaxVocab, 0);
}

int32_t read_layers(const Metadata &metadata, const Keys &keys) {
  const std::string key = keys.full("block_count");
  const int64_t layers = metadata.integer(key, INT64_MIN, INT64_MAX);
  if (layers < 1 || layers > kMaxLayers) {
    fail(Status::Limit, "%s: expected 1 to %" PRId64 ", found %" PRId64, key.c_str(), kMaxLayers, layers);
  }
  return static_cast<int32_t>(layers);
}

}  // namespace

Spec read_spec(const Metadata &metadata, int32_t context) {
  Spec spec;
  spec.architecture = metadata.string("general.architecture");
  spec.name = metadata.string_or("general.name", "");
  const Keys keys(metadata, spec.architecture);

  spec.layers = read_layers(metadata, keys);
  spec.hidden = keys.integer("embedding_length", 1, kMaxWidth);
  spec.vocab = read_vocab_size(metadata, keys);
  spec.trained_context = keys.integer("context_length", 1, kMaxContext);
  spec.context = context > 0 ? context : spec.trained_context;
  read_heads(keys, spec);
  read_experts(keys, spec);
  spec.norm_eps = read_norm_eps(keys);
  spec.attention_scale = keys.positive_or(
      "attention.scale", static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_dim))));
  spec.window = keys.integer_or("attention.sliding_window", 0, INT32_MAX, 0);
  spec.pooling = read_pooling(metadata, keys);
  if (!metadata.boolean_or(keys.full("attention.causal"), true)) {
    fail(Status::Unsupported, "%s: expected true, found false", keys.full("attention.causal").c_str());
  }
  return spec;
}

}  // namespace rz
