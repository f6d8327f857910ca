// Sorting by one block: keys that fit shared memory by a bitonic network, more of them by their bytes, lowest
// first, each warp over its own stretch of the list.
#pragma once

#include "cuda/kernels/sample_pass.h"

namespace rz::cuda {

RZ_DEVICE void sort_shared(uint64_t *list, int32_t n) {
  SampleShared &s = shared<SampleShared>();
  int32_t size = 2;
  while (size < n) size *= 2;
  for (int32_t i = thread(); i < size; i += kSampleThreads) s.keys[i] = i < n ? list[i] : ~uint64_t{0};
  sync();
  RZ_NO_UNROLL
  for (int32_t run = 2; run <= size; run *= 2) {
    RZ_NO_UNROLL
    for (int32_t stride = run / 2; stride > 0; stride /= 2) {
      RZ_NO_UNROLL
      for (int32_t i = thread(); i < size / 2; i += kSampleThreads) {
        const int32_t low = 2 * i - (i & (stride - 1)), high = low + stride;
        const uint64_t a = s.keys[low], b = s.keys[high];
        if ((a > b) == ((low & run) == 0)) {
          s.keys[low] = b;
          s.keys[high] = a;
        }
      }
      sync();
    }
  }
  for (int32_t i = thread(); i < n; i += kSampleThreads) list[i] = s.keys[i];
  sync();
}

RZ_DEVICE int32_t digit_of(uint64_t key, int shift) {
  return static_cast<int32_t>(key >> shift & (kDigits - 1));
}

// Lanes of the warp whose digit is the caller's.
RZ_DEVICE uint32_t lanes_alike(int32_t digit, bool present) {
  uint32_t lanes = ballot(present);
  RZ_UNROLL
  for (int bit = 1; bit < kDigits; bit *= 2) {
    const bool mine = (digit & bit) != 0;
    const uint32_t with = ballot(mine);
    lanes &= mine ? with : ~with;
  }
  return lanes;
}

// From how often each warp has each digit to where it puts the first of those: digit by digit, in a digit
// warp by warp.
RZ_DEVICE void counts_to_places() {
  SampleShared &s = shared<SampleShared>();
  const int digit = thread();
  sync();
  if (digit < kDigits) {
    int32_t sum = 0;
    for (int w = 0; w < kSampleWarps; ++w) {
      const int32_t count = s.places[w][digit];
      s.places[w][digit] = sum;
      sum += count;
    }
    s.totals[digit] = sum;
  }
  sync();
  if (digit < kDigits) {
    int32_t before = 0;
    for (int d = 0; d < digit; ++d) before += s.totals[d];
    for (int w = 0; w < kSampleWarps; ++w) s.places[w][digit] += before;
  }
  sync();
}

// One pass; keys with the same digit stay in order.
RZ_DEVICE void sort_by_digit(const uint64_t *from, uint64_t *to, int32_t n, int shift) {
  SampleShared &s = shared<SampleShared>();
  const int32_t stretch = (n + kSampleThreads - 1) / kSampleThreads * kWarp;
  const int32_t first = warp() * stretch, end = first + stretch < n ? first + stretch : n;
  int32_t *places = s.places[warp()];
  for (int i = lane(); i < kDigits; i += kWarp) places[i] = 0;
  sync_warp();
  RZ_NO_UNROLL
  for (int32_t i = first + lane(); i < end; i += kWarp) atomic_add(&places[digit_of(from[i], shift)], 1);
  counts_to_places();
  RZ_NO_UNROLL
  for (int32_t i = first; i < end; i += kWarp) {
    const bool present = i + lane() < end;
    const uint64_t key = present ? from[i + lane()] : 0;
    const int32_t digit = digit_of(key, shift);
    const uint32_t alike = lanes_alike(digit, present), before = alike & ((1u << lane()) - 1);
    if (present) to[places[digit] + count_bits(before)] = key;
    sync_warp();
    if (present && before == 0) places[digit] += count_bits(alike);
    sync_warp();
  }
  sync();
}

// Ascending. `spare` has room for as many. Where tokens lie in ascending order already, only the keys' upper
// halves need sorting when there are many.
RZ_DEVICE_CALLED void sort_keys(uint64_t *list, uint64_t *spare, int32_t n, bool tokens_ascend) {
  if (n < 2) return;
  if (n <= kSharedKeys) return sort_shared(list, n);
  RZ_NO_UNROLL
  for (int shift = tokens_ascend ? 32 : 0; shift < 64; shift += 8) {  // an even number of passes
    sort_by_digit(list, spare, n, shift);
    uint64_t *const sorted = spare;
    spare = list;
    list = sorted;
  }
}

}  // namespace rz::cuda
