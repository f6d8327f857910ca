// Tokens from the most probable down, as the engine's Ranking hands them out: gathered in windows below the
// best score, so that both know at every moment whether all tokens have been gathered, which decides in what
// order sums are taken. All threads of the block call everything with the same arguments and hold the same
// state.
#pragma once

#include "cuda/kernels/sample_sort.h"

namespace rz::cuda {

struct Ranking {
  const float *logits;  // (n_vocab)
  int32_t n_vocab;
  uint64_t *keys, *spare;   // (n_vocab) each; keys [begin, gathered) are in order
  int32_t begin, gathered;  // rank 0 is keys[begin]
  bool more;                // tokens below `floor` are not gathered yet
  bool by_distance;         // the score is the distance from `center`, negative; else the logit
  float center;
  float best, window, floor;  // no score is above `best`; `window` below it has been gathered, to `floor`
  // What the slices have gathered of the first window, in `spare`: so many each, or null.
  const int32_t *prepared;  // (slices)

  RZ_DEVICE void rank(const float *of, float max) {
    logits = of;
    more = true;
    by_distance = false;
    best = max;
    restart();
  }
  RZ_DEVICE void restart() {
    begin = gathered = 0;
    window = 0;
    floor = kInfinity;
  }
  RZ_DEVICE void rank_by_distance(float from) {
    by_distance = true;
    center = from;
    prepared = nullptr;
    if (is_list()) return rank_again();
    best = 0;
    restart();
  }
  RZ_DEVICE void rank_by_logit() {
    by_distance = false;
    rank_again();
  }

  RZ_DEVICE bool has(int32_t i) { return begin + i < gathered || grow(begin + i + 1); }
  RZ_DEVICE int32_t token(int32_t i) const { return ranked_token(keys[begin + i]); }
  RZ_DEVICE float logit(int32_t i) const { return logits[token(i)]; }
  RZ_DEVICE void keep_first(int32_t n) {
    gathered = begin + n;
    more = false;
  }
  RZ_DEVICE void drop_first(int32_t n) { begin += n; }
  RZ_DEVICE bool is_list() const { return !more; }
  RZ_DEVICE int32_t size() const { return gathered - begin; }  // of what has been gathered

  RZ_DEVICE float score(float logit) const { return by_distance ? -absolute(logit - center) : logit; }

  RZ_DEVICE bool grow(int32_t n) {
    while (gathered < n) {
      if (!more) return false;
      gather();
    }
    return true;
  }

  RZ_DEVICE_CALLED void rank_again() {
    sync();
    for (int32_t i = begin + thread(); i < gathered; i += kSampleThreads) {
      const int32_t token = ranked_token(keys[i]);
      keys[i] = rank_key(score(logits[token]), static_cast<uint32_t>(token));
    }
    sync();
    sort_keys(keys + begin, spare, gathered - begin, false);
  }

  // Scores below the returned one and no less than `floor` are next.
  RZ_DEVICE float open_window() {
    window = window == 0 ? kFirstWindow : 2 * window;
    const float high = floor;
    if (window < kLastWindow && best - window < best) {
      floor = best - window;
    } else {
      floor = -kLargest;  // -infinity is never gathered
      more = false;
    }
    return high;
  }

  RZ_DEVICE_CALLED void gather() {
    const bool first = window == 0;
    const float high = open_window();
    const int32_t n = first && prepared ? take_prepared() : search(high);
    if (n > kSharedKeys) prepared = nullptr;  // the spare list is needed
    sort_keys(keys + gathered, spare, n, true);
    gathered += n;
  }

  RZ_DEVICE int32_t take_prepared() {
    sync();  // somebody may still read the keys of a ranking before
    int32_t at = 0;
    for (int32_t slice = 0; slice < slices_of(n_vocab); ++slice) {
      const int32_t n = prepared[slice];
      if (slice % kSampleWarps == warp()) {
        for (int32_t i = lane(); i < n; i += kWarp) keys[at + i] = spare[slice * kSlice + i];
      }
      at += n;
    }
    sync();
    return at;
  }

  // Two passes over the vocabulary, a stretch each warp: count, then write where the stretches before end.
  RZ_DEVICE int32_t search(float high) {
    const int32_t stretch = (n_vocab + kSampleThreads - 1) / kSampleThreads * kWarp;
    const int32_t first = warp() * stretch;
    return gather_range(first, first + stretch < n_vocab ? first + stretch : n_vocab, high, keys + gathered,
                        shared<SampleShared>().counts);
  }

  // By every warp of the block for a range of its own, in ascending order; what they find goes to `to`.
  // Returns how many keys that are together. `counts`: (warps) in shared memory.
  RZ_DEVICE int32_t gather_range(int32_t first, int32_t end, float high, uint64_t *to,
                                 int32_t *counts) const {
    const int32_t mine = count_range(first, end, high);
    sync();
    if (lane() == 0) counts[warp()] = mine;
    sync();
    int32_t at = 0, all = 0;
    for (int w = 0; w < block_threads() / kWarp; ++w) {
      if (w < warp()) at += counts[w];
      all += counts[w];
    }
    if (mine > 0) write_range(first, end, high, to + at);
    sync();
    return all;
  }

  static constexpr int kAhead = 8;  // loads on their way together

  // Scores of 32 kAhead tokens from `first` on, not past `end`.
  RZ_DEVICE void load_scores(float (&v)[kAhead], int32_t first, int32_t end) const {
    RZ_UNROLL
    for (int j = 0; j < kAhead; ++j) {
      const int32_t token = first + j * kWarp + lane();
      v[j] = token < end ? logits[token] : -kInfinity;
    }
    RZ_UNROLL
    for (int j = 0; j < kAhead; ++j) v[j] = score(v[j]);
  }

  RZ_DEVICE int32_t count_range(int32_t first, int32_t end, float high) const {
    int32_t count = 0;
    RZ_NO_UNROLL
    for (int32_t i = first; i < end; i += kAhead * kWarp) {
      float v[kAhead];
      load_scores(v, i, end);
      RZ_UNROLL
      for (int j = 0; j < kAhead; ++j) count += v[j] >= floor && v[j] < high;
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) count += shfl_xor(count, mask);
    return count;
  }

  RZ_DEVICE void write_range(int32_t first, int32_t end, float high, uint64_t *to) const {
    RZ_NO_UNROLL
    for (int32_t i = first; i < end; i += kAhead * kWarp) {
      float v[kAhead];
      load_scores(v, i, end);
      RZ_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        const bool wanted = v[j] >= floor && v[j] < high;
        const uint32_t lanes = ballot(wanted);
        const int32_t token = i + j * kWarp + lane();
        if (wanted) {
          to[count_bits(lanes & ((1u << lane()) - 1))] = rank_key(v[j], static_cast<uint32_t>(token));
        }
        to += count_bits(lanes);
      }
    }
  }
};

}  // namespace rz::cuda
