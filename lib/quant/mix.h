// The named mixes of rz_quantize. "Q4_K_M" is not a block format but an agreement on which tensor gets which:
// most get Q4_K, those that hurt most get Q6_K, the small ones are not touched. The agreements here are those
// that files with these names follow everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/type.h"

namespace rz {

constexpr uint32_t kQuantizationVersion = 2;  // general.quantization_version of a file with block formats

// Where a rule lets its first type win over its second.
enum class When : uint8_t {
  Always,
  FirstTwo,        // layers 0 and 1
  FirstFour,       // layers 0 to 3
  FirstSixteenth,  // of the layers
  FirstEighth,
  MoreBits,  // the first and last eighth of the layers, and every third between
  WideGqa,   // four or more query heads share a key-value head
};

struct Rule {
  When when;
  Type then, otherwise;
};

struct Mix {
  const char *name;    // "Q4_K_M"
  uint32_t file_type;  // general.file_type
  Type base;           // what a matrix gets that no rule speaks of
  Rule attn_v;         // also of fused q, k and v
  Rule ffn_down;
  Rule attn_output;
  Type attn_output_8_experts;  // of models with exactly 8 experts, whose attention is a small part
};

// What the choice depends on besides the tensor.
struct MixModel {
  int n_layers = 0;
  int n_heads = 0, n_kv_heads = 0;
  int n_experts = 0;
  bool tied_output = false;  // the file has no output.weight: token_embd.weight is the output matrix too
  // Ascending layers that have attention values, and a dense ffn_down: in hybrid models not all do, and rules
  // count those that do. Filled by survey().
  std::vector<int> attn_v_layers, ffn_down_layers;

  void survey(std::span<const std::string_view> tensor_names);  // sets the last three
};

std::span<const Mix> mixes();
const Mix *find_mix(std::string_view scheme);  // nullptr where unknown
std::string mix_names();                       // for messages: "F32, F16, ..., Q6_K"

// The type that the tensor gets. `dims` as in the file, dims[0] the length of a row; `stored` is its type
// now. Norms, routers and vectors get F32. Integers, and matrices that are too small or too delicate to be
// worth it, keep `stored`. A row that is no multiple of the type's block gets a type of about the same size
// with smaller blocks.
Type type_for(const Mix &mix, const MixModel &model, std::string_view name, std::span<const int64_t> dims,
              Type stored);

}  // namespace rz
