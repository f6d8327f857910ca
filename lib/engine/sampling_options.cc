// What a host may ask for: the range of every sampling option.
#include <cmath>
#include <limits>

#include "backend/sampling_options.h"
#include "base/error.h"

namespace rz {
namespace {

void check_range(const char *name, float value, float low, float high) {
  if (value >= low && value <= high) return;
  if (std::isnan(value)) {
    fail(Status::Argument, "%s: expected %g to %g, found nan", name, static_cast<double>(low),
         static_cast<double>(high));
  }
  fail(Status::Argument, "%s: expected %g to %g, found %g", name, static_cast<double>(low),
       static_cast<double>(high), static_cast<double>(value));
}

void check_count(const char *name, int32_t value, int32_t low, int32_t high) {
  if (value >= low && value <= high) return;
  if (high == std::numeric_limits<int32_t>::max()) {
    fail(Status::Argument, "%s: expected %d or more, found %d", name, low, value);
  }
  fail(Status::Argument, "%s: expected %d to %d, found %d", name, low, high, value);
}

}  // namespace

void SamplingOptions::check(int32_t n_vocab) const {
  constexpr int32_t kAny = std::numeric_limits<int32_t>::max();
  check_range("temperature", temperature, 0, 100);
  check_count("top_k", top_k, 0, kAny);
  check_range("top_p", top_p, 0, 1);
  check_range("min_p", min_p, 0, 1);
  check_range("typical_p", typical_p, 0, 1);
  check_range("repeat_penalty", repeat_penalty, 0, 100);
  check_count("repeat_last_n", repeat_last_n, -1, kAny);
  check_range("presence_penalty", presence_penalty, -100, 100);
  check_range("frequency_penalty", frequency_penalty, -100, 100);
  check_range("dry_multiplier", dry_multiplier, 0, 1000);
  check_range("dry_base", dry_base, 1, 100);
  check_count("dry_allowed_length", dry_allowed_length, 1, kAny);
  check_range("xtc_probability", xtc_probability, 0, 1);
  check_range("xtc_threshold", xtc_threshold, 0, 1);
  check_count("mirostat", mirostat, 0, 2);
  check_range("mirostat_tau", mirostat_tau, 0, 100);
  check_range("mirostat_eta", mirostat_eta, 0, 1);
  check_count("logprobs", logprobs, 0, n_vocab);
  for (size_t i = 0; i < biases.size(); ++i) {
    const auto [token, bias] = biases[i];
    if (token < 0 || token >= n_vocab) {
      fail(Status::Argument, "logit_bias[%zu].token: expected 0 to %d, found %d", i, n_vocab - 1, token);
    }
    if (std::isnan(bias) || bias > 1e9f) {
      fail(Status::Argument, "logit_bias[%zu].bias: expected -inf to 1e9, found %s", i,
           std::isnan(bias) ? "nan" : "more");
    }
  }
}

}  // namespace rz
