// A tensor goes through in stretches: read on the calling thread (a host's storage is asked by no other),
// decoded and encoded chunk by chunk by all threads, written in order.
#include "model/quantize.h"

#include <algorithm>
#include <cinttypes>
#include <exception>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/threads.h"
#include "format/gguf_writer.h"
#include "format/model_file.h"
#include "quant/mix.h"

namespace rz {
namespace {

// Weights; every format's blocks divide them, and a tensor's own rows are whole blocks.
constexpr uint64_t kChunk = 1 << 16;        // one thread's turn: some milliseconds, and it stays in its cache
constexpr uint64_t kStretch = 64 * kChunk;  // between two writes: at most 16 MiB in and 16 MiB out

constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kVersion = "general.quantization_version";
constexpr std::string_view kSplit = "split.";  // how a file in shards says so

// One stretch of a tensor on its way from one format to the other. The threads take chunks from the team's
// count.
struct Stretch {
  ThreadTeam &team;
  const TensorInfo &tensor;
  Type to;
  const std::byte *in;                       // (bytes_of(tensor.type, n))
  std::byte *out;                            // (bytes_of(to, n))
  uint64_t begin, n;                         // of the tensor's weights
  std::vector<std::exception_ptr> failures;  // by chunk: the first in the file is the one reported

  void run() {
    failures.assign((n + kChunk - 1) / kChunk, nullptr);
    team.run(
        ThreadTeam::Members::All, [](void *self, int32_t) { static_cast<Stretch *>(self)->work(); }, this);
    for (const std::exception_ptr &failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  void work() noexcept {
    std::vector<float> weights;  // (kChunk)
    for (;;) {
      const auto chunk = static_cast<uint64_t>(team.take());
      if (chunk >= failures.size()) return;
      try {
        weights.resize(kChunk);
        recode(chunk * kChunk, weights.data());
      } catch (...) {
        failures[chunk] = std::current_exception();
      }
    }
  }

  void recode(uint64_t at, float *weights) const {
    const uint64_t count = std::min(kChunk, n - at);
    const auto signed_count = static_cast<int64_t>(count);
    traits(tensor.type).decode(in + bytes_of(tensor.type, at), weights, signed_count);
    try {
      traits(to).encode(weights, out + bytes_of(to, at), signed_count);
    } catch (const Error &error) {
      fail(error.status(), "%.*s: weights from %" PRIu64 " on: %s", static_cast<int>(tensor.name.size()),
           tensor.name.data(), begin + at, error.what());
    }
  }
};

// What the mix wants to know. Keys that give one number a layer count by the first.
int first_integer(const ModelFile &file, const std::string &key) {
  const Value *value = file.metadata.find(key);
  if (value && value->type == ValueType::Array) {
    const ArrayValue &each = file.metadata.array(key);
    return each.count > 0 ? static_cast<int>(std::clamp<int64_t>(each.integer(0), 0, INT32_MAX)) : 0;
  }
  return static_cast<int>(file.metadata.integer_or(key, 0, INT32_MAX, 0));
}

MixModel mix_model(const ModelFile &file) {
  const std::string prefix = std::string(file.metadata.string_or("general.architecture", "")) + ".";
  MixModel model;
  model.n_layers = first_integer(file, prefix + "block_count");
  model.n_heads = first_integer(file, prefix + "attention.head_count");
  model.n_kv_heads = first_integer(file, prefix + "attention.head_count_kv");
  if (model.n_kv_heads == 0) model.n_kv_heads = model.n_heads;
  model.n_experts = first_integer(file, prefix + "expert_count");
  std::vector<std::string_view> names;
  for (const TensorInfo &tensor : file.tensors) names.push_back(tensor.name);
  model.survey(names);
  return model;
}

class Quantizer {
 public:
  Quantizer(const ModelFile &file, const Mix &mix, const std::string &out_path, int32_t threads,
            const Progress &progress)
      : file_(file), mix_(mix), progress_(progress), team_(threads), writer_(out_path) {}

  void run() {
    progress_(0);
    add_metadata();
    announce();
    for (size_t i = 0; i < file_.tensors.size(); ++i) write(file_.tensors[i], types_[i]);
    if (total_bytes_ == 0) progress_(1);
    writer_.finish();
  }

 private:
  void add_metadata() {
    for (const auto &[key, value] : file_.metadata.entries()) {
      if (key != kFileType && key != kVersion && !key.starts_with(kSplit)) writer_.add(key, value);
    }
    writer_.add_u32(kFileType, mix_.file_type);
    writer_.add_u32(kVersion, kQuantizationVersion);
  }

  void announce() {
    const MixModel model = mix_model(file_);
    for (const TensorInfo &tensor : file_.tensors) {
      const std::span dims = std::span(tensor.dims).first(static_cast<size_t>(tensor.n_dims));
      types_.push_back(type_for(mix_, model, tensor.name, dims, tensor.type));
      writer_.add_tensor(tensor.name, types_.back(), dims);
      total_bytes_ += tensor.size_bytes;
    }
  }

  void write(const TensorInfo &tensor, Type type) {
    const uint64_t n = tensor.elements();
    for (uint64_t begin = 0; begin < n; begin += kStretch) {
      const uint64_t count = std::min(kStretch, n - begin);
      const uint64_t bytes = bytes_of(tensor.type, count);
      const std::byte *in = read(tensor, bytes_of(tensor.type, begin), bytes);
      if (type == tensor.type) {
        writer_.write_part({in, bytes});
      } else {
        out_.resize(bytes_of(type, count));
        Stretch{team_, tensor, type, in, out_.data(), begin, count, {}}.run();
        writer_.write_part(out_);
      }
      done_bytes_ += bytes;
      progress_(static_cast<float>(static_cast<double>(done_bytes_) / static_cast<double>(total_bytes_)));
    }
  }

  // Bytes of the tensor, where they are mapped or read; good until the next call.
  const std::byte *read(const TensorInfo &tensor, uint64_t offset, uint64_t size) {
    if (const std::byte *mapped = file_.mapped(tensor)) return mapped + offset;
    in_.resize(size);
    file_.sources[static_cast<size_t>(tensor.shard)]->read_at(tensor.offset + offset, in_.data(), size);
    return in_.data();
  }

  const ModelFile &file_;
  const Mix &mix_;
  const Progress &progress_;
  ThreadTeam team_;
  GgufWriter writer_;
  std::vector<Type> types_;          // by tensor
  std::vector<std::byte> in_, out_;  // of one stretch
  uint64_t done_bytes_ = 0, total_bytes_ = 0;
};

}  // namespace

void quantize_file(std::shared_ptr<const Source> source, const std::string &out_path, std::string_view scheme,
                   int32_t threads, const Progress &progress) {
  const Mix *mix = find_mix(scheme);
  if (!mix) {
    fail(Status::Argument, "scheme: expected one of %s, found \"%.*s\"", mix_names().c_str(),
         static_cast<int>(std::min<size_t>(scheme.size(), 64)), scheme.data());
  }
  const std::unique_ptr<ModelFile> file = open_model_file(std::move(source));
  Quantizer(*file, *mix, out_path, threads, progress).run();
}

}  // namespace rz
