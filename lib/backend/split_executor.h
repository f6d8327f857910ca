// A model computed by two executors: the first has the embeddings and the first layers, the second the last
// layers and all that comes after them, so that logits and sampling are where the last layer is. What is
// alive at the border, the residual stream, is copied over in every run. Its own two plans are cut from the
// model's.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"

namespace rz {

class SplitExecutor final : public Executor {
 public:
  // Compiles both parts. `cut`: the first op of the second one, where a layer begins. Only the second one's
  // progress is reported.
  SplitExecutor(const Plan &plan, int32_t cut, Device &first, Device &second, const ExecutorOptions &options);
  static Footprint footprint(const Plan &plan, int32_t cut, const Device &first, const Device &second,
                             const ExecutorOptions &options);

  int32_t run(const Batch &batch, const RunControl &control) override;
  const KvLayout &kv_layout() const override { return kv_; }
  void copy_page(int32_t from, int32_t to) override;
  void read_page(int32_t page, std::byte *out) const override;
  void write_page(int32_t page, const std::byte *in) override;
  int32_t take_seat(const SamplerSeat &seat) override { return second_->take_seat(seat); }
  void give_up_seat(int32_t seat) override { second_->give_up_seat(seat); }
  // Of the part that ran last.
  void read_buffer(BufferId buffer, int32_t rows, float *out) const override;
  void write_buffer(BufferId buffer, int32_t rows, const float *in) override;
  std::vector<ProfileEntry> profile() const override;
  uint64_t compute_bytes() const override;

 private:
  int32_t run_first(const Batch &batch, RunControl control);
  void hand_over(int32_t rows);

  int32_t cut_;
  Plan first_plan_, second_plan_;
  KvLayout kv_;  // of the whole plan: its pages are the first part's, then the second's
  std::unique_ptr<Executor> first_, second_;
  std::vector<BufferId> crossing_;
  std::vector<float> rows_on_their_way_;  // (max_rows, widest of crossing_)
  const Executor *ran_last_;
};

}  // namespace rz
