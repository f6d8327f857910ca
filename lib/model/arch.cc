// The table of architectures. A new family is one file in arch/ and one row here.
#include "model/arch.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "model/arch/families.h"

namespace rz {
namespace {

constexpr Architecture kArchitectures[] = {
    {"llama", build_llama},           {"mistral", build_llama},     {"qwen2", build_qwen2},
    {"qwen3", build_qwen3},           {"qwen3moe", build_qwen3moe}, {"gemma2", build_gemma2},
    {"gemma3", build_gemma3},         {"phi3", build_phi3},         {"gpt2", build_gpt2},
    {"starcoder2", build_starcoder2},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture &find_architecture(std::string_view name) {
  std::string known;
  for (const Architecture &architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    if (!known.empty()) known += ", ";
    known += architecture.name;
  }
  fail(Status::Unsupported, "general.architecture: expected one of %s; found %.*s", known.c_str(),
       static_cast<int>(std::min<size_t>(name.size(), 64)), name.data());
}

}  // namespace rz
