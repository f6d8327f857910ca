// rz.h: opening models, and what they would take.
#include "api/handles.h"
#include "api/host_progress.h"
#include "api/model_options.h"
#include "api/source.h"
#include "api/versioned.h"
#include "base/heap.h"
#include "engine/model_identity.h"

namespace rz::api {

namespace {

EngineOptions engine_options(const Model &model, const ModelOptions &options, int32_t pages) {
  EngineOptions engine;
  engine.step = step_limits(model, options);
  engine.context = model.spec.context;
  engine.pages = pages;
  engine.n_ops = static_cast<int32_t>(model.plan.ops.size());
  engine.manual_step = options.manual_step;
  engine.keep_prefixes = options.keep_prefixes;
  engine.pooling = model.spec.pooling;
  engine.tokenizer = model.tokenizer.get();
  engine.model_identity = [&model] { return model_identity(model); };
  return engine;
}

void compile(rz_model &handle, const ModelOptions &options, ChosenDevice &chosen, const Progress &progress) {
  const Model &model = *handle.model;
  ExecutorOptions executor = executor_options(model, options);
  executor.progress = progress;
  chosen.use(model.plan, executor, [&](Device &device) {
    check_memory_limit(model_sizes(model, device, options), options);
    handle.engine = std::make_unique<Engine>(device.compile(model.plan, executor),
                                             engine_options(model, options, executor.pages));
  });
  handle.device = chosen.take();
}

std::unique_ptr<Model> load_headers(const std::shared_ptr<const Source> &source,
                                    const ModelOptions &options) {
  LoadOptions load = options.load;
  load.headers_only = true;
  load.check_tensors = load.lock_memory = false;
  return load_model(source, load);
}

void read_model(rz_model &handle, const std::shared_ptr<const Source> &source, const ModelOptions &options,
                const Progress &progress) {
  handle.logger = options.logger;
  LoadOptions load = options.load;
  load.progress = progress;
  handle.model = load_model(source, load);
  for (const MetadataEntry &entry : handle.model->file->metadata.entries()) {
    handle.metadata.push_back({std::string(entry.key), entry.value.text()});
  }
}

// How much of a load's time passes before a device with memory of its own copies the weights: mapped ones are
// read by that copying, the others are read twice.
float reading_share(const ChosenDevice &device, const Source &source) {
  if (!device.is_plugin()) return 1;
  return source.data() ? 0 : 0.5f;
}

rz_model *load(const std::shared_ptr<const Source> &source, const ModelOptions &options,
               const Progress &progress) {
  auto handle = std::make_unique<rz_model>();
  ChosenDevice device(options.device, options.executor.threads, options.logger);
  if (options.memory_limit_bytes > 0) {  // before anything is read
    const std::unique_ptr<Model> headers = load_headers(source, options);
    device.use(headers->plan, executor_options(*headers, options),
               [&](Device &d) { check_memory_limit(model_sizes(*headers, d, options), options); });
  }
  const float share = reading_share(device, *source);
  ProgressPart reading(progress, 0, share), copying(progress, share, 1);
  read_model(*handle, source, options, reading.progress());
  if (!options.load.vocab_only) compile(*handle, options, device, copying.progress());
  if (share < 1) progress(1);
  return handle.release();
}

// `open` gives the source; the arguments are checked before anything is opened.
template <class Open>
void load_with(const rz_model_options *given, rz_model **out, Open open) {
  need(out, "out");
  *out = nullptr;
  const ModelOptions options = read_model_options(given);
  const rz_model_options raw = take_or_default(given, "options");
  {
    const FloatMode mode;  // also that of the threads which are started here
    HostProgress progress(raw.on_progress, raw.progress_user, mode);
    *out = load(open(options.map), options, progress.progress());
  }
  const Model &model = *(*out)->model;
  options.logger.log(LogLevel::Info, "%s: %s, %.2f billion parameters, context %d, on %s, heap: %s",
                     model.spec.architecture.c_str(), model.quantization.c_str(),
                     static_cast<double>(model.parameters) / 1e9, model.spec.context,
                     (*out)->device ? (*out)->device->name().c_str() : "no device", heap_name());
}

}  // namespace

}  // namespace rz::api

using namespace rz::api;

rz_status rz_model_load(const char *path, const rz_model_options *options, rz_model **out, rz_error *err) {
  return guard(err, [&] { load_with(options, out, [&](bool map) { return open_model_path(path, map); }); });
}

rz_status rz_model_load_source(const rz_source *source, const rz_model_options *options, rz_model **out,
                               rz_error *err) {
  return guard(err, [&] { load_with(options, out, [&](bool map) { return open_source(source, map); }); });
}

rz_model *rz_model_retain(rz_model *model) {
  if (model) model->references.fetch_add(1, std::memory_order_relaxed);
  return model;
}

void rz_model_release(rz_model *model) {
  if (model && model->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete model;
}

rz_status rz_model_estimate(const rz_source *source, const rz_model_options *options, rz_memory_estimate *out,
                            rz_error *err) {
  return guard(err, [&] {
    check_out(out, "out");
    const ModelOptions read = read_model_options(options);
    const rz::FloatMode mode;
    const std::unique_ptr<rz::Model> model = load_headers(open_source(source, read.map), read);
    ModelSizes sizes;
    ChosenDevice device(read.device, read.executor.threads, rz::Logger{});
    device.use(model->plan, executor_options(*model, read),
               [&](rz::Device &d) { sizes = model_sizes(*model, d, read); });
    rz_memory_estimate estimate{};
    estimate.weights_bytes = sizes.weights_bytes;
    estimate.kv_bytes = sizes.kv_bytes;
    estimate.compute_bytes = sizes.compute_bytes;
    estimate.device_bytes = sizes.device_bytes;
    give(estimate, out);
  });
}
