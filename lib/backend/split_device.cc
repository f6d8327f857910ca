#include "backend/split_device.h"

#include <algorithm>

#include "backend/split_executor.h"
#include "base/error.h"

namespace rz {

namespace {

// Attention's states and the sampler's lists grow with the steps that come, work is recorded, weights pass
// through 32 MiB while they are copied, and other programs use a GPU too.
constexpr uint64_t kMostKept = uint64_t{512} << 20;
constexpr uint64_t kKeptShare = 8;  // of small memories an eighth

}  // namespace

SplitDevice::SplitDevice(std::shared_ptr<Device> first, std::shared_ptr<Device> second, int32_t on_second,
                         int32_t layers)
    : first_(std::move(first)),
      second_(std::move(second)),
      on_second_(on_second),
      layers_(layers),
      name_(second_->name() + ", " + std::to_string(on_second) + " of " + std::to_string(layers) +
            " layers; " + first_->name()) {
  if (on_second < 1 || on_second >= layers) {
    fail(Status::Internal, "split: expected 1 to %d layers, found %d", layers - 1, on_second);
  }
}

int32_t SplitDevice::cut_of(const Plan &plan) const {
  if (plan.kv.size() != static_cast<size_t>(layers_)) {
    fail(Status::Internal, "split: expected a plan of %d layers, found %zu", layers_, plan.kv.size());
  }
  return plan.layer_begin(layers_ - on_second_);
}

std::unique_ptr<Executor> SplitDevice::compile(const Plan &plan, const ExecutorOptions &options) {
  return std::make_unique<SplitExecutor>(plan, cut_of(plan), *first_, *second_, options);
}

Footprint SplitDevice::footprint(const Plan &plan, const ExecutorOptions &options) const {
  return SplitExecutor::footprint(plan, cut_of(plan), *first_, *second_, options);
}

LayerFit fit_layers(const Device &device, const Plan &plan, const ExecutorOptions &options) {
  const auto layers = static_cast<int32_t>(plan.kv.size()), ops = static_cast<int32_t>(plan.ops.size());
  const auto bytes_for = [&](int32_t last) {
    const int32_t first_op = last < layers ? plan.layer_begin(layers - last) : 0;
    return device.footprint(plan.part(first_op, ops), options).device_bytes;
  };
  LayerFit fit;
  fit.free_bytes = device.free_bytes();
  fit.kept_bytes = std::min(fit.free_bytes / kKeptShare, kMostKept);
  const uint64_t room = fit.free_bytes - fit.kept_bytes;
  fit.needed_bytes = bytes_for(layers);
  fit.one_bytes = bytes_for(1);
  if (fit.needed_bytes <= room) {
    fit.layers = layers;
    return fit;
  }
  int32_t too_many = layers;  // one more layer never takes less
  while (too_many - fit.layers > 1) {
    const int32_t half = (fit.layers + too_many) / 2;
    (bytes_for(half) <= room ? fit.layers : too_many) = half;
  }
  return fit;
}

}  // namespace rz
