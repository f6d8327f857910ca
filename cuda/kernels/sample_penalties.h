// Stages that look back, by the whole block: biases, penalties, DRY. What happens to a token depends on its
// own counts alone, so the order in which tokens are visited is free; of the threads that meet the same token
// the one that takes its count acts.
#pragma once

#include "cuda/kernels/sample_pass.h"

namespace rz::cuda {

RZ_BOTH_SIDES bool penalizes(const SampleSettings &o) {
  return (o.repeat_penalty > 0 && o.repeat_penalty != 1) || o.presence_penalty != 0 ||
         o.frequency_penalty != 0;
}
RZ_BOTH_SIDES bool dries(const SampleSettings &o) { return o.dry_multiplier > 0; }
RZ_BOTH_SIDES bool changes_logits(const SampleRow &row) {
  return row.n_biases > 0 || penalizes(row.settings) || dries(row.settings);
}

struct TokenWindow {
  const int32_t *tokens;  // (n)
  int32_t n;
  int32_t n_vocab;

  RZ_DEVICE bool known(int32_t token) const { return token >= 0 && token < n_vocab; }
  RZ_DEVICE int32_t back(int32_t i) const { return tokens[n - 1 - i]; }
};

RZ_DEVICE void apply_biases(const SampleRow &row, float *logits) {
  for (int32_t i = thread(); i < row.n_biases; i += kSampleThreads) {
    const int32_t token = row.biases[i].token;
    if (i > 0 && row.biases[i - 1].token == token) continue;
    float logit = logits[token];
    for (int32_t j = i; j < row.n_biases && row.biases[j].token == token; ++j) logit += row.biases[j].bias;
    logits[token] = logit;
  }
  sync();
}

RZ_DEVICE void apply_penalties(const SampleSettings &o, TokenWindow window, int32_t *counts, float *logits) {
  for (int32_t i = thread(); i < window.n; i += kSampleThreads) {
    if (window.known(window.tokens[i])) atomic_add(&counts[window.tokens[i]], 1);
  }
  sync();
  const float repeat = o.repeat_penalty > 0 ? o.repeat_penalty : 1;
  for (int32_t i = thread(); i < window.n; i += kSampleThreads) {
    const int32_t token = window.tokens[i];
    if (!window.known(token)) continue;
    const int32_t count = atomic_exchange(&counts[token], 0);
    if (count == 0) continue;
    logits[token] = penalized(logits[token], repeat, o.presence_penalty, o.frequency_penalty, count);
  }
  sync();
}

// The host finds matches by the Z-algorithm, one after another; here each thread measures its own, and stops
// at the same length.
RZ_DEVICE void apply_dry(const SampleSettings &o, TokenWindow window, int32_t *longest, float *logits) {
  for (int32_t j = 1 + thread(); j < window.n; j += kSampleThreads) {
    int32_t length = 0;
    while (length < kLongestDryMatch && j + length < window.n &&
           window.back(length) == window.back(j + length)) {
      ++length;
    }
    const int32_t next = window.back(j - 1);
    if (length >= o.dry_allowed_length && window.known(next)) atomic_max(&longest[next], length);
  }
  sync();
  for (int32_t j = 1 + thread(); j < window.n; j += kSampleThreads) {
    const int32_t next = window.back(j - 1);
    if (!window.known(next)) continue;
    const int32_t length = atomic_exchange(&longest[next], 0);
    if (length == 0) continue;
    logits[next] -= dry_penalty(o.dry_multiplier, o.dry_base, length - o.dry_allowed_length);
  }
  sync();
}

RZ_DEVICE_CALLED void change_logits(const SampleRow &row, int32_t n_vocab, int32_t *counts, float *logits) {
  const SampleSettings &o = row.settings;
  if (row.n_biases > 0) apply_biases(row, logits);
  const int32_t n = o.repeat_last_n < 0 || o.repeat_last_n > row.n_tokens ? row.n_tokens : o.repeat_last_n;
  const TokenWindow window{row.tokens + (row.n_tokens - n), n, n_vocab};
  if (penalizes(o)) apply_penalties(o, window, counts, logits);
  if (dries(o)) apply_dry(o, window, counts, logits);
}

}  // namespace rz::cuda
