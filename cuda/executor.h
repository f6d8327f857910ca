// The CUDA executor: gives the device the kernels of each op in the plan's order and waits for the last of
// them. Ops are in ops.cc; what varies from step to step is in device memory (step_state.h), so a step of a
// known shape is recorded once and replayed. Where the device samples, a second step may be given before the
// first is done.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "cuda/activations.h"
#include "cuda/kernels/kernels.h"
#include "cuda/runtime.h"
#include "cuda/sampler_table.h"
#include "cuda/step_state.h"
#include "cuda/weights.h"

namespace rz::cuda {

// Memory of kernels, sized once from the plan.
struct Scratch {
  float *keys = nullptr, *values = nullptr;  // (max_rows, kv width) before they are appended
  Half *q = nullptr;                         // (max_rows, heads, head_dim)
  float *angles = nullptr;                   // (max_rows, angle_stride) of each rope, one rope after another
  double *frequencies = nullptr;             // of each rope
  int32_t *slots = nullptr, *expert_first = nullptr, *active = nullptr;  // see GroupArgs
  float *gate = nullptr, *up = nullptr;  // (max_rows, ffn) where gate and up are of two formats
  Half *head_rows = nullptr;             // (max_logit_rows, head_stride)
  float *logits = nullptr;               // (max_logit_rows, vocab)
  float *hidden = nullptr;               // (max_rows, hidden)
  int32_t *arrived = nullptr;            // (max_rows, heads), see AttentionArgs
  uint64_t bytes = 0;
};

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(int device, const Plan &plan, const ExecutorOptions &options);
  static Footprint footprint(const Plan &plan, const ExecutorOptions &options);

  int32_t run(const Batch &batch, const RunControl &control) override;
  bool runs_ahead() const override { return true; }
  void begin(const Batch &batch) override;
  void finish(const Batch &batch) override;
  const KvLayout &kv_layout() const override { return kv_; }
  void copy_page(int32_t from, int32_t to) override;
  void read_page(int32_t page, std::byte *out) const override;
  void write_page(int32_t page, const std::byte *in) override;
  int32_t take_seat(const SamplerSeat &seat) override { return seats_.take(queue_, seat); }
  void give_up_seat(int32_t seat) override { seats_.give_up(seat); }
  void read_buffer(BufferId buffer, int32_t rows, float *out) const override;
  void write_buffer(BufferId buffer, int32_t rows, const float *in) override;
  std::vector<ProfileEntry> profile() const override;
  uint64_t compute_bytes() const override { return compute_bytes_; }

 private:
  // ---- executor.cc
  void load(const Batch &batch);
  void compute(const StepShape &shape);
  int32_t compute_in_parts(const Batch &batch, const RunControl &control);
  void make_room(const StepShape &shape);
  void give_results(const Batch &batch);
  template <class Work>
  void one_of_two(const Work &work);
  std::byte *page(int32_t number) const {
    return pages_.data() + static_cast<uint64_t>(number) * kv_.page_bytes;
  }

  // ---- ops.cc: give the device an op's kernels
  void enqueue(const Op &op, const StepShape &shape);
  void enqueue(const EmbedOp &op, const StepShape &shape);
  void enqueue(const NormOp &op, const StepShape &shape);
  void enqueue(const QkvOp &op, const StepShape &shape);
  void enqueue(const AttnOp &op, const StepShape &shape);
  void enqueue(const MatmulAddOp &op, const StepShape &shape);
  void enqueue(const GateUpOp &op, const StepShape &shape);
  void enqueue(const RouteOp &op, const StepShape &shape);
  void enqueue(const MoeGateUpOp &op, const StepShape &shape);
  void enqueue(const MoeDownOp &op, const StepShape &shape);
  void enqueue(const HeadOp &op, const StepShape &shape);
  void enqueue(const PoolOp &op, const StepShape &shape);
  void rope_angles_of(const StepShape &shape);
  void sample_rows(const StepShape &shape);
  void gate_up(MatmulArgs args, int experts);
  MatmulArgs matmul_of(BufferId in, int32_t rows) const;
  MatmulArgs experts_of(BufferId in, int32_t rows, int32_t slots_per_x) const;
  NormWeights weights_of(const Norm &norm) const;
  AttentionArgs attention_of(const AttnOp &op, const StepShape &shape) const;
  Rows rows_of(const StepShape &shape) const;
  KvPages pages_of(int32_t layer) const;

  const Plan &plan_;
  ExecutorOptions options_;
  KvLayout kv_;
  DeviceFacts facts_;
  mutable Queue queue_;
  DeviceWeights weights_;
  Activations activations_;
  StepState state_;
  SamplerTable seats_;
  DeviceMemory pages_, scratch_memory_;
  DeviceMemory states_;       // see AttentionArgs; grows
  DeviceMemory sample_work_;  // see SampleArgs; grows
  Scratch scratch_;
  HostMemory results_;  // logits (max_logit_rows, vocab), then hidden states (max_rows, hidden)
  uint64_t compute_bytes_ = 0;
  std::map<StepShape, std::unique_ptr<Queue::Recording>> recordings_;
  StepShape shape_;                       // of the newest batch
  std::unique_ptr<Queue::Mark> ends_[2];  // of the batches given by begin(), in turn
  uint64_t begun_ = 0, finished_ = 0;
  int32_t active_experts_ = 0;         // of the mixture under way, at most; for the profile
  std::vector<ProfileEntry> profile_;  // by kind of op
};

}  // namespace rz::cuda
