// A model's dimensions and switches, read from metadata and checked once. Everything later trusts these
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/model_file.h"

namespace rz {

enum class NormKind : uint8_t { Rms, Layer };
enum class Activation : uint8_t { Silu, GeluTanh };
enum class Pooling : uint8_t { None, Mean, First, Last };

// How q and k are turned by their position.
enum class RopeStyle : uint8_t {
  None,
  Adjacent,  // pairs (2i, 2i + 1)
  Halves     // pairs (i, i + dims / 2)
};

// Angles of one kind of rotary embedding: pair i turns by position * frequencies[i]; the turned values are
// multiplied by `magnitude` (1 but for YaRN and LongRoPE). Elements past 2 * frequencies.size() stay as they
// are.
struct Rope {
  RopeStyle style = RopeStyle::None;
  std::vector<double> frequencies;  // (dims / 2)
  float magnitude = 1;
};

struct Spec {
  std::string architecture, name;
  int32_t layers = 0, hidden = 0, ffn = 0, vocab = 0;
  int32_t heads = 0, kv_heads = 0;
  int32_t head_dim = 0;   // of q and k: attention.key_length, or hidden / heads where the file has none
  int32_t value_dim = 0;  // of v: attention.value_length, likewise
  int32_t rope_dims = 0;  // leading elements of a head that rope turns; even, <= head_dim
  int32_t experts = 0, experts_used = 0, expert_ffn = 0;
  int32_t trained_context = 0;  // what the file says
  int32_t context = 0;  // what this model is opened for, <= trained_context unless the host asks for more
  float norm_eps = 0;
  float attention_scale = 0;                       // 1 / sqrt(head_dim) unless the family says otherwise
  float attention_softcap = 0, final_softcap = 0;  // 0 = off
  int32_t window = 0;                              // position p sees p - window + 1 .. p; 0 = everything
  Pooling pooling = Pooling::None;                 // what the file names for embeddings
};

// The keys that all families share: `<arch>.block_count` and so on, each with its range. `context` is the
// host's wish, 0 = the model's own. Throws Format or Limit, naming key, expected, found.
Spec read_spec(const Metadata &metadata, int32_t context);

// The rotary embedding that `<arch>.rope.*` describes: base, dimensions, linear or YaRN scaling, and optional
// frequency factors (a tensor of dims / 2 divisors; llama 3.1 and LongRoPE). `factors` may be null.
Rope read_rope(const Metadata &metadata, const Spec &spec, RopeStyle style, const float *factors = nullptr,
               int64_t n_factors = 0);
// The same with nothing but a base: frequencies base^(-2i / dims). Throws Format, naming `key`, for a base
// that is none.
Rope plain_rope(const std::string &key, double base, int32_t dims, RopeStyle style);

}  // namespace rz
