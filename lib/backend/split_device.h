// Two devices that share a model (split_executor.h), as one; and how many of a model's layers a GPU has room
// for.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace rz {

class SplitDevice final : public Device {
 public:
  // For models of `layers` layers, of which `second` computes the last `on_second`: 1 to layers - 1.
  SplitDevice(std::shared_ptr<Device> first, std::shared_ptr<Device> second, int32_t on_second,
              int32_t layers);

  const std::string &name() const override { return name_; }
  std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) override;
  Footprint footprint(const Plan &plan, const ExecutorOptions &options) const override;
  Ceilings ceilings() const override { return second_->ceilings(); }
  uint64_t free_bytes() const override { return second_->free_bytes(); }

 private:
  int32_t cut_of(const Plan &plan) const;

  std::shared_ptr<Device> first_, second_;
  int32_t on_second_, layers_;
  std::string name_;  // "cuda:0 (NVIDIA H200), 12 of 28 layers; cpu (avx512, 2 threads)"
};

// How much of a model fits into a device's free memory.
struct LayerFit {
  int32_t layers = 0;         // the last ones; of all of them the embeddings too
  uint64_t needed_bytes = 0;  // for all layers
  uint64_t one_bytes = 0;     // for the last one
  uint64_t free_bytes = 0;
  uint64_t kept_bytes = 0;  // of the free ones, left to what grows while computing
};
LayerFit fit_layers(const Device &device, const Plan &plan, const ExecutorOptions &options);

}  // namespace rz
