// Mirostat (Basu, Ramachandran, Keskar, Varshney: "Mirostat: a neural text decoding algorithm that directly
// controls perplexity", 2021): a feedback loop that keeps the surprise of the tokens drawn near a target.
#pragma once

#include <cstdint>

#include "backend/sampling_rules.h"
#include "engine/ranking.h"

namespace rz {

class Mirostat {
 public:
  // version 1 or 2; tau: target surprise in bits; eta: share of the error corrected per token.
  Mirostat(int32_t version, float tau, float eta);

  // Keeps the tokens that may be drawn now. log_total: ln of the sum of e^logit over the vocabulary.
  void truncate(Ranking &ranking, double log_total, int32_t n_vocab) const;
  // The token drawn had this logit.
  void observe(float logit, double log_total) { mu_ -= eta_ * (surprise(logit, log_total) - tau_); }

 private:
  int32_t version_;
  double tau_, eta_;
  double mu_;  // the largest surprise allowed, in bits
};

}  // namespace rz
