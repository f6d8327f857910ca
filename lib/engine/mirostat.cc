// Version 1 estimates the exponent of a Zipf law from the best tokens and derives from it how many to keep;
// version 2 keeps those whose own surprise is within the bound.
#include "engine/mirostat.h"

#include "backend/sampling_rules.h"

namespace rz {
namespace {

// Least-squares slope of ln p over ln rank.
double zipf_exponent(Ranking &ranking) {
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < size_t{kZipfTokens} && ranking.has(i + 1); ++i) {
    const double t = natural_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const double b = static_cast<double>(ranking.logit(i)) - static_cast<double>(ranking.logit(i + 1));
    products += t * b;
    squares += t * t;
  }
  return squares > 0 ? products / squares : 1;
}

}  // namespace

Mirostat::Mirostat(int32_t version, float tau, float eta)
    : version_(version),
      tau_(static_cast<double>(tau)),
      eta_(static_cast<double>(eta)),
      mu_(2 * static_cast<double>(tau)) {}

void Mirostat::truncate(Ranking &ranking, double log_total, int32_t n_vocab) const {
  if (n_vocab < 2) return;
  if (version_ == 1) {
    const int32_t count = zipf_count(zipf_exponent(ranking), mu_, n_vocab);
    const size_t keep = static_cast<size_t>(count);
    if (count < n_vocab && ranking.has(keep - 1)) ranking.keep_first(keep);
    return;
  }
  for (size_t i = 1; ranking.has(i); ++i) {
    if (surprise(ranking.logit(i), log_total) > mu_) return ranking.keep_first(i);
  }
}

}  // namespace rz
