#include "cuda/step_state.h"

#include <algorithm>

#include "cuda/kernels/kernels.h"

namespace rz::cuda {

namespace {

constexpr int kRowArrays = 4, kLogitRowArrays = 2;
constexpr uint64_t kFirstTableBytes = 4096;

// Few sizes, so that few recordings are made; close together where a step is short.
constexpr int32_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

int32_t size_for(int32_t n, int32_t most) {
  for (const int32_t size : kSizes) {
    if (n <= size) return std::min(size, most);
  }
  int32_t size = 128;
  while (size < n) size *= 2;
  return std::min(size, most);
}

}  // namespace

StepShape StepState::shape_of(const Batch &batch, int32_t max_rows, int32_t max_logit_rows) {
  StepShape shape;
  shape.rows = size_for(batch.rows(), max_rows);
  const auto logits = static_cast<int32_t>(batch.logit_rows.size());
  const auto hidden = static_cast<int32_t>(batch.hidden_rows.size());
  shape.logit_rows = logits == 0 ? 0 : size_for(logits, max_logit_rows);
  shape.hidden_rows = hidden == 0 ? 0 : size_for(hidden, max_rows);
  const int32_t last = *std::ranges::max_element(batch.positions);
  shape.chunks = 1;
  while (shape.chunks * kChunkTokens <= last) shape.chunks *= 2;
  shape.sampled = std::ranges::any_of(batch.seats, [](int32_t seat) { return seat >= 0; });
  return shape;
}

uint64_t StepState::bytes(int32_t max_rows, int32_t max_logit_rows) {
  return (static_cast<uint64_t>(max_rows) * kRowArrays +
          static_cast<uint64_t>(max_logit_rows) * kLogitRowArrays) *
         sizeof(int32_t);
}

StepState::StepState(Queue &queue, int32_t max_rows, int32_t max_logit_rows)
    : max_rows_(max_rows),
      max_logit_rows_(max_logit_rows),
      device_(queue.device(), bytes(max_rows, max_logit_rows)),
      device_tables_(queue.device(), kFirstTableBytes) {
  for (HostMemory &host : host_) host = HostMemory(bytes(max_rows, max_logit_rows));
  for (HostMemory &tables : host_tables_) tables = HostMemory(kFirstTableBytes);
}

bool StepState::grow_tables(Queue &queue, uint64_t entries) {
  if (entries * sizeof(int32_t) <= device_tables_.size_bytes()) return false;
  const uint64_t size_bytes = std::max(entries * sizeof(int32_t), 2 * device_tables_.size_bytes());
  queue.wait();  // the step under way reads the old ones
  for (HostMemory &tables : host_tables_) tables = HostMemory(size_bytes);
  device_tables_ = DeviceMemory(queue.device(), size_bytes);
  return true;
}

bool StepState::load(Queue &queue, const Batch &batch, const StepShape &shape) {
  uint64_t entries = 0;
  for (const auto &table : batch.page_tables) entries += table.size();
  const bool moved = grow_tables(queue, entries);
  turn_ = 1 - turn_;
  const auto rows = static_cast<size_t>(batch.rows()), all = static_cast<size_t>(shape.rows);
  std::ranges::copy(batch.tokens, host(0));
  std::ranges::copy(batch.positions, host(1));
  std::fill(host(0) + rows, host(0) + all, 0);
  std::fill(host(1) + rows, host(1) + all, -1);
  int32_t *table = host_tables_[turn_].as<int32_t>();
  int32_t at = 0;
  starts_.clear();
  for (const auto &pages : batch.page_tables) {
    starts_.push_back(at);
    std::ranges::copy(pages, table + at);
    at += static_cast<int32_t>(pages.size());
  }
  for (size_t row = 0; row < rows; ++row) host(2)[row] = starts_[static_cast<size_t>(batch.sequences[row])];
  std::fill(host(2) + rows, host(2) + all, 0);
  const auto fill_up = [](int32_t *to, std::span<const int32_t> from, int32_t size, int32_t with) {
    std::ranges::copy(from, to);
    std::fill(to + from.size(), to + size, with);
  };
  fill_up(host(3), batch.hidden_rows, shape.hidden_rows, 0);
  fill_up(host(4), batch.logit_rows, shape.logit_rows, 0);
  fill_up(host(4) + max_logit_rows_, batch.seats, shape.logit_rows, -1);
  queue.copy_in(device_.data(), host_[turn_].as<std::byte>(), device_.size_bytes());
  if (at > 0) queue.copy_in(device_tables_.data(), table, static_cast<uint64_t>(at) * sizeof(int32_t));
  return moved;
}

}  // namespace rz::cuda
