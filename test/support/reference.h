// What every test of numbers compares with: a forward pass in double precision, written from the papers
// straight over metadata and tensors. It knows nothing of Spec, Plan or kernels and keeps no cache, so that
// no mistake there can be repeated here. Slow; for tiny models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/model_file.h"
#include "support/relative_error.h"

namespace rz::test {

struct ReferenceOptions {
  bool half_kv = false;  // keys and values rounded to f16, as a cache of that type holds them
  int32_t context = 0;   // opened for that many tokens (LongRoPE chooses by it); 0 = the model's own
};

// Logits of every position: (tokens, vocabulary). `tokens` lie at positions 0, 1, ...
std::vector<double> reference_logits(const ModelFile &file, std::span<const int32_t> tokens,
                                     const ReferenceOptions &options = {});
// What the output matrix is applied to, for embeddings: (tokens, width), after the last norm.
std::vector<double> reference_hidden(const ModelFile &file, std::span<const int32_t> tokens,
                                     const ReferenceOptions &options = {});

}  // namespace rz::test
