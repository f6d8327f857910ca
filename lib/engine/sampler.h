// From logits to a token. One semantics for every device: the stages in the order that rz.h promises, ties to
// the lowest id, and a draw that depends only on (seed, step) and the distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/mirostat.h"
#include "engine/survivors.h"

namespace rz {

// rz_generate_options with its defaults put in: every field means what it says.
struct SamplingOptions {
  float temperature = 0;                      // 0 = greedy
  int32_t top_k = 0;                          // 0 = off, as for the others
  float top_p = 1, min_p = 0, typical_p = 1;  // 1, 0, 1 = off
  float repeat_penalty = 1;
  int32_t repeat_last_n = 64;  // how much history the penalties and dry look at; -1 = all
  float presence_penalty = 0, frequency_penalty = 0;
  float dry_multiplier = 0, dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  float xtc_probability = 0, xtc_threshold = 0.1f;
  int32_t mirostat = 0;  // 0, 1, 2; replaces top_k .. xtc
  float mirostat_tau = 5, mirostat_eta = 0.1f;
  uint64_t seed = 0;
  struct Bias {
    int32_t token;
    float bias;
  };
  std::vector<Bias> biases;
  int32_t logprobs = 0;  // alternatives reported per token
  // Throws Argument naming the field, its range and what was found; token ids are checked against n_vocab.
  void check(int32_t n_vocab) const;
};

struct TokenLogprob {
  int32_t token;
  float logprob;
};

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
