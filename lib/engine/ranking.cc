// Tokens are gathered in windows below the best score, each twice as deep as the last, and sorted in pieces:
// the usual peaked distribution needs one cheap scan and a sort of a few hundred.
#include "engine/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/sampling_rules.h"

namespace rz {
namespace {

constexpr size_t kFirstPiece = 128;
constexpr size_t kManyKeys = 2048;  // from here on the passes over bytes beat comparing

}  // namespace

// Not filled: a greedy sampler never touches it.
Ranking::Ranking(int32_t n_vocab)
    : keys_(std::make_unique_for_overwrite<uint64_t[]>(static_cast<size_t>(n_vocab))),
      spare_(std::make_unique_for_overwrite<uint64_t[]>(static_cast<size_t>(n_vocab))) {}

float Ranking::score(float logit) const { return by_distance_ ? -std::fabs(logit - center_) : logit; }

void Ranking::rank(std::span<const float> logits, float max) {
  logits_ = logits;
  begin_ = sorted_ = gathered_ = 0;
  more_ = true;
  by_distance_ = false;
  best_ = max;
  window_ = 0;
  floor_ = std::numeric_limits<float>::infinity();
}

void Ranking::rank_by_distance(float center) {
  by_distance_ = true;
  center_ = center;
  if (is_list()) {
    for (size_t i = begin_; i < gathered_; ++i) {
      const uint32_t token = static_cast<uint32_t>(keys_[i]);
      keys_[i] = rank_key(score(logits_[token]), token);
    }
    sorted_ = begin_;
  } else {
    begin_ = sorted_ = gathered_ = 0;
    best_ = 0;
    window_ = 0;
    floor_ = std::numeric_limits<float>::infinity();
  }
}

void Ranking::rank_by_logit() {
  by_distance_ = false;
  for (size_t i = begin_; i < gathered_; ++i) {
    const uint32_t token = static_cast<uint32_t>(keys_[i]);
    keys_[i] = rank_key(logits_[token], token);
  }
  sorted_ = begin_;
}

void Ranking::keep_first(size_t n) {
  gathered_ = sorted_ = begin_ + n;
  more_ = false;
}

void Ranking::drop_first(size_t n) { begin_ += n; }

bool Ranking::grow(size_t n) {
  while (sorted_ < n) {
    if (sorted_ == gathered_) {
      if (!gather()) return false;
      continue;
    }
    // Each piece is some times the one before, so that selecting it costs no more than sorting it.
    const size_t piece = std::max({kFirstPiece, 7 * sorted_, n - sorted_});
    size_t end = gathered_;
    if (piece < (gathered_ - sorted_) / 4) {
      end = sorted_ + piece;
      std::nth_element(&keys_[sorted_], &keys_[end], keys_.get() + gathered_);
    }
    sort(sorted_, end);
    sorted_ = end;
  }
  return true;
}

// Many keys are sorted by the bytes of their scores, lowest first; ids then order those that are equal.
void Ranking::sort(size_t begin, size_t end) {
  if (end - begin < kManyKeys) {
    std::sort(keys_.get() + begin, keys_.get() + end);
    return;
  }
  uint64_t *from = keys_.get(), *to = spare_.get();
  for (int shift = 32; shift < 64; shift += 8) {
    const auto digit = [&](size_t i) { return static_cast<size_t>(from[i] >> shift & 0xff); };
    std::array<uint32_t, 256> places{};
    for (size_t i = begin; i < end; ++i) ++places[digit(i)];
    uint32_t place = static_cast<uint32_t>(begin);
    for (uint32_t &p : places) place += std::exchange(p, place);
    for (size_t i = begin; i < end; ++i) to[places[digit(i)]++] = from[i];
    std::swap(from, to);
  }
  static_assert(32 / 8 % 2 == 0, "an even number of passes ends where it began");
  for (size_t i = begin, run; i < end; i = run) {
    for (run = i + 1; run < end && from[run] >> 32 == from[i] >> 32;) ++run;
    if (run - i > 1) std::sort(from + i, from + run);
  }
}

bool Ranking::gather() {
  if (!more_) return false;
  window_ = window_ == 0 ? kFirstWindow : 2 * window_;
  const float high = floor_;
  if (window_ < kLastWindow && best_ - window_ < best_) {
    floor_ = best_ - window_;
  } else {
    floor_ = std::numeric_limits<float>::lowest();  // -infinity is never gathered
    more_ = false;
  }
  for (size_t token = 0; token < logits_.size(); ++token) {
    const float s = score(logits_[token]);
    if (s >= floor_ && s < high) keys_[gathered_++] = rank_key(s, static_cast<uint32_t>(token));
  }
  return true;
}

}  // namespace rz
