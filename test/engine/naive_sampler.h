// The sampling stages written down plainly in double precision, whole vocabulary and full sort at every
// stage: what the real ones are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "engine/sampler.h"

namespace rz::test {

class NaiveSampler {
 public:
  struct Candidate {
    int32_t token;
    double logit, probability;
  };

  explicit NaiveSampler(const SamplingOptions &options) : o_(options), mu_(2.0 * o_.mirostat_tau) {}

  // Survivors of all stages, best first, with the probabilities of the draw. `chance` decides about xtc.
  std::vector<Candidate> distribution(const std::vector<float> &logits, const std::vector<int32_t> &history,
                                      float chance) {
    margin = 1;
    std::vector<Candidate> c;
    for (size_t i = 0; i < logits.size(); ++i) c.push_back({static_cast<int32_t>(i), logits[i], 0});
    for (const auto &b : o_.biases) c[static_cast<size_t>(b.token)].logit += b.bias;
    look_back(c, history);
    std::erase_if(c, [](const Candidate &x) { return std::isinf(x.logit); });
    sort(c);
    softmax(c, 1);
    full_ = c;
    if (o_.temperature == 0) {
      c.resize(1);
      c[0].probability = 1;
      return c;
    }
    if (o_.mirostat == 2) {
      size_t n = 1;
      while (n < c.size() && surprise(c[n].probability) <= mu_) ++n;
      for (const Candidate &x : c) note(surprise(x.probability), mu_);
      c.resize(n);
    } else if (o_.mirostat == 0) {
      thin_out(c, chance);
    }
    softmax(c, o_.temperature);
    return c;
  }

  // The token that u picks; the margin tells how near that was to another.
  int32_t draw(const std::vector<Candidate> &c, float u) {
    double sum = 0;
    for (const Candidate &x : c) {
      sum += x.probability;
      note(sum, u);
      if (sum > static_cast<double>(u)) return x.token;
    }
    return c.back().token;
  }
  void observe(int32_t token) {
    for (const Candidate &x : full_) {
      if (x.token == token) mu_ -= o_.mirostat_eta * (surprise(x.probability) - o_.mirostat_tau);
    }
  }

  double margin = 1;  // smallest distance of a number to the bound it was compared with

 private:
  static double surprise(double p) { return -std::log2(p); }
  void note(double a, double b) { margin = std::min(margin, std::fabs(a - b)); }

  static void sort(std::vector<Candidate> &c) {
    std::sort(c.begin(), c.end(), [](const Candidate &a, const Candidate &b) {
      return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    });
  }
  static void softmax(std::vector<Candidate> &c, double temperature) {
    double total = 0;
    for (Candidate &x : c) total += x.probability = std::exp((x.logit - c[0].logit) / temperature);
    for (Candidate &x : c) x.probability /= total;
  }
  // Keeps the first ones until their probabilities reach p.
  void keep_share(std::vector<Candidate> &c, float p) {
    double sum = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      sum += c[i].probability;
      note(sum, p);
      if (sum >= static_cast<double>(p)) return c.resize(i + 1);
    }
  }

  void look_back(std::vector<Candidate> &c, const std::vector<int32_t> &history) const {
    const size_t n = o_.repeat_last_n < 0 ? history.size()
                                          : std::min(history.size(), static_cast<size_t>(o_.repeat_last_n));
    const std::vector<int32_t> w(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
    std::map<int32_t, int32_t> counts, longest;
    for (const int32_t t : w) ++counts[t];
    for (const auto &[token, count] : counts) {
      double &l = c[static_cast<size_t>(token)].logit;
      l = l > 0 ? l / o_.repeat_penalty : l * o_.repeat_penalty;
      l -= o_.presence_penalty + o_.frequency_penalty * static_cast<double>(count);
    }
    if (o_.dry_multiplier == 0) return;
    for (size_t i = 0; i + 1 < n; ++i) {  // the match ends at i
      int32_t length = 0;
      while (length <= static_cast<int32_t>(i) &&
             w[i - static_cast<size_t>(length)] == w[n - 1 - static_cast<size_t>(length)]) {
        ++length;
      }
      if (length >= o_.dry_allowed_length) longest[w[i + 1]] = std::max(longest[w[i + 1]], length);
    }
    for (const auto &[token, length] : longest) {
      c[static_cast<size_t>(token)].logit -=
          o_.dry_multiplier * std::pow(o_.dry_base, static_cast<double>(length - o_.dry_allowed_length));
    }
  }

  void thin_out(std::vector<Candidate> &c, float chance) {
    if (o_.top_k > 0 && c.size() > static_cast<size_t>(o_.top_k)) c.resize(static_cast<size_t>(o_.top_k));
    softmax(c, 1);
    if (o_.typical_p > 0 && o_.typical_p < 1) typical(c);
    softmax(c, 1);
    if (o_.top_p > 0 && o_.top_p < 1) keep_share(c, o_.top_p);
    softmax(c, 1);
    std::vector<Candidate> kept;
    for (const Candidate &x : c) {
      const double ratio = x.probability / c[0].probability;
      if (o_.min_p > 0) note(ratio, o_.min_p);
      if (ratio >= static_cast<double>(o_.min_p)) kept.push_back(x);
    }
    c = kept;
    softmax(c, 1);
    if (chance < o_.xtc_probability) {
      size_t n = 0;
      for (const Candidate &x : c) {
        note(x.probability, o_.xtc_threshold);
        n += x.probability >= static_cast<double>(o_.xtc_threshold);
      }
      if (n >= 2) c.erase(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(n) - 1);
    }
  }

  void typical(std::vector<Candidate> &c) {
    double entropy = 0;
    for (const Candidate &x : c) {
      if (x.probability > 0) entropy -= x.probability * std::log(x.probability);
    }
    const auto distance = [&](const Candidate &x) { return std::fabs(-std::log(x.probability) - entropy); };
    std::sort(c.begin(), c.end(), [&](const Candidate &a, const Candidate &b) {
      return distance(a) != distance(b) ? distance(a) < distance(b) : a.token < b.token;
    });
    for (size_t i = 0; i + 1 < c.size(); ++i) {
      if (c[i].logit != c[i + 1].logit) note(distance(c[i]), distance(c[i + 1]));
    }
    keep_share(c, o_.typical_p);
    sort(c);
  }

  SamplingOptions o_;
  double mu_;
  std::vector<Candidate> full_;
};

}  // namespace rz::test
