// How a generation's tokens are chosen, for the engine's sampler and for devices that have one of their own.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace rz
