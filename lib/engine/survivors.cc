// Every stage walks ranks from the best and stops as early as it can; sums over few survivors are taken in
// rank order, sums over the whole vocabulary by the vector pass.
#include "engine/survivors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rz {

void Survivors::reset(std::span<float> logits, float max) {
  logits_ = logits;
  max_ = max;
  ranking_.rank(logits, max);
}

ExpSums Survivors::sums(float scale) {
  if (!ranking_.is_list()) return exp_sums(logits_, max_, scale);
  ExpSums result;
  for (size_t i = 0; ranking_.has(i); ++i) {
    const float x = (ranking_.logit(i) - max_) * scale, w = exp_weight(x);
    result.weights += static_cast<double>(w);
    if (w > 0) result.weighted += static_cast<double>(w) * static_cast<double>(x);
  }
  return result;
}

void Survivors::top_k(int32_t k) {
  const size_t n = static_cast<size_t>(k);
  if (n < logits_.size() && ranking_.has(n - 1)) ranking_.keep_first(n);
}

void Survivors::typical(float p) {
  const ExpSums all = sums(1);
  // -ln p_i = ln(total) - x_i equals the entropy where x_i is the weighted mean.
  ranking_.rank_by_distance(max_ + static_cast<float>(all.weighted / all.weights));
  const double target = static_cast<double>(p) * all.weights;
  double sum = 0;
  for (size_t i = 0; ranking_.has(i); ++i) {
    sum += static_cast<double>(weight(i));
    if (sum >= target) {
      ranking_.keep_first(i + 1);
      break;
    }
  }
  ranking_.rank_by_logit();
  ranking_.has(0);
  max_ = ranking_.logit(0);
}

void Survivors::top_p(float p) {
  const double target = static_cast<double>(p) * sums(1).weights;
  double sum = 0;
  for (size_t i = 0; ranking_.has(i); ++i) {
    sum += static_cast<double>(weight(i));
    if (sum >= target) return ranking_.keep_first(i + 1);
  }
}

void Survivors::min_p(float p) {
  for (size_t i = 1; ranking_.has(i); ++i) {
    if (weight(i) < p) return ranking_.keep_first(i);
  }
}

void Survivors::xtc(float threshold) {
  const double limit = static_cast<double>(threshold) * sums(1).weights;
  size_t n = 0;
  while (ranking_.has(n) && static_cast<double>(weight(n)) >= limit) ++n;
  if (n < 2) return;
  // The sums over the whole vocabulary must not count them either.
  for (size_t i = 0; i + 1 < n; ++i) {
    logits_[static_cast<size_t>(ranking_.token(i))] = -std::numeric_limits<float>::infinity();
  }
  ranking_.drop_first(n - 1);
  max_ = ranking_.logit(0);
}

int32_t Survivors::draw(float temperature, float u) {
  const float scale = std::min(1 / temperature, std::numeric_limits<float>::max());
  const double target = static_cast<double>(u) * sums(scale).weights;
  double sum = 0;
  int32_t token = -1;
  // Where rounding leaves the sum just below the target, the last token with any weight is it.
  for (size_t i = 0; ranking_.has(i); ++i) {
    const float w = exp_weight((ranking_.logit(i) - max_) * scale);
    if (w == 0) break;
    token = ranking_.token(i);
    sum += static_cast<double>(w);
    if (sum > target) break;
  }
  return token;
}

}  // namespace rz
