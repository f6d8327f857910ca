#include "format/model_file.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace rz {

uint64_t TensorInfo::elements() const {
  uint64_t product = 1;
  for (const int64_t dim : dims) product *= static_cast<uint64_t>(dim);
  return product;
}

std::string TensorInfo::shape() const {
  std::string text;
  for (int i = 0; i < n_dims; ++i) text += (i > 0 ? "x" : "") + std::to_string(dims[static_cast<size_t>(i)]);
  return text;
}

const TensorInfo *ModelFile::find(std::string_view name) const {
  const auto place = std::ranges::lower_bound(by_name_, name, {}, [&](size_t i) { return tensors[i].name; });
  return place != by_name_.end() && tensors[*place].name == name ? &tensors[*place] : nullptr;
}

const std::byte *ModelFile::mapped(const TensorInfo &tensor) const {
  const std::byte *begin = sources[static_cast<size_t>(tensor.shard)]->data();
  if (!begin) return nullptr;
  const std::byte *bytes = begin + tensor.offset;
  return reinterpret_cast<uintptr_t>(bytes) % alignof(float) == 0 ? bytes : nullptr;
}

void ModelFile::read(const TensorInfo &tensor, void *buffer) const {
  sources[static_cast<size_t>(tensor.shard)]->read_at(tensor.offset, buffer, tensor.size_bytes);
}

uint64_t ModelFile::file_bytes() const {
  uint64_t sum = 0;
  for (const auto &source : sources) sum += source->size_bytes();
  return sum;
}

void ModelFile::index_tensors() {
  by_name_.resize(tensors.size());
  std::iota(by_name_.begin(), by_name_.end(), size_t{0});
  // Equal names in file order, so that the message names the first two.
  std::ranges::stable_sort(by_name_, {}, [&](size_t i) { return tensors[i].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const size_t first = by_name_[i - 1], second = by_name_[i];
    if (tensors[first].name != tensors[second].name) continue;
    fail(Status::Format, "%.*s: tensor[%zu] repeats the name of tensor[%zu]",
         static_cast<int>(tensors[first].name.size()), tensors[first].name.data(), second, first);
  }
}

std::unique_ptr<ModelFile> open_model_file(std::shared_ptr<const Source> source) {
  // A safetensors file begins with the length of its JSON header, then the header's brace.
  constexpr uint64_t kStart = 9;
  if (source->size_bytes() >= kStart) {
    char start[kStart];
    source->read_at(0, start, kStart);
    if (start[8] == '{' && std::string_view(start, 4) != "GGUF") {
      fail(Status::Unsupported, "%s: expected a GGUF file, found safetensors", source->name().c_str());
    }
  }
  return open_gguf(std::move(source));
}

}  // namespace rz
