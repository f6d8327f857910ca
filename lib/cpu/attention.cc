// Attention for the team. A unit of work is a block of rows of one sequence and a kv head; a long context of
// few rows is split over chunks of pages too. Chunks are the same on every path, and are merged in order.
#include <algorithm>

#include "cpu/executor.h"

namespace rz::cpu {

void CpuExecutor::split_rows() {
  blocks_.clear();
  for (int32_t row = 0; row < batch_->rows(); ++row) {
    const auto r = static_cast<size_t>(row);
    const bool joins =
        !blocks_.empty() && blocks_.back().n < kBlockRows && batch_->sequences[r] == batch_->sequences[r - 1];
    if (joins) {
      ++blocks_.back().n;
    } else {
      blocks_.push_back({row, 1});
    }
  }
}

int32_t CpuExecutor::gather_queries(const AttnOp &op, RowBlock block, int32_t kv_head, float *states,
                                    AttnQuery *queries) const {
  const int32_t group = op.heads / op.kv_heads;
  const int64_t state = state_floats(op.value_dim);
  int32_t n = 0;
  for (int32_t row = block.first; row < block.first + block.n; ++row) {
    const int32_t last = batch_->positions[static_cast<size_t>(row)];
    const int32_t first = op.window != 0 ? std::max(0, last - op.window + 1) : 0;
    for (int32_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      queries[n] = {buffer(op.q) + (static_cast<int64_t>(row) * op.heads + h) * op.head_dim, first, last,
                    states + n * state};
      ++n;
    }
  }
  return n;
}

void CpuExecutor::attend_chunk(const AttnOp &op, RowBlock block, int32_t kv_head, int32_t chunk,
                               AttnQuery *queries, int32_t n) const {
  const std::byte *k[kChunkPages], *v[kChunkPages];
  const auto table =
      batch_->page_tables[static_cast<size_t>(batch_->sequences[static_cast<size_t>(block.first)])];
  const KvLayout::Layer &layer = kv_.layers[static_cast<size_t>(op.layer)];
  const int32_t first_page = std::max(chunk * kChunkPages, queries[0].first / kPageTokens);
  const int32_t last_page = std::min((chunk + 1) * kChunkPages - 1, queries[n - 1].last / kPageTokens);
  for (int32_t p = first_page; p <= last_page; ++p) {
    const std::byte *at = page(table[static_cast<size_t>(p)]);
    k[p - first_page] = at + layer.k_offset + static_cast<uint64_t>(kv_head) * layer.k_head_bytes;
    v[p - first_page] = at + layer.v_offset + static_cast<uint64_t>(kv_head) * layer.v_head_bytes;
  }
  kernels_.attend({kv_.type, k, v, first_page * kPageTokens, last_page - first_page + 1, op.head_dim,
                   op.value_dim, op.scale, op.softcap, queries, n});
}

void CpuExecutor::attend_block(const AttnOp &op, RowBlock block, int32_t kv_head, Lane &lane) {
  const int64_t state = state_floats(op.value_dim);
  const int32_t group = op.heads / op.kv_heads;
  float *total = lane.states, *part = lane.states + static_cast<int64_t>(block.n) * group * state;
  const int32_t n = gather_queries(op, block, kv_head, total, lane.queries);
  constexpr int32_t kChunkTokens = kChunkPages * kPageTokens;
  const int32_t first = lane.queries[0].first / kChunkTokens, last = lane.queries[n - 1].last / kChunkTokens;
  attend_chunk(op, block, kv_head, first, lane.queries, n);
  for (int32_t chunk = first + 1; chunk <= last; ++chunk) {
    for (int32_t i = 0; i < n; ++i) lane.queries[i].state = part + i * state;
    attend_chunk(op, block, kv_head, chunk, lane.queries, n);
    for (int32_t i = 0; i < n; ++i) kernels_.merge(total + i * state, part + i * state, op.value_dim);
  }
  for (int32_t i = 0; i < n; ++i) {
    const int64_t row = block.first + i / group, head = kv_head * group + i % group;
    kernels_.finish(total + i * state, buffer(op.out) + (row * op.heads + head) * op.value_dim, op.value_dim);
  }
}

// One row a block; states of all chunks side by side, then merged by row and head.
void CpuExecutor::attend_split(const AttnOp &op, Lane &lane) {
  constexpr int32_t kChunkTokens = kChunkPages * kPageTokens;
  const int64_t state = state_floats(op.value_dim);
  const int32_t group = op.heads / op.kv_heads;
  const auto n = static_cast<int32_t>(rows());
  const auto range_of = [&](int32_t row) {
    const int32_t last = batch_->positions[static_cast<size_t>(row)];
    const int32_t first = op.window != 0 ? std::max(0, last - op.window + 1) : 0;
    return std::pair(first / kChunkTokens, last / kChunkTokens);
  };
  const auto states_of = [&](int32_t chunk, int32_t row, int32_t head) {
    return space_.split_states + ((static_cast<int64_t>(chunk) * kSplitRows + row) * op.heads + head) * state;
  };
  int64_t u = team_.take(), done = 0;
  for (int32_t row = 0; row < n; ++row) {
    const auto [first, last] = range_of(row);
    for (int32_t chunk = first; chunk <= last; ++chunk) {
      for (; u < done + op.kv_heads; u = team_.take()) {
        const auto kv_head = static_cast<int32_t>(u - done);
        const int32_t count =
            gather_queries(op, {row, 1}, kv_head, states_of(chunk, row, kv_head * group), lane.queries);
        attend_chunk(op, {row, 1}, kv_head, chunk, lane.queries, count);
      }
      done += op.kv_heads;
    }
  }
  team_.barrier();
  for (int32_t i = lane.thread; i < n * op.heads; i += team_.active()) {
    const int32_t row = i / op.heads, head = i % op.heads;
    const auto [first, last] = range_of(row);
    float *total = states_of(first, row, head);
    for (int32_t chunk = first + 1; chunk <= last; ++chunk)
      kernels_.merge(total, states_of(chunk, row, head), op.value_dim);
    kernels_.finish(total, buffer(op.out) + static_cast<int64_t>(i) * op.value_dim, op.value_dim);
  }
}

void CpuExecutor::run_op(const AttnOp &op, Lane &lane) {
  const auto units = static_cast<int64_t>(blocks_.size()) * op.kv_heads;
  const bool spread = rows() <= kSplitRows && team_.active() > 1 && units < team_.active() * 8;
  if (spread) return attend_split(op, lane);
  for (int64_t u = team_.take(); u < units; u = team_.take()) {
    // The last rows of a prompt have the longest contexts: they come first, so that no thread is left with
    // one.
    const auto block = static_cast<int64_t>(blocks_.size()) - 1 - u / op.kv_heads;
    attend_block(op, blocks_[static_cast<size_t>(block)], static_cast<int32_t>(u % op.kv_heads), lane);
  }
}

}  // namespace rz::cpu
