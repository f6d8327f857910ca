// Tokens from the most probable down, put in order only as far as somebody looks: a vocabulary of 150,000 is
// never sorted for the forty that matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rz {

class Ranking {
 public:
  explicit Ranking(int32_t n_vocab);

  // Every token whose logit is finite, by (logit descending, id ascending). The logits stay the caller's and
  // must not change while the ranking is used.
  void rank(std::span<const float> logits, float max);
  // Re-orders what is here by (distance of the logit from `center`, id).
  void rank_by_distance(float center);
  // Ends that: what is here by logit again.
  void rank_by_logit();

  // Whether there is a token of rank i (0 is the best). What follows needs has(i) first.
  bool has(size_t i) { return begin_ + i < sorted_ || grow(begin_ + i + 1); }
  int32_t token(size_t i) const { return static_cast<int32_t>(static_cast<uint32_t>(keys_[begin_ + i])); }
  float logit(size_t i) const { return logits_[static_cast<size_t>(token(i))]; }

  void keep_first(size_t n);  // only ranks 0 .. n - 1; has(n - 1) first
  void drop_first(size_t n);  // rank n becomes rank 0; has(n) first
  // True when what is here are exactly the ranks 0 .. size() - 1, not what is left of the whole vocabulary.
  bool is_list() const { return !more_; }
  size_t size() const { return gathered_ - begin_; }  // of a list

 private:
  bool grow(size_t n);
  bool gather();
  void sort(size_t begin, size_t end);
  float score(float logit) const;

  std::span<const float> logits_;  // (n_vocab)
  // (n_vocab) score and id in one number, ascending = best first. [begin, sorted) is in order, [sorted,
  // gathered) is no better than that, and tokens outside have scores below floor_.
  std::unique_ptr<uint64_t[]> keys_;
  std::unique_ptr<uint64_t[]> spare_;  // (n_vocab) work space of sort()
  size_t begin_ = 0, sorted_ = 0, gathered_ = 0;
  bool more_ = false;  // tokens below floor_ are not gathered yet
  bool by_distance_ = false;
  float center_ = 0;
  float best_ = 0;    // no score is above it
  float window_ = 0;  // how far below best_ has been gathered
  float floor_ = 0;
};

}  // namespace rz
