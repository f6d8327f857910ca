// The executor's memory besides weights and KV: sized once from the largest op of each kind and carved into
// the pieces that ops and threads work in, so that a step allocates nothing.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "base/arena.h"
#include "cpu/kernels.h"
#include "cpu/row_work.h"

namespace rz::cpu {

constexpr int32_t kBlockRows = 8;    // prompt rows that share a pass over the pages
constexpr int32_t kChunkPages = 16;  // pages summed up before they are merged: 512 tokens, on every path
constexpr int32_t kSplitRows = 4;    // batches up to this size may split their pages over threads
constexpr int64_t kPrivateValues =
    16384;  // activations that every thread quantizes for itself rather than wait

// What one thread works with.
struct Lane {
  int32_t thread;
  int8_t *codes;  // private quantized activations: kPrivateValues for each kind
  float *scales;
  int16_t *sums;
  std::byte *work;  // of the matmul kernels
  float *tile;      // (max_rows, kTileCols) results on their way to a buffer
  float *tile2;     // the same again, for pairs
  float *states;    // attention: the queries' states, twice
  AttnQuery *queries;
};

// Floats of a query's state, with room for whole vectors of values.
constexpr int64_t state_floats(int32_t value_dim) { return kStateHeader + (value_dim + 15) / 16 * 16; }

class Workspace {
 public:
  // Throws Unsupported where a weight's type has no kernel. `allocate` false: only bytes() is of use.
  Workspace(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options, int32_t threads,
            bool allocate);

  uint64_t bytes() const { return bytes_; }

  // Shared by the team:
  float *buffers = nullptr;   // the plan's, see BufferInfo::offset
  Activations blocks, super;  // quantized rows
  float *rope = nullptr;      // (max_rows, rope_width): cos then sin of each rope's pairs
  int64_t rope_width = 0;
  float *keys = nullptr;  // (max_rows, kv width) before they are appended
  float *values = nullptr;
  float *head_rows = nullptr;       // (max_logit_rows, hidden)
  float *router = nullptr;          // (max_rows, experts)
  float *split_states = nullptr;    // (chunks, kSplitRows, heads, state)
  int32_t *slots = nullptr;         // (max_rows x used) row * used + slot, grouped by expert
  int32_t *slot_rows = nullptr;     // (max_rows x used) their rows
  int32_t *expert_first = nullptr;  // (experts + 1) where each expert's slots begin
  int32_t *active = nullptr;        // (experts) those with slots
  std::vector<Lane> lanes;          // one a thread

 private:
  void measure(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options);
  uint64_t carve_shared(std::byte *base, const Plan &plan, const ExecutorOptions &options);
  uint64_t carve_lanes(std::byte *base, const Plan &plan, const ExecutorOptions &options, int32_t threads);

  // Largest sizes over the plan's ops.
  int64_t input_values_ = 0, states_ = 0, queries_ = 0, experts_ = 0, slots_per_batch_ = 0, kv_width_ = 0;
  int64_t split_floats_ = 0;
  Memory shared_, private_;
  uint64_t bytes_ = 0;
};

}  // namespace rz::cpu
