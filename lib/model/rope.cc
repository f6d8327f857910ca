// Rotary embeddings from metadata: which angle each pair of a head turns by. Plain, linear ("position
// interpolation", Chen et al. 2023), YaRN (Peng et al. 2023) and per-pair factors (llama 3.1, LongRoPE).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "model/spec.h"

namespace rz {
namespace {

// How far YaRN trusts each pair: 1 where it turns often within the trained context and must stay as it is, 0
// where it turns less than once and must be interpolated, a ramp between.
struct YarnRamp {
  double low, high;

  // The pair that makes `turns` full turns over the trained context.
  static double pair_of(double turns, int32_t dims, double base, double trained) {
    return dims * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  }
  YarnRamp(int32_t dims, double base, double trained, double beta_fast, double beta_slow)
      : low(std::max(0.0, std::floor(pair_of(beta_fast, dims, base, trained)))),
        high(std::min(dims - 1.0, std::ceil(pair_of(beta_slow, dims, base, trained)))) {}

  double extrapolated(size_t pair) const {
    const double y = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
    return 1 - std::clamp(y, 0.0, 1.0);
  }
};

constexpr double kLargest = 1e9;  // of any factor: as floats, their products stay finite

double positive_or(const Metadata &metadata, const std::string &key, double absent) {
  const double number = metadata.number_or(key, absent);
  if (!(number > 0 && number <= kLargest)) {
    fail(Status::Format, "%s: expected a number above 0 and at most %g, found %g", key.c_str(), kLargest,
         number);
  }
  return number;
}

// 0 is how some converters write "no scaling".
double read_factor(const Metadata &metadata, const std::string &prefix) {
  std::string key = prefix + "scaling.factor";
  if (!metadata.find(key)) key = prefix + "scale_linear";
  return metadata.number_or(key, 0) == 0 ? 1 : positive_or(metadata, key, 1);
}

void apply_yarn(const Metadata &metadata, const Spec &spec, const std::string &prefix, double base,
                double factor, Rope &rope) {
  const std::string scaling = prefix + "scaling.";
  const double trained = static_cast<double>(
      metadata.integer_or(scaling + "original_context_length", 1, INT32_MAX, spec.trained_context));
  const YarnRamp ramp(spec.rope_dims, base, trained, positive_or(metadata, scaling + "yarn_beta_fast", 32),
                      positive_or(metadata, scaling + "yarn_beta_slow", 1));
  const double written = metadata.number_or(scaling + "yarn_ext_factor", -1);
  const double share = written < 0 ? 1 : std::min(written, 1.0);  // below 0: as YaRN has it
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    const double kept = ramp.extrapolated(i) * share;
    rope.frequencies[i] *= kept + (1 - kept) / factor;
  }
  const double magnitude = share != 0 ? 1 + 0.1 * std::log(factor) : 1;
  rope.magnitude *= static_cast<float>(magnitude * positive_or(metadata, scaling + "yarn_attn_factor", 1));
}

void divide_by_factors(const Spec &spec, const float *factors, int64_t n_factors, Rope &rope) {
  if (n_factors != static_cast<int64_t>(rope.frequencies.size())) {
    fail(Status::Format, "%s: expected %zu rope factors, found %lld", spec.architecture.c_str(),
         rope.frequencies.size(), static_cast<long long>(n_factors));
  }
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    if (!(factors[i] > 0) || !std::isfinite(factors[i])) {
      fail(Status::Format, "%s: expected rope factors above 0, found %g at %zu", spec.architecture.c_str(),
           static_cast<double>(factors[i]), i);
    }
    rope.frequencies[i] /= static_cast<double>(factors[i]);
  }
}

}  // namespace

Rope plain_rope(const std::string &key, double base, int32_t dims, RopeStyle style) {
  if (!(base > 1) || !std::isfinite(base)) {
    fail(Status::Format, "%s: expected a finite number above 1, found %g", key.c_str(), base);
  }
  Rope rope{style, std::vector<double>(static_cast<size_t>(dims / 2)), 1};
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    rope.frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / dims);
  }
  return rope;
}

Rope read_rope(const Metadata &metadata, const Spec &spec, RopeStyle style, const float *factors,
               int64_t n_factors) {
  const std::string prefix = spec.architecture + ".rope.";
  const double base = metadata.number_or(prefix + "freq_base", 10000);
  Rope rope = plain_rope(prefix + "freq_base", base, spec.rope_dims, style);
  if (factors) divide_by_factors(spec, factors, n_factors, rope);

  rope.magnitude = static_cast<float>(positive_or(metadata, prefix + "scaling.attn_factor", 1));
  const std::string_view kind = metadata.string_or(prefix + "scaling.type", "linear");
  const double factor = read_factor(metadata, prefix);
  if (kind == "linear") {
    for (double &frequency : rope.frequencies) frequency /= factor;
  } else if (kind == "yarn") {
    apply_yarn(metadata, spec, prefix, base, factor, rope);
  } else if (kind != "none" && kind != "longrope") {  // LongRoPE's scaling is all in its factors
    fail(Status::Unsupported, "%sscaling.type: expected none, linear, yarn or longrope, found %.*s",
         prefix.c_str(), static_cast<int>(kind.size()), kind.data());
  }
  return rope;
}

}  // namespace rz
