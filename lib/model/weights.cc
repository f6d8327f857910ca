// Binds tensors to the Plan. A mapped tensor is used where it lies; only what is not mapped or must be
// converted is copied.
#include "model/weights.h"

#include <span>

#include "base/checked.h"
#include "base/error.h"

namespace rz {
namespace {

std::string shape_text(std::span<const int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

// Trailing dimensions of 1 mean nothing: a file may write (64) or (64, 1).
void check_shape(const TensorInfo &tensor, std::span<const int64_t> expected) {
  for (size_t i = 0; i < kMaxDims; ++i) {
    if (tensor.dims[i] == (i < expected.size() ? expected[i] : 1)) continue;
    fail(Status::Format, "%.*s: expected %s, found %s", static_cast<int>(tensor.name.size()),
         tensor.name.data(), shape_text(expected).c_str(), tensor.shape().c_str());
  }
}

void check_type(const TensorInfo &tensor) {
  if (traits(tensor.type).decode) return;
  fail(Status::Unsupported, "%.*s: expected a type of weights, found %s",
       static_cast<int>(tensor.name.size()), tensor.name.data(), traits(tensor.type).name);
}

}  // namespace

Weights::Weights(const ModelFile &file, Read read, const Progress &progress)
    : file_(file), read_(read), progress_(progress) {
  for (const TensorInfo &tensor : file.tensors) total_bytes_ += tensor.size_bytes;
}

const TensorInfo *Weights::find(const std::string &full_name, bool needed) const {
  const TensorInfo *tensor = file_.find(full_name);
  if (!tensor && needed) {
    fail(Status::Format, "%s: expected the tensor, found nothing", full_name.c_str());
  }
  return tensor;
}

std::byte *Weights::own(uint64_t size_bytes) {
  owned_.emplace_back(size_bytes);
  owned_bytes_ += size_bytes;
  return owned_.back().data();
}

const std::byte *Weights::data_of(const TensorInfo &tensor) {
  if (read_ == Read::HeadersOnly) return nullptr;
  const std::byte *data = file_.mapped(tensor);
  if (!data) {
    std::byte *copy = own(tensor.size_bytes);
    file_.read(tensor, copy);
    data = copy;
  }
  read_bytes_ += tensor.size_bytes;
  progress_(static_cast<float>(static_cast<double>(read_bytes_) / static_cast<double>(total_bytes_)));
  return data;
}

Matrix Weights::bind(const TensorInfo &tensor, int64_t rows, int64_t cols, int64_t n_experts) {
  check_type(tensor);
  return {tensor.name, tensor.type, rows, cols, static_cast<int32_t>(n_experts), data_of(tensor)};
}

const float *Weights::floats_of(const TensorInfo &tensor) {
  check_type(tensor);
  const std::byte *data = data_of(tensor);
  if (tensor.type == Type::F32 || !data) return reinterpret_cast<const float *>(data);
  const uint64_t n = tensor.elements();
  auto *floats = reinterpret_cast<float *>(own(checked_mul<uint64_t>(n, sizeof(float), "weights")));
  traits(tensor.type).decode(data, floats, static_cast<int64_t>(n));
  return floats;
}

Vector Weights::vector_of(const TensorInfo *tensor, int64_t size) {
  if (!tensor) return {};
  const int64_t shape[] = {size};
  check_shape(*tensor, shape);
  return {floats_of(*tensor), size};
}

Matrix Weights::matrix(const std::string &name, int64_t rows, int64_t cols) {
  const TensorInfo *tensor = find(name + ".weight", true);
  const int64_t shape[] = {cols, rows};
  check_shape(*tensor, shape);
  return bind(*tensor, rows, cols, 1);
}

Matrix Weights::float_matrix(const std::string &name, int64_t rows, int64_t cols) {
  const TensorInfo *tensor = find(name + ".weight", true);
  const int64_t shape[] = {cols, rows};
  check_shape(*tensor, shape);
  const float *floats = floats_of(*tensor);
  return {tensor->name, Type::F32, rows, cols, 1, reinterpret_cast<const std::byte *>(floats)};
}

Matrix Weights::experts(const std::string &name, int64_t n_experts, int64_t rows, int64_t cols) {
  const TensorInfo *tensor = find(name + ".weight", true);
  const int64_t shape[] = {cols, rows, n_experts};
  check_shape(*tensor, shape);
  return bind(*tensor, rows, cols, n_experts);
}

Vector Weights::vector(const std::string &name, int64_t size) {
  return vector_of(find(name + ".weight", true), size);
}

Vector Weights::bias(const std::string &name, int64_t size) {
  return vector_of(find(name + ".bias", true), size);
}

bool Weights::has(const std::string &name) const { return find(name + ".weight", false) != nullptr; }

Matrix Weights::optional_matrix(const std::string &name, int64_t rows, int64_t cols) {
  return has(name) ? matrix(name, rows, cols) : Matrix{};
}

Vector Weights::optional_vector(const std::string &name, int64_t size) {
  return vector_of(find(name + ".weight", false), size);
}

Vector Weights::optional_bias(const std::string &name, int64_t size) {
  return vector_of(find(name + ".bias", false), size);
}

}  // namespace rz
