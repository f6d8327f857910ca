// rz_model_options, checked and with defaults put in, and what a model opened with them will take of memory.
#pragma once

#include "api/device.h"
#include "backend/backend.h"
#include "engine/engine.h"
#include "model/model.h"
#include "rz.h"

namespace rz::api {

struct ModelOptions {
  LoadOptions load;          // without its progress
  ExecutorOptions executor;  // without its pages and progress
  DeviceChoice device;
  int32_t max_sequences = 0;
  uint64_t kv_bytes = 0;            // 0 = by context
  uint64_t memory_limit_bytes = 0;  // 0 = none
  bool map = true, manual_step = false, keep_prefixes = true;
  Logger logger;
};

int32_t thread_count(int32_t asked);  // those worth starting; 0 = the library's choice

ModelOptions read_model_options(const rz_model_options *options);

struct ModelSizes {
  uint64_t weights_bytes = 0, kv_bytes = 0, compute_bytes = 0;
  uint64_t device_bytes = 0;  // of these
  uint64_t total() const { return weights_bytes + kv_bytes + compute_bytes; }
};

// With the pages of the KV pool.
ExecutorOptions executor_options(const Model &model, const ModelOptions &options);
ModelSizes model_sizes(const Model &model, const Device &device, const ModelOptions &options);
StepLimits step_limits(const Model &model, const ModelOptions &options);
// Throws Limit, with the figures, when the model would take more than the host allows.
void check_memory_limit(const ModelSizes &sizes, const ModelOptions &options);

}  // namespace rz::api
