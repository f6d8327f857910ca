// Passes over the logits of a whole vocabulary: the best of them, and sums of exponentials. Lanes, chunks and
// order are those of the host's pass, so the sums have its bits: 16 lanes take every 16th logit of a chunk of
// 128, then meet by halves, and chunks are added up in order in a double. Products and sums are rounded each
// by itself, which -fmad=false sees to.
#pragma once

#include <limits>

#include "backend/sampling_rules.h"
#include "cuda/kernels/sampling.h"
#include "cuda/simt.h"

namespace rz::cuda {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

constexpr int kChunk = 128;          // logits
constexpr int kSlice = 32 * kChunk;  // logits of a block, in the passes that share a row among blocks
constexpr int kSliceThreads = 256;   // two chunks each half warp
constexpr int kSampleThreads = 512;  // of the block that chooses: 1024 would have too few registers each
constexpr int kTile = kSampleThreads;
constexpr int kSharedKeys = 4096;  // that are sorted in shared memory; more are sorted in global memory
constexpr int kSampleWarps = kSampleThreads / kWarp;
constexpr int kDigits = 256;

struct SampleShared {
  union {
    uint64_t keys[kSharedKeys];
    int32_t places[kSampleWarps][kDigits];  // of a digit's next key, warp by warp
  };
  float tile[2][kTile];
  int32_t totals[kDigits];
  int32_t counts[kSampleWarps];
  uint64_t best[kSampleWarps];
  double sums[2];
  int32_t stop, choice;
};
static_assert(sizeof(SampleShared) <= 48 * 1024);  // more has to be asked for

// Where a row's work space is.
struct RowWork {
  uint64_t *best;     // (slices) rank keys
  float *chunks[2];   // (chunks) sums of weights, and weighted
  uint64_t *keys[2];  // (vocab)
  float *changed;     // (vocab) logits that stages may change
  int32_t *counts;    // (vocab) zeros between kernels
  int32_t *prepared;  // (slices) keys in the second list, from slice * kSlice on
};

RZ_BOTH_SIDES int32_t slices_of(int32_t vocab) { return (vocab + kSlice - 1) / kSlice; }

RZ_BOTH_SIDES uint64_t row_work_bytes(int32_t vocab) {
  const uint64_t slices = static_cast<uint64_t>(slices_of(vocab)), n = slices * kSlice;
  return slices * 8 + slices * 8 + n / kChunk * 8 + n * (8 + 8 + 4 + 4);
}

RZ_DEVICE RowWork work_of(const SampleArgs &a, int row) {
  const uint64_t slices = static_cast<uint64_t>(slices_of(a.vocab)), n = slices * kSlice;
  std::byte *at = a.work + static_cast<uint64_t>(row) * row_work_bytes(a.vocab);
  const auto take = [&](uint64_t bytes) {
    std::byte *const here = at;
    at += bytes;
    return here;
  };
  RowWork w;
  for (auto &keys : w.keys) keys = reinterpret_cast<uint64_t *>(take(n * 8));
  w.best = reinterpret_cast<uint64_t *>(take(slices * 8));
  for (auto &sums : w.chunks) sums = reinterpret_cast<float *>(take(n / kChunk * 4));
  w.changed = reinterpret_cast<float *>(take(n * 4));
  w.counts = reinterpret_cast<int32_t *>(take(n * 4));
  w.prepared = reinterpret_cast<int32_t *>(take(slices * 8));
  return w;
}

// ---- the best logit ---------------------------------------------------------------------------------------------------

// NaN ranks as +infinity: the best key then names the first logit that is no number.
RZ_DEVICE uint64_t best_key(float logit, int32_t token) {
  return rank_key(logit < kInfinity ? logit : kInfinity, static_cast<uint32_t>(token));
}

RZ_DEVICE uint64_t best_of_warp(uint64_t key) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const uint64_t other = shfl_xor(key, mask);
    key = other < key ? other : key;
  }
  return key;
}

// Of logits [first, end), for the calling thread of the block.
RZ_DEVICE uint64_t best_of_thread(const float *logits, int32_t first, int32_t end) {
  uint64_t best = ~uint64_t{0};
  RZ_NO_UNROLL
  for (int32_t i = first + thread(); i < end; i += 8 * block_threads()) {
    float v[8];  // on their way together
    RZ_UNROLL
    for (int j = 0; j < 8; ++j) {
      const int32_t token = i + j * block_threads();
      v[j] = token < end ? logits[token] : -kInfinity;
    }
    RZ_UNROLL
    for (int j = 0; j < 8; ++j) {
      const uint64_t key = best_key(v[j], i + j * block_threads());
      best = key < best ? key : best;
    }
  }
  return best;
}

// For all threads of the block; `warps` (block's warps) in shared memory.
RZ_DEVICE uint64_t best_of_block(uint64_t key, uint64_t *warps) {
  key = best_of_warp(key);
  if (lane() == 0) warps[warp()] = key;
  sync();
  return best_of_warp(lane() < block_threads() / kWarp ? warps[lane()] : ~uint64_t{0});
}

// From what the slices left; every warp does it for itself.
RZ_DEVICE uint64_t best_of_slices(const uint64_t *best, int32_t slices) {
  uint64_t key = ~uint64_t{0};
  for (int32_t i = lane(); i < slices; i += kWarp) key = best[i] < key ? best[i] : key;
  return best_of_warp(key);
}

RZ_DEVICE SampleStatus status_of(float best) {
  if (best < kInfinity) return best == -kInfinity ? SampleStatus::None : SampleStatus::Ok;
  return best == kInfinity ? SampleStatus::Infinite : SampleStatus::Nan;
}

// ---- sums of exponentials ---------------------------------------------------------------------------------------------

constexpr float kLowestPower = -87;  // e^-87 is the last power whose float is normal

struct Weight {
  float w, x;  // e^x, and x no less than kLowestPower
};

// e^x for x <= 0, 0 below kLowestPower: 2^n e^r with |r| <= ln(2) / 2; e^r by its Taylor polynomial of degree
// 7.
RZ_DEVICE Weight weigh(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float clamped = kLowestPower > x ? kLowestPower : x;
  const float n = round_even(clamped * kLog2e);
  const float r = clamped - n * kLn2High - n * kLn2Low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const uint32_t bits = as_bits(p) + (static_cast<uint32_t>(static_cast<int32_t>(n)) << 23);
  return {x < kLowestPower ? 0.0f : as_float(bits), clamped};
}

RZ_DEVICE float exp_weight(float x) { return weigh(x).w; }

// Sums of e^x and of x e^x with x = (logit - max) * scale.
struct ExpSums {
  double weights, weighted;
};

// Chunks first + 0, 1 (one for each half of the warp); for all lanes of the half.
RZ_DEVICE void chunk_sums(const float *logits, int32_t n, int32_t chunk, float max, float scale,
                          float (&sums)[2]) {
  const int32_t first = chunk * kChunk + lane() % 16;
  float v[8];
  RZ_UNROLL
  for (int i = 0; i < 8; ++i) v[i] = first + 16 * i < n ? logits[first + 16 * i] : -kInfinity;
  sums[0] = sums[1] = 0;
  RZ_UNROLL
  for (int i = 0; i < 8; ++i) {
    const Weight e = weigh((v[i] - max) * scale);
    sums[0] += e.w;
    sums[1] += e.w * e.x;
  }
  RZ_UNROLL
  for (int mask = 8; mask > 0; mask /= 2) {
    sums[0] += shfl_xor(sums[0], mask);
    sums[1] += shfl_xor(sums[1], mask);
  }
}

// sum + v[0] + v[1] + ..., one after another as the host does. By one thread: the bits depend on the order.
RZ_DEVICE double add_in_order(double sum, const float *v, int n) {
  int i = 0;
  RZ_NO_UNROLL
  for (; i + 8 <= n; i += 8) {
    RZ_UNROLL
    for (int j = 0; j < 8; ++j) sum += static_cast<double>(v[i + j]);
  }
  for (; i < n; ++i) sum += static_cast<double>(v[i]);
  return sum;
}

// For all threads: what lies in the tiles is added to what has been summed so far.
RZ_DEVICE void add_tiles(ExpSums &sums, int n) {
  SampleShared &s = shared<SampleShared>();
  sync();
  if (thread() == 0) s.sums[0] = add_in_order(sums.weights, s.tile[0], n);
  if (thread() == kWarp) s.sums[1] = add_in_order(sums.weighted, s.tile[1], n);  // another warp, beside it
  sync();
  sums = {s.sums[0], s.sums[1]};
}

// From the chunks' sums that the slices left.
RZ_DEVICE_CALLED ExpSums sums_of_chunks(const RowWork &work, int32_t n) {
  SampleShared &s = shared<SampleShared>();
  const int32_t chunks = (n + kChunk - 1) / kChunk;
  ExpSums sums{0, 0};
  for (int32_t first = 0; first < chunks; first += kTile) {
    const int32_t chunk = first + thread();
    if (chunk < chunks) {
      s.tile[0][thread()] = work.chunks[0][chunk];
      s.tile[1][thread()] = work.chunks[1][chunk];
    }
    add_tiles(sums, chunks - first < kTile ? chunks - first : kTile);
  }
  return sums;
}

// By this block alone.
RZ_DEVICE_CALLED ExpSums sums_of_logits(const float *logits, int32_t n, float max, float scale) {
  SampleShared &s = shared<SampleShared>();
  const int32_t chunks = (n + kChunk - 1) / kChunk;
  ExpSums sums{0, 0};
  RZ_NO_UNROLL
  for (int32_t first = 0; first < chunks; first += kTile) {
    const int32_t some = chunks - first < kTile ? chunks - first : kTile;
    RZ_NO_UNROLL
    for (int32_t i = 2 * warp(); i < some; i += 2 * kSampleWarps) {
      const int32_t at = i + lane() / 16;
      float chunk[2];
      chunk_sums(logits, n, first + at, max, scale, chunk);
      if (lane() % 16 == 0) {  // at most one past `some`, which is even where it is the tile's end
        s.tile[0][at] = chunk[0];
        s.tile[1][at] = chunk[1];
      }
    }
    add_tiles(sums, some);
  }
  return sums;
}

}  // namespace rz::cuda
