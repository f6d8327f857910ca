// From logits to a token. One semantics for every device: the stages in the order that rz.h promises, ties to
// the lowest id, and a draw that depends only on (seed, step) and the distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/sampling_options.h"
#include "engine/mirostat.h"
#include "engine/survivors.h"

namespace rz {

struct Sampled {
  int32_t token;
  float logprob;                      // natural log, of the model's own distribution (before every stage)
  std::span<const TokenLogprob> top;  // `logprobs` most probable ones, best first; valid until the next call
};

class Sampler {
 public:
  // `options` have passed check(n_vocab). Allocates all it will need: sample() allocates nothing.
  Sampler(SamplingOptions options, int32_t n_vocab);

  // Chooses the token of step `step` (0 for the first one generated). `logits` (n_vocab) are used as work
  // space. `history`: all tokens of the timeline so far. Throws Numeric when a logit is NaN or +infinity, or
  // all are -infinity.
  Sampled sample(std::span<float> logits, std::span<const int32_t> history, uint64_t step);

  const SamplingOptions &options() const { return options_; }

 private:
  void list_top(std::span<float> logits, float max, double log_total);
  void change_logits(std::span<float> logits, std::span<const int32_t> history);
  int32_t draw(std::span<float> logits, float max, uint64_t step);

  SamplingOptions options_;
  bool penalizes_, dries_;
  Survivors survivors_;
  Mirostat mirostat_;
  std::vector<TokenLogprob> top_;
  std::vector<float> own_;  // (n_vocab) logits before the stages that change them; empty without such a stage
  std::vector<int32_t> counts_;  // (n_vocab) work space of the penalties, zero between calls
  std::vector<int32_t> match_;   // (kLongestDryMatch) work space of dry
};

}  // namespace rz
