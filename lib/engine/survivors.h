// The tokens that may still be drawn, and the stages that thin them out. Probabilities are those of a softmax
// over the survivors; temperature comes last, so no stage before the draw knows it.
#pragma once

#include <cstdint>
#include <span>

#include "engine/ranking.h"
#include "engine/softmax.h"

namespace rz {

class Survivors {
 public:
  explicit Survivors(int32_t n_vocab) : ranking_(n_vocab) {}

  // Everything. `max` is max_logit(logits); the logits are work space until the draw.
  void reset(std::span<float> logits, float max);

  void top_k(int32_t k);      // the k most probable
  void typical(float p);      // those whose surprise is nearest to the entropy, until their sum reaches p
  void top_p(float p);        // the most probable, until their sum reaches p
  void min_p(float p);        // those at least p times as probable as the best
  void xtc(float threshold);  // of those that reach the threshold only the least probable, when there are two
  int32_t draw(float temperature, float u);  // u in [0, 1) picks from the most probable down

  Ranking &ranking() { return ranking_; }  // for stages that decide for themselves

 private:
  float weight(size_t rank) const { return exp_weight(ranking_.logit(rank) - max_); }
  // exp((logit - max) * scale) and its weighted sum over the survivors
  ExpSums sums(float scale);

  std::span<float> logits_;  // (n_vocab)
  Ranking ranking_;
  float max_ = 0;  // the best survivor's logit
};

}  // namespace rz
