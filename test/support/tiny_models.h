// Tiny models with random weights, so that tests need no file from outside. Every family the library knows,
// in odd shapes on purpose: heads * head_dim is not the width, rows are no round numbers, kv heads are
// shared. A TinyFile can be changed before it is written: that is how bad files are made from a good one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quant/type.h"

namespace rz::test {

struct TinyModel {
  std::string architecture = "llama";
  Type type = Type::F32;  // of the matrices whose rows are whole blocks of it; others: see below
  int32_t layers = 2, hidden = 96, heads = 4, kv_heads = 2, head_dim = 32, ffn = 160;
  int32_t vocab = 389;  // at least 300
  int32_t experts = 0, experts_used = 0, expert_ffn = 0;
  int32_t context = 256, window = 0;
  int32_t rope_dims = 0;          // 0 = head_dim
  std::string rope_scaling = {};  // "", "linear", "yarn" (factor 4 of context / 4)
  bool rope_factors = false;      // llama: rope_freqs; phi3: LongRoPE, trained for context / 4
  bool tied = false;              // no output matrix: the embeddings again
  bool biases = false;            // llama, starcoder2: those a file may leave out
  uint64_t seed = 1;
};

// Shapes that suit the family and the type: experts where it has them, 256-wide rows for K-quants (with a
// feed-forward whose down projection is not, so that it falls back as real files do).
TinyModel tiny_model(const std::string &architecture, Type type = Type::F32);

// All families, by name.
const std::vector<std::string> &tiny_architectures();

using TinyValue = std::variant<uint32_t, uint64_t, int32_t, float, bool, std::string,
                               std::vector<std::string>, std::vector<float>, std::vector<int32_t>>;

struct TinyTensor {
  std::string name;
  Type type = Type::F32;
  std::vector<int64_t> dims;     // row length first
  std::vector<std::byte> bytes;  // as in the file
};

struct TinyFile {
  std::vector<std::pair<std::string, TinyValue>> metadata;
  std::vector<TinyTensor> tensors;

  void set(const std::string &key, TinyValue value);  // replaces or adds
  void remove(const std::string &key);
  TinyTensor &tensor(const std::string &name);  // throws where there is none
  void remove_tensor(const std::string &name);
  void add_tensor(const std::string &name, Type type, std::vector<int64_t> dims,
                  const std::vector<float> &weights);
  void write(const std::filesystem::path &path) const;
};

// The vocabulary is SentencePiece-like for llama, gemma and phi3 (bytes <0x00> to <0xFF> from id 3, spaces as
// U+2581), byte-level BPE for the others; both can spell any text. BOS and EOS are set.
TinyFile make_tiny_model(const TinyModel &what);
// The same as a file of its own in `folder`. Returns its path.
std::filesystem::path write_tiny_model(const TinyModel &what, const std::filesystem::path &folder);

}  // namespace rz::test
