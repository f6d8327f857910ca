// The shapes of published models, as their configurations state them: everything about a model that its speed
// and its memory depend on, and nothing of what it has learned.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rz::synth {

enum class Spelling : uint8_t { Bytes, SentencePiece };

struct SpecialToken {
  int32_t id;
  const char *text;
};

// How large a vocabulary is, and where its special tokens lie among the learned ones.
struct VocabularyShape {
  Spelling spelling;
  const char *pre;  // tokenizer.ggml.pre
  int32_t size;
  int32_t learned;  // tokens below this id are bytes and merges, those above are special or padding
  std::span<const SpecialToken> specials;
  int32_t bos, eos, unknown;  // unknown: -1 for none
  bool add_bos;
};

// How a model departs from the plainest of its family.
struct Variant {
  bool tied = false;  // no output matrix: the embeddings again
  int32_t experts = 0, experts_used = 0, expert_ffn = 0;
  int32_t window = 0;            // sliding window of the layers that have one
  float rope_base_window = 0;    // of those layers, where it is another
  float llama3_rope_factor = 0;  // Llama 3.1's stretching of slow rotations from a context of 8192; 0 = none
};

struct Shape {
  const char *name;          // "qwen3-0.6b"
  const char *architecture;  // general.architecture
  const VocabularyShape *vocabulary;
  int32_t layers, hidden, ffn, heads, kv_heads, head_dim;
  int32_t context;
  float rope_base, norm_eps;
  Variant variant;
};

std::span<const Shape> shapes();
const Shape *find_shape(std::string_view name);  // nullptr where unknown
std::string shape_names();                       // "qwen3-0.6b, qwen3-1.7b, ..."

// 512 tokens in the same spelling.
const VocabularyShape &tiny_vocabulary(Spelling spelling);

}  // namespace rz::synth
