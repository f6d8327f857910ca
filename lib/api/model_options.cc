#include "api/model_options.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <string_view>

#include "api/versioned.h"
#include "base/cores.h"

namespace rz::api {

namespace {

constexpr int32_t kDefaultBatch = 512, kLargestBatch = 65536;
constexpr int32_t kDefaultSequences = 16, kMostSequences = 4096;
constexpr int32_t kMostThreads = 1024;
// Of a step's rows, so many may want logits even where few timelines run: an evaluation may ask for all of
// its rows.
constexpr int32_t kFewestLogitRows = 16;
constexpr int32_t kFewestTokens =
    8192;  // in the KV pool, so that models of a short context keep some prefixes

int32_t in_range(const char *name, int32_t value, int32_t high, int32_t when_zero) {
  if (value < 0 || value > high) fail(Status::Argument, "%s: expected 0 to %d, found %d", name, high, value);
  return value == 0 ? when_zero : value;
}

Type kv_type(int32_t type) {
  switch (type) {
    case RZ_TYPE_DEFAULT:
    case RZ_TYPE_F16:
      return Type::F16;
    case RZ_TYPE_Q8_0:
      return Type::Q8_0;
    case RZ_TYPE_F8:
      return Type::F8;
    default:
      break;
  }
  if (type < 0 || type > RZ_TYPE_IQ4_XS)
    fail(Status::Argument, "kv_type: expected RZ_TYPE_*, found %d", type);
  fail(Status::Unsupported,
       "kv_type: RZ_TYPE_F16, RZ_TYPE_Q8_0 and, on CUDA devices, RZ_TYPE_F8 are supported, found %d", type);
}

// A device's copy takes the place of mapped pages: they were read once and the system may drop them, but for
// those that another device goes on reading. Weights that were read into memory, or are locked there, stay
// beside it.
uint64_t weights_bytes(const Model &model, const ModelOptions &options, const Footprint &footprint) {
  const uint64_t ours = model.weights_bytes(), copy = footprint.weights_bytes;
  const auto mapped = [](const auto &source) { return source->data() != nullptr; };
  const bool drops = !options.load.lock_memory && std::ranges::all_of(model.file->sources, mapped);
  return drops ? std::max(ours, copy + footprint.read_bytes) : ours + copy;
}

int32_t pages_of(int64_t tokens) { return static_cast<int32_t>((tokens + kPageTokens - 1) / kPageTokens); }

int32_t pool_pages(const Model &model, const ModelOptions &options, uint64_t page_bytes) {
  const int32_t context = model.spec.context;
  const int64_t most = int64_t{pages_of(context)} * options.max_sequences;  // all timelines at full length
  int64_t pages = std::min<int64_t>(pages_of(std::max(context, kFewestTokens)), most);
  if (options.kv_bytes > 0) {
    pages =
        static_cast<int64_t>(std::min<uint64_t>(options.kv_bytes / page_bytes, static_cast<uint64_t>(most)));
  }
  if (pages < 1) {
    fail(Status::Limit, "kv_bytes: one page of %d tokens takes %" PRIu64 ", found %" PRIu64, kPageTokens,
         page_bytes, options.kv_bytes);
  }
  return static_cast<int32_t>(std::min<int64_t>(pages, std::numeric_limits<int32_t>::max() / kPageTokens));
}

}  // namespace

int32_t thread_count(int32_t asked) {
  return worthwhile_threads(in_range("threads", asked, kMostThreads, 0));
}

ModelOptions read_model_options(const rz_model_options *given) {
  const rz_model_options o = take_or_default(given, "options");
  if (o.next) fail(Status::Argument, "options.next: expected NULL in this version");
  check_flags(o.flags,
              RZ_MODEL_NO_MMAP | RZ_MODEL_LOCK_MEMORY | RZ_MODEL_VOCAB_ONLY | RZ_MODEL_CHECK_TENSORS |
                  RZ_MODEL_MANUAL_STEP | RZ_MODEL_PREFIX_CACHE_OFF,
              "options.flags");
  const auto flag = [&](uint32_t bit) { return (o.flags & bit) != 0; };
  ModelOptions options;
  options.device = read_device(o.device, o.cuda_library);
  options.load.context =
      in_range("context_length", o.context_length, std::numeric_limits<int32_t>::max() / 2, 0);
  options.load.vocab_only = flag(RZ_MODEL_VOCAB_ONLY);
  if (options.load.vocab_only) options.device = DeviceChoice::any_cpu();  // it will have nothing to do
  options.load.lock_memory = flag(RZ_MODEL_LOCK_MEMORY);
  options.load.check_tensors = flag(RZ_MODEL_CHECK_TENSORS);
  options.max_sequences = in_range("max_sequences", o.max_sequences, kMostSequences, kDefaultSequences);
  ExecutorOptions &executor = options.executor;
  executor.threads = thread_count(o.threads);
  executor.max_rows = in_range("max_batch", o.max_batch, kLargestBatch, kDefaultBatch);
  executor.max_logit_rows = std::min(executor.max_rows, std::max(options.max_sequences, kFewestLogitRows));
  executor.kv_type = kv_type(o.kv_type);
  executor.gpu_layers = in_range("gpu_layers", o.gpu_layers, std::numeric_limits<int32_t>::max(), 0);
  options.kv_bytes = o.kv_bytes;
  options.memory_limit_bytes = o.memory_limit_bytes;
  options.map = !flag(RZ_MODEL_NO_MMAP);
  options.manual_step = flag(RZ_MODEL_MANUAL_STEP);
  options.keep_prefixes = !flag(RZ_MODEL_PREFIX_CACHE_OFF);
  const int32_t level = in_range("log_level", o.log_level, RZ_LOG_DEBUG, RZ_LOG_INFO);
  options.logger = {o.on_log, o.log_user, static_cast<LogLevel>(level)};
  return options;
}

StepLimits step_limits(const Model &model, const ModelOptions &options) {
  StepLimits limits;
  limits.rows = options.executor.max_rows;
  limits.sequences = options.max_sequences;
  limits.logit_rows = options.executor.max_logit_rows;
  limits.vocab = model.plan.vocab;
  limits.hidden = model.plan.hidden;
  return limits;
}

ExecutorOptions executor_options(const Model &model, const ModelOptions &options) {
  ExecutorOptions executor = options.executor;
  if (options.load.vocab_only) return executor;
  executor.pages = pool_pages(model, options, KvLayout::make(model.plan, executor.kv_type).page_bytes);
  return executor;
}

ModelSizes model_sizes(const Model &model, const Device &device, const ModelOptions &options) {
  ModelSizes sizes;
  sizes.weights_bytes = model.weights_bytes();
  if (options.load.vocab_only) return sizes;
  const ExecutorOptions executor = executor_options(model, options);
  sizes.kv_bytes =
      static_cast<uint64_t>(executor.pages) * KvLayout::make(model.plan, executor.kv_type).page_bytes;
  const Footprint footprint = device.footprint(model.plan, executor);
  sizes.weights_bytes = weights_bytes(model, options, footprint);
  sizes.compute_bytes = footprint.compute_bytes + Step::bytes(step_limits(model, options));
  sizes.device_bytes = footprint.device_bytes;
  return sizes;
}

void check_memory_limit(const ModelSizes &sizes, const ModelOptions &options) {
  if (options.memory_limit_bytes == 0 || sizes.total() <= options.memory_limit_bytes) return;
  fail(Status::Limit,
       "memory_limit_bytes: %" PRIu64 " allowed, %" PRIu64 " needed (weights %" PRIu64 ", KV %" PRIu64
       ", computing %" PRIu64 ")",
       options.memory_limit_bytes, sizes.total(), sizes.weights_bytes, sizes.kv_bytes, sizes.compute_bytes);
}

}  // namespace rz::api
