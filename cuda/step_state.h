// What changes from step to step: tokens, positions, page tables, the rows whose logits are wanted. It lies
// in memory of the host and is copied to the same places of the device before each step, so that recorded
// work is replayed as it is. The host keeps two of them: one step may be given while another is under way.
//
// Recorded work has a fixed number of rows. A batch is filled up to the next size in the list below with rows
// at position -1, which every kernel leaves alone.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "cuda/runtime.h"

namespace rz::cuda {

// The sizes of a step: work recorded for one serves all batches that fit.
struct StepShape {
  int32_t rows = 0;         // of the batch
  int32_t logit_rows = 0;   // that want logits
  int32_t hidden_rows = 0;  // that want their hidden state
  int32_t chunks = 0;       // most of attention that a row may have
  bool sampled = false;     // some of the logit rows have a seat at the sampler
  auto operator<=>(const StepShape &) const = default;
};

class StepState {
 public:
  StepState(Queue &queue, int32_t max_rows, int32_t max_logit_rows);
  static uint64_t bytes(int32_t max_rows, int32_t max_logit_rows);  // without tables

  static StepShape shape_of(const Batch &batch, int32_t max_rows, int32_t max_logit_rows);
  // Gives the batch to the device, where the batch but one before is done. True: the tables moved, and work
  // recorded before has their old place.
  bool load(Queue &queue, const Batch &batch, const StepShape &shape);

  // On the device.
  const int32_t *tokens() const { return at(0); }  // below 0: see EmbedArgs::index
  const int32_t *positions() const { return at(1); }
  const int32_t *table_of_row() const { return at(2); }
  const int32_t *hidden_rows() const { return at(3); }
  const int32_t *logit_rows() const { return at(4); }
  const int32_t *seats() const { return logit_rows() + max_logit_rows_; }
  const int32_t *tables() const { return device_tables_.as<int32_t>(); }

 private:
  const int32_t *at(int array) const { return device_.as<int32_t>() + array * max_rows_; }
  int32_t *host(int array) const { return host_[turn_].as<int32_t>() + array * max_rows_; }
  bool grow_tables(Queue &queue, uint64_t entries);

  int32_t max_rows_, max_logit_rows_;
  int turn_ = 0;         // which of the host's two is filled
  HostMemory host_[2];   // (4, max_rows), then (2, max_logit_rows)
  DeviceMemory device_;  // the same
  HostMemory host_tables_[2];
  DeviceMemory device_tables_;
  std::vector<int32_t> starts_;  // where each sequence's table begins
};

}  // namespace rz::cuda
