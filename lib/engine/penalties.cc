// Repeat, presence and frequency penalties by counting; DRY by the Z-algorithm on the window read backwards.
#include "engine/penalties.h"

#include <algorithm>

namespace rz {
namespace {

bool known(int32_t token, std::span<const float> logits) {
  return token >= 0 && static_cast<size_t>(token) < logits.size();
}

}  // namespace

void apply_penalties(const SamplingOptions &options, std::span<const int32_t> window,
                     std::span<int32_t> counts, std::span<float> logits) {
  for (const int32_t token : window) {
    if (known(token, logits)) ++counts[static_cast<size_t>(token)];
  }
  const float repeat = options.repeat_penalty > 0 ? options.repeat_penalty : 1;
  for (const int32_t token : window) {
    if (!known(token, logits)) continue;
    int32_t &count = counts[static_cast<size_t>(token)];
    if (count == 0) continue;
    float &logit = logits[static_cast<size_t>(token)];
    logit = penalized(logit, repeat, options.presence_penalty, options.frequency_penalty, count);
    count = 0;
  }
}

void apply_dry(const SamplingOptions &options, std::span<const int32_t> window, std::span<int32_t> longest,
               std::span<int32_t> match, std::span<float> logits) {
  const int32_t n = static_cast<int32_t>(window.size()), allowed = options.dry_allowed_length;
  const int32_t cap = static_cast<int32_t>(match.size());
  const auto back = [&](int32_t i) { return window[static_cast<size_t>(n - 1 - i)]; };
  // match[j]: how many tokens back(j), back(j + 1), ... equal back(0), back(1), ...; it is needed for j < cap
  // only, since the known equal stretch [left, right) is never longer than that.
  int32_t left = 0, right = 0;
  for (int32_t j = 1; j < n; ++j) {
    int32_t length = j < right ? std::min(right - j, match[static_cast<size_t>(j - left)]) : 0;
    if (j + length >= right) {
      while (length < cap && j + length < n && back(length) == back(j + length)) ++length;
      left = j;
      right = j + length;
    }
    if (j < cap) match[static_cast<size_t>(j)] = length;
    const int32_t next = back(j - 1);
    if (length >= allowed && known(next, logits)) {
      longest[static_cast<size_t>(next)] = std::max(longest[static_cast<size_t>(next)], length);
    }
  }
  for (int32_t j = 1; j < n; ++j) {
    const int32_t next = back(j - 1);
    if (!known(next, logits) || longest[static_cast<size_t>(next)] == 0) continue;
    logits[static_cast<size_t>(next)] -=
        dry_penalty(options.dry_multiplier, options.dry_base, longest[static_cast<size_t>(next)] - allowed);
    longest[static_cast<size_t>(next)] = 0;
  }
}

}  // namespace rz
