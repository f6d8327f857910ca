// The tokens that may still be drawn and the stages that thin them out, as the engine's Survivors and
// Mirostat do. Weights of 512 ranks are computed together; one thread then adds them up in the order of the
// ranks, because the last bits of a sum decide where a stage stops.
#pragma once

#include "cuda/kernels/sample_ranking.h"

namespace rz::cuda {

constexpr int kAdded = 8;  // weights added before the sum is looked at: sums of them never fall

// Adds v[0], v[1], ... in order until reached(sum), and returns where that was, or n.
template <class Reached>
RZ_DEVICE int32_t add_until(double &sum, const float *v, int32_t n, Reached reached) {
  int32_t i = 0;
  RZ_NO_UNROLL
  for (; i + kAdded <= n; i += kAdded) {
    double next = sum;
    RZ_UNROLL
    for (int j = 0; j < kAdded; ++j) next += static_cast<double>(v[i + j]);
    if (reached(next)) break;
    sum = next;
  }
  RZ_NO_UNROLL
  for (; i < n; ++i) {
    sum += static_cast<double>(v[i]);
    if (reached(sum)) return i;
  }
  return n;
}

// The first i with v[i] != 0, or n.
RZ_DEVICE int32_t first_set(const float *v, int32_t n) {
  int32_t i = 0;
  RZ_NO_UNROLL
  for (; i + kAdded <= n; i += kAdded) {
    bool any = false;
    RZ_UNROLL
    for (int j = 0; j < kAdded; ++j) any |= v[i + j] != 0;
    if (any) break;
  }
  while (i < n && v[i] == 0) ++i;
  return i;
}

struct Survivors {
  Ranking ranking;
  float *logits;  // (n_vocab); xtc may strike some out, then they are a copy
  float max;      // the best survivor's logit
  ExpSums all;    // of all logits at scale 1, while `all_known`
  bool all_known;

  RZ_DEVICE float weight(int32_t rank) const { return exp_weight(ranking.logit(rank) - max); }

  // weigh(rank) by all threads for tiles of ranks from `first` on, then step(weights, n) by one, which
  // returns where in them it stops, or n. Returns the rank of that, or -1 where ranks end.
  template <class Weigh, class Step>
  RZ_DEVICE int32_t walk(int32_t first, Weigh weigh_rank, Step step) {
    SampleShared &s = shared<SampleShared>();
    RZ_NO_UNROLL
    for (int32_t i = first; ranking.has(i);) {
      const int32_t n = ranking.size() - i < kTile ? ranking.size() - i : kTile;
      if (thread() < n) s.tile[0][thread()] = weigh_rank(i + thread());
      sync();
      if (thread() == 0) s.stop = step(s.tile[0], n);
      sync();
      if (s.stop < n) return i + s.stop;
      i += n;
    }
    return -1;
  }

  // exp((logit - max) * scale) and its weighted sum over the survivors
  RZ_DEVICE ExpSums sums(float scale) {
    if (ranking.is_list()) return list_sums(scale);
    if (scale == 1 && all_known) return all;
    const ExpSums found = sums_of_logits(logits, ranking.n_vocab, max, scale);
    if (scale == 1) {
      all = found;
      all_known = true;
    }
    return found;
  }

  RZ_DEVICE_CALLED ExpSums list_sums(float scale) {
    SampleShared &s = shared<SampleShared>();
    ExpSums sums{0, 0};
    for (int32_t i = 0; i < ranking.size(); i += kTile) {
      const int32_t n = ranking.size() - i < kTile ? ranking.size() - i : kTile;
      if (thread() < n) {
        const float x = (ranking.logit(i + thread()) - max) * scale;
        s.tile[0][thread()] = exp_weight(x);
        s.tile[1][thread()] = x;
      }
      sync();
      if (thread() == 0) s.sums[0] = add_in_order(sums.weights, s.tile[0], n);
      if (thread() == kWarp) {
        for (int j = 0; j < n; ++j) {
          const double w = static_cast<double>(s.tile[0][j]);
          if (w > 0) sums.weighted += w * static_cast<double>(s.tile[1][j]);
        }
        s.sums[1] = sums.weighted;
      }
      sync();
      sums = {s.sums[0], s.sums[1]};
    }
    return sums;
  }

  RZ_DEVICE void top_k(int32_t k) {
    if (k < ranking.n_vocab && ranking.has(k - 1)) ranking.keep_first(k);
  }

  // The first ones of the ranking until their weights reach the target.
  RZ_DEVICE_CALLED void keep_share(double target) {
    double sum = 0;
    const int32_t last = walk(
        0, [&](int32_t rank) { return weight(rank); },
        [&](const float *w, int32_t n) {
          return add_until(sum, w, n, [&](double s) { return s >= target; });
        });
    if (last >= 0) ranking.keep_first(last + 1);
  }

  RZ_DEVICE void typical(float p) {
    const ExpSums s = sums(1);
    // -ln p_i = ln(total) - x_i equals the entropy where x_i is the weighted mean.
    ranking.rank_by_distance(max + static_cast<float>(s.weighted / s.weights));
    keep_share(static_cast<double>(p) * s.weights);
    ranking.rank_by_logit();
    max = ranking.logit(0);
  }

  RZ_DEVICE void top_p(float p) { keep_share(static_cast<double>(p) * sums(1).weights); }

  // The first rank from `first` on for which out(rank), or -1.
  template <class Out>
  RZ_DEVICE int32_t first_out(int32_t first, Out out) {
    return walk(
        first, [&](int32_t rank) { return out(rank) ? 1.0f : 0.0f; }, first_set);
  }

  RZ_DEVICE void min_p(float p) {
    const int32_t end = first_out(1, [&](int32_t rank) { return weight(rank) < p; });
    if (end >= 0) ranking.keep_first(end);
  }

  RZ_DEVICE void xtc(float threshold) {
    const double limit = static_cast<double>(threshold) * sums(1).weights;
    int32_t n = first_out(0, [&](int32_t rank) { return static_cast<double>(weight(rank)) < limit; });
    if (n < 0) n = ranking.size();
    if (n < 2) return;
    for (int32_t i = thread(); i + 1 < n; i += kSampleThreads) logits[ranking.token(i)] = -kInfinity;
    sync();
    all_known = false;
    ranking.drop_first(n - 1);
    max = ranking.logit(0);
  }

  // u in [0, 1) picks from the most probable down. Where rounding leaves the sum just below the target, the
  // last token with any weight is it.
  RZ_DEVICE int32_t draw(float temperature, float u) {
    SampleShared &s = shared<SampleShared>();
    const float inverse = 1 / temperature, scale = inverse < kLargest ? inverse : kLargest;
    const double target = static_cast<double>(u) * sums(scale).weights;
    double sum = 0;
    int32_t passed = 0, chosen = 0;  // ranks
    walk(
        0, [&](int32_t rank) { return exp_weight((ranking.logit(rank) - max) * scale); },
        [&](const float *w, int32_t n) {
          const int32_t i = add_until(sum, w, n, [&](double s) { return s > target; });
          int32_t some = i < n ? i + 1 : n;  // those without weight are last
          while (some > 0 && w[some - 1] == 0) --some;
          if (some > 0) chosen = passed + some - 1;
          passed += n;
          return some < n ? some : i;
        });
    if (thread() == 0) s.choice = ranking.token(chosen);
    sync();
    return s.choice;
  }

  // ---- mirostat: what may be drawn has a surprise of `mu` bits at most, or a mean of that by Zipf's law
  RZ_DEVICE void truncate(int32_t version, double mu, double log_total) {
    if (ranking.n_vocab < 2) return;
    if (version == 1) {
      const int32_t keep = zipf_count(zipf_exponent(), mu, ranking.n_vocab);
      if (keep < ranking.n_vocab && ranking.has(keep - 1)) ranking.keep_first(keep);
      return;
    }
    const int32_t end =
        first_out(1, [&](int32_t rank) { return surprise(ranking.logit(rank), log_total) > mu; });
    if (end >= 0) ranking.keep_first(end);
  }

  // Least-squares slope of ln p over ln rank. The products are computed together and added in order.
  RZ_DEVICE_CALLED double zipf_exponent() {
    SampleShared &s = shared<SampleShared>();
    int32_t pairs = 0;
    while (pairs + 1 < kZipfTokens && ranking.has(pairs + 1)) ++pairs;
    const int32_t i = thread();
    double t = 0, b = 0;
    if (i < pairs) {
      t = natural_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
      b = static_cast<double>(ranking.logit(i)) - static_cast<double>(ranking.logit(i + 1));
    }
    double *terms = reinterpret_cast<double *>(s.keys);  // products, then squares
    sync();
    if (i < pairs) {
      terms[i] = t * b;
      terms[kZipfTokens + i] = t * t;
    }
    sync();
    if (i == 0) {
      double products = 0, squares = 0;
      for (int32_t j = 0; j < pairs; ++j) {
        products += terms[j];
        squares += terms[kZipfTokens + j];
      }
      s.sums[0] = squares > 0 ? products / squares : 1;
    }
    sync();
    return s.sums[0];
  }
};

}  // namespace rz::cuda
