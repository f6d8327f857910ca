// The CPU executor: a team of threads walks the plan together, one barrier a phase. Ops are in files of their
// own (linear, ops, attention, moe); what they share is here.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/threads.h"
#include "cpu/kernels.h"

namespace rz::cpu {

constexpr int32_t kBlockRows = 8;    // prompt rows that share a pass over the pages
constexpr int32_t kChunkPages = 16;  // pages summed up before they are merged: 512 tokens, on every path
constexpr int32_t kSplitRows = 4;    // batches up to this size may split their pages over threads
constexpr int64_t kPrivateValues =
    16384;  // activations that every thread quantizes for itself rather than wait

// What one thread works with.
struct Lane {
  int32_t thread;
  // Carved from the thread's own memory:
  int8_t *codes;  // private quantized activations, kPrivateValues of them
  float *scales;
  int16_t *sums;
  std::byte *work;  // of the matmul kernels
  float *tile;      // (max_rows, kTileCols) results on their way to a buffer
  float *tile2;     // the same again, for pairs
  float *states;    // attention: queries' states
  AttnQuery *queries;
};
constexpr int64_t kTileCols = 64;

// Consecutive rows of one sequence.
struct RowBlock {
  int32_t first, n;
};

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options);

  int32_t run(const Batch &batch, const RunControl &control) override;
  const KvLayout &kv_layout() const override { return kv_; }
  void copy_page(int32_t from, int32_t to) override;
  void read_page(int32_t page, std::byte *out) const override;
  void write_page(int32_t page, const std::byte *in) override;
  void read_buffer(BufferId buffer, int32_t rows, float *out) const override;
  std::vector<ProfileEntry> profile() const override;
  uint64_t compute_bytes() const override { return compute_bytes_; }

 private:
  // ---- executor.cc
  void walk(int32_t thread);
  void begin(Lane &lane);  // rope angles of this batch
  void measure(const Op &op, uint64_t us);
  std::byte *page(int32_t number) const {
    return pages_.data() + static_cast<uint64_t>(number) * kv_.page_bytes;
  }
  float *buffer(BufferId id) const {
    return arena_.as<float>() + plan_.buffers[static_cast<size_t>(id)].offset * options_.max_rows;
  }
  int64_t width(BufferId id) const { return plan_.buffers[static_cast<size_t>(id)].width; }
  int64_t rows() const { return batch_->rows(); }

  // ---- linear.cc: y = W x
  // Activation rows in the forms that some matrices want, indexed by ActKind.
  struct Inputs {
    Activations as[kActKinds];
    int64_t n;
  };
  ActKind kind_of(const Matrix &w) const { return kernels_.matmul[static_cast<int>(w.type)].activations; }
  // x: (n, x_stride), cols of each used. All threads call it; x must have been written before a barrier.
  Inputs prepare(Lane &lane, std::initializer_list<const Matrix *> matrices, const float *x, int64_t n,
                 int64_t cols);
  // y[i, r - first] for rows [first, first + n_rows) of expert `expert` and the activation rows x_rows (null:
  // all).
  void multiply(Lane &lane, const Matrix &w, int64_t expert, int64_t first, int64_t n_rows, const Inputs &in,
                const int32_t *x_rows, int64_t n, float *y, int64_t y_stride);
  // Rows of a matrix that make one unit of work when `total` rows are to be done for n activation rows.
  int64_t unit_rows(int64_t total, int64_t n) const;

  // ---- ops.cc
  void run_op(const EmbedOp &op, Lane &lane);
  void run_op(const NormOp &op, Lane &lane);
  void run_op(const QkvOp &op, Lane &lane);
  void run_op(const MatmulAddOp &op, Lane &lane);
  void run_op(const GateUpOp &op, Lane &lane);
  void run_op(const HeadOp &op, Lane &lane);
  void run_op(const PoolOp &op, Lane &lane);
  void append_row(const QkvOp &op, int64_t row);
  void add_normed(const Norm &norm, const float *term, float *x, int64_t n, int64_t width);

  // ---- attention.cc
  void run_op(const AttnOp &op, Lane &lane);
  void split_rows();  // fills blocks_
  int32_t gather_queries(const AttnOp &op, RowBlock block, int32_t kv_head, float *states,
                         AttnQuery *queries) const;
  void attend_chunk(const AttnOp &op, RowBlock block, int32_t kv_head, int32_t chunk, AttnQuery *queries,
                    int32_t n) const;
  void attend_block(const AttnOp &op, RowBlock block, int32_t kv_head, Lane &lane);
  void attend_split(const AttnOp &op, Lane &lane);

  // ---- moe.cc
  void run_op(const RouteOp &op, Lane &lane);
  void run_op(const MoeGateUpOp &op, Lane &lane);
  void run_op(const MoeDownOp &op, Lane &lane);
  void choose_experts(const RouteOp &op, int64_t row);
  void group_by_expert(const RouteOp &op);

  void size_workspaces();

  const Plan &plan_;
  const Kernels &kernels_;
  ExecutorOptions options_;
  KvLayout kv_;
  ThreadTeam team_;
  Memory arena_, pages_, shared_, private_;
  uint64_t compute_bytes_ = 0;
  std::vector<Lane> lanes_;  // one a thread

  // Largest sizes over the plan's ops.
  int64_t max_cols_ = 0, max_input_values_ = 0, max_states_ = 0, max_queries_ = 0, max_experts_ = 0,
          max_slots_ = 0;
  int64_t max_kv_width_ = 0, rope_width_ = 0, max_split_states_ = 0;

  // Carved from shared_:
  Activations shared_blocks_, shared_super_;
  float *rope_ = nullptr;  // (ropes, max_rows, cos then sin of each pair)
  float *keys_ = nullptr;  // (max_rows, kv width) before they are appended
  float *values_ = nullptr;
  float *head_rows_ = nullptr;       // (max_logit_rows, hidden)
  float *router_ = nullptr;          // (max_rows, experts)
  float *split_states_ = nullptr;    // (chunks, rows, heads, state) of split attention
  int32_t *slots_ = nullptr;         // (max_rows x used) row * used + slot, grouped by expert
  int32_t *slot_rows_ = nullptr;     // (max_rows x used) their rows
  int32_t *expert_first_ = nullptr;  // (experts + 1) where each expert's slots begin
  int32_t *active_ = nullptr;        // (experts) those with slots
  int32_t n_active_ = 0;

  // The run under way.
  const Batch *batch_ = nullptr;
  const RunControl *control_ = nullptr;
  std::vector<RowBlock> blocks_;
  int32_t next_op_ = 0;
  uint64_t start_us_ = 0;
  std::atomic<bool> stop_[2];          // by parity of the op: the slowest thread may still read the last one
  std::vector<ProfileEntry> profile_;  // by kind of op
};

}  // namespace rz::cpu
