// The stages in order. Those before the ranking change logits, those after it thin out what may be drawn.
#include "engine/sampler.h"

#include <algorithm>

#include "backend/sampling_rules.h"
#include "engine/penalties.h"

namespace rz {
namespace {

bool is_share(float p) { return p > 0 && p < 1; }

bool penalizes(const SamplingOptions &o) {
  return (o.repeat_penalty > 0 && o.repeat_penalty != 1) || o.presence_penalty != 0 ||
         o.frequency_penalty != 0;
}

}  // namespace

Sampler::Sampler(SamplingOptions options, int32_t n_vocab)
    : options_(std::move(options)),
      penalizes_(penalizes(options_)),
      dries_(options_.dry_multiplier > 0),
      survivors_(n_vocab),
      mirostat_(options_.mirostat, options_.mirostat_tau, options_.mirostat_eta) {
  top_.reserve(static_cast<size_t>(options_.logprobs));
  if (!options_.biases.empty() || penalizes_ || dries_) own_.resize(static_cast<size_t>(n_vocab));
  if (penalizes_ || dries_) counts_.resize(static_cast<size_t>(n_vocab));
  if (dries_) match_.resize(kLongestDryMatch);
}

Sampled Sampler::sample(std::span<float> logits, std::span<const int32_t> history, uint64_t step) {
  float max = max_logit(logits);
  const double log_total = static_cast<double>(max) + natural_log(exp_sums(logits, max, 1).weights);
  list_top(logits, max, log_total);

  std::span<const float> own = logits;
  if (!own_.empty()) {
    std::copy(logits.begin(), logits.end(), own_.begin());
    own = own_;
    change_logits(logits, history);
    max = max_logit(logits);
  }
  // A draw may strike out logits, but never the one it chooses.
  const int32_t token =
      options_.temperature > 0
          ? draw(logits, max, step)
          : static_cast<int32_t>(std::find(logits.begin(), logits.end(), max) - logits.begin());
  const double logprob = static_cast<double>(own[static_cast<size_t>(token)]) - log_total;
  return {token, static_cast<float>(logprob), top_};
}

void Sampler::list_top(std::span<float> logits, float max, double log_total) {
  top_.clear();
  if (options_.logprobs == 0) return;
  survivors_.reset(logits, max);
  Ranking &ranking = survivors_.ranking();
  for (size_t i = 0; i < static_cast<size_t>(options_.logprobs) && ranking.has(i); ++i) {
    top_.push_back({ranking.token(i), static_cast<float>(static_cast<double>(ranking.logit(i)) - log_total)});
  }
}

void Sampler::change_logits(std::span<float> logits, std::span<const int32_t> history) {
  for (const auto &[token, bias] : options_.biases) logits[static_cast<size_t>(token)] += bias;
  const size_t n = options_.repeat_last_n < 0 ? history.size() : static_cast<size_t>(options_.repeat_last_n);
  const std::span<const int32_t> window = history.last(std::min(n, history.size()));
  if (penalizes_) apply_penalties(options_, window, counts_, logits);
  if (dries_) apply_dry(options_, window, counts_, match_, logits);
}

int32_t Sampler::draw(std::span<float> logits, float max, uint64_t step) {
  const SamplingOptions &o = options_;
  const float u = philox_uniform(o.seed, step, kDrawNumber);
  survivors_.reset(logits, max);
  if (o.mirostat > 0) {
    const double log_total = static_cast<double>(max) + natural_log(exp_sums(logits, max, 1).weights);
    mirostat_.truncate(survivors_.ranking(), log_total, static_cast<int32_t>(logits.size()));
    const int32_t token = survivors_.draw(o.temperature, u);
    mirostat_.observe(logits[static_cast<size_t>(token)], log_total);
    return token;
  }
  if (o.top_k > 0) survivors_.top_k(o.top_k);
  if (is_share(o.typical_p)) survivors_.typical(o.typical_p);
  if (is_share(o.top_p)) survivors_.top_p(o.top_p);
  if (o.min_p > 0) survivors_.min_p(o.min_p);
  if (o.xtc_probability > 0 && philox_uniform(o.seed, step, kXtcNumber) < o.xtc_probability) {
    survivors_.xtc(o.xtc_threshold);
  }
  return survivors_.draw(o.temperature, u);
}

}  // namespace rz
