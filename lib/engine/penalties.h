// Stages that look back: what the timeline holds already becomes less probable.
#pragma once

#include <cstdint>
#include <span>

#include "backend/sampling_rules.h"
#include "engine/sampler.h"

namespace rz {

// Repeat penalty once per token in `window`, then presence once and frequency per occurrence. `counts`:
// (n_vocab) zeros, zeros again afterwards; ids outside the vocabulary are passed over.
void apply_penalties(const SamplingOptions &options, std::span<const int32_t> window,
                     std::span<int32_t> counts, std::span<float> logits);

// DRY ("don't repeat yourself"): where the window's end, n tokens long, stood before, the token that followed
// it there loses multiplier * base^(n - allowed_length), for n >= allowed_length and the longest such n. No
// token breaks a sequence. Time is linear in the window. `longest`: as counts above; `match`:
// (kLongestDryMatch) work space.
void apply_dry(const SamplingOptions &options, std::span<const int32_t> window, std::span<int32_t> longest,
               std::span<int32_t> match, std::span<float> logits);

}  // namespace rz
