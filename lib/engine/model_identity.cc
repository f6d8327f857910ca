#include "engine/model_identity.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace rz {

namespace {

constexpr uint64_t kSample = 64;  // bytes from the front, the middle and the end of a tensor

void append_number(std::string &to, uint64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}

void append_samples(std::string &to, const ModelFile &file, const TensorInfo &tensor) {
  const uint64_t n = std::min(kSample, tensor.size_bytes);
  const std::shared_ptr<const Source> &source = file.sources[static_cast<size_t>(tensor.shard)];
  for (const uint64_t at : {uint64_t{0}, (tensor.size_bytes - n) / 2, tensor.size_bytes - n}) {
    char bytes[kSample];
    source->read_at(tensor.offset + at, bytes, n);
    to.append(bytes, static_cast<size_t>(n));
  }
}

}  // namespace

Hash128 model_identity(const Model &model) {
  const Spec &spec = model.spec;
  std::string what = spec.architecture + '\0';
  for (const int32_t number : {spec.layers, spec.hidden, spec.vocab, spec.heads, spec.kv_heads, spec.head_dim,
                               spec.value_dim, spec.window, spec.experts, spec.experts_used}) {
    append_number(what, static_cast<uint64_t>(number));
  }
  // Scaling can depend on the context that the model was opened for, so the angles count, not the metadata.
  for (const Rope &rope : model.plan.ropes) {
    const auto *bytes = reinterpret_cast<const char *>(rope.frequencies.data());
    what.append(bytes, rope.frequencies.size() * sizeof(double));
  }
  for (const TensorInfo &tensor : model.file->tensors) {
    what.append(tensor.name);
    append_number(what, static_cast<uint64_t>(tensor.type));
    append_number(what, tensor.elements());
    append_samples(what, *model.file, tensor);
  }
  return hash128(what.data(), what.size());
}

}  // namespace rz
