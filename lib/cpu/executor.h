// The CPU executor: a team of threads walks the plan together, one barrier a phase. Ops are in files of their
// own (linear, ops, attention, moe); what they share is here.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "base/threads.h"
#include "cpu/workspace.h"

namespace rz::cpu {

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
  void write_buffer(BufferId buffer, int32_t rows, const float *in) override;
  std::vector<ProfileEntry> profile() const override;
  uint64_t compute_bytes() const override { return space_.bytes(); }

 private:
  // ---- executor.cc
  ThreadTeam::Members members() const;
  void walk(int32_t thread);
  void begin(Lane &lane);  // rope angles of this batch
  void measure(const Op &op, uint64_t us);
  void ask_ahead(size_t op, int32_t thread) const;
  std::byte *page(int32_t number) const {
    return pages_.data() + static_cast<uint64_t>(number) * kv_.page_bytes;
  }
  float *buffer(BufferId id) const {
    return space_.buffers + plan_.buffers[static_cast<size_t>(id)].offset * options_.max_rows;
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
  void multiply(Lane &lane, const Matrix &w, int64_t expert, RowPart rows, const Inputs &in,
                const int32_t *x_rows, int64_t n, float *y, int64_t y_stride);

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

  const Plan &plan_;
  const Kernels &kernels_;
  ExecutorOptions options_;
  KvLayout kv_;
  ThreadTeam team_;
  Workspace space_;
  Memory pages_;
  uint64_t weights_per_row_ = 0;      // multiply-accumulates of a row, but for attention
  uint64_t attention_per_token_ = 0;  // and those for each token it sees

  // By op: the weights that the next op with a matrix begins with, and the rows that its team shares.
  struct Ahead {
    const Matrix *w = nullptr;
    int64_t rows = 0;
  };
  std::vector<Ahead> ahead_;

  // The run under way.
  const Batch *batch_ = nullptr;
  const RunControl *control_ = nullptr;
  std::vector<RowBlock> blocks_;
  int32_t n_active_ = 0;  // experts that rows of this batch chose
  int32_t next_op_ = 0;
  uint64_t start_us_ = 0;
  std::atomic<bool> stop_[2];          // by parity of the op: the slowest thread may still read the last one
  std::vector<ProfileEntry> profile_;  // by kind of op
};

}  // namespace rz::cpu
