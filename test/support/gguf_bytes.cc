#include "support/gguf_bytes.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rz::test {

namespace {

enum : uint32_t { kString = 8, kArray = 9 };

// Bytes of one element of a scalar type, by type number.
size_t scalar_size(uint32_t type) {
  constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[type];
}

std::string text(std::string_view value) { return raw(static_cast<uint64_t>(value.size())).append(value); }

template <class T>
RawValue scalars(uint32_t element, const std::vector<T> &values) {
  return array(element, values.size(),
               std::string_view(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)));
}

uint64_t align(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// Walks over the bytes of a valid file.
struct Walk {
  std::string_view bytes;
  size_t at = 0;

  std::string_view take(size_t n) {
    at += n;
    return bytes.substr(at - n, n);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string string() { return std::string(take(number<uint64_t>())); }

  RawValue value() {
    const auto type = number<uint32_t>();
    const size_t begin = at;
    if (type == kString) {
      string();
    } else if (type == kArray) {
      const auto element = number<uint32_t>();
      const auto count = number<uint64_t>();
      for (uint64_t i = 0; element == kString && i < count; ++i) string();
      if (element != kString) take(count * scalar_size(element));
    } else {
      take(scalar_size(type));
    }
    return {type, std::string(bytes.substr(begin, at - begin))};
  }

  RawTensor tensor() {
    RawTensor tensor;
    tensor.name = string();
    tensor.dims.resize(number<uint32_t>());
    for (uint64_t &dim : tensor.dims) dim = number<uint64_t>();
    tensor.type = number<uint32_t>();
    tensor.offset = number<uint64_t>();
    return tensor;
  }
};

// Bytes with their owner.
class OwnedSource final : public Source {
 public:
  OwnedSource(std::string bytes, bool mapped) : bytes_(std::move(bytes)), mapped_(mapped) {}
  const std::string &name() const override { return name_; }
  uint64_t size_bytes() const override { return bytes_.size(); }
  void read_at(uint64_t offset, void *buffer, uint64_t size) const override {
    open_memory(bytes_.data(), bytes_.size())->read_at(offset, buffer, size);
  }
  const std::byte *data() const override {
    return mapped_ ? reinterpret_cast<const std::byte *>(bytes_.data()) : nullptr;
  }

 private:
  const std::string name_ = "memory";
  const std::string bytes_;
  const bool mapped_;
};

}  // namespace

RawValue u8(uint8_t value) { return {0, raw(value)}; }
RawValue i8(int8_t value) { return {1, raw(value)}; }
RawValue u16(uint16_t value) { return {2, raw(value)}; }
RawValue i16(int16_t value) { return {3, raw(value)}; }
RawValue u32(uint32_t value) { return {4, raw(value)}; }
RawValue i32(int32_t value) { return {5, raw(value)}; }
RawValue f32(float value) { return {6, raw(value)}; }
RawValue boolean(bool value) { return {7, raw(static_cast<uint8_t>(value))}; }
RawValue u64(uint64_t value) { return {10, raw(value)}; }
RawValue i64(int64_t value) { return {11, raw(value)}; }
RawValue f64(double value) { return {12, raw(value)}; }
RawValue string(std::string_view value) { return {kString, text(value)}; }
RawValue u32s(const std::vector<uint32_t> &values) { return scalars(4, values); }
RawValue i32s(const std::vector<int32_t> &values) { return scalars(5, values); }
RawValue f32s(const std::vector<float> &values) { return scalars(6, values); }

RawValue strings(const std::vector<std::string> &values) {
  std::string bytes;
  for (const std::string &value : values) bytes += text(value);
  return array(kString, values.size(), bytes);
}

RawValue array(uint32_t element, uint64_t count, std::string_view bytes) {
  return {kArray, (raw(element) + raw(count)).append(bytes)};
}

RawValue string_of_length(uint64_t length, std::string_view bytes) {
  return {kString, raw(length).append(bytes)};
}

GgufBytes GgufBytes::parse(std::string_view bytes) {
  GgufBytes file;
  Walk walk{bytes};
  file.magic = walk.take(4);
  file.version = walk.number<uint32_t>();
  file.tensors.resize(walk.number<uint64_t>());
  file.entries.resize(walk.number<uint64_t>());
  for (RawEntry &entry : file.entries) {
    entry.key = walk.string();
    entry.value = walk.value();
    if (entry.key == "general.alignment") {
      uint32_t alignment;
      std::memcpy(&alignment, entry.value.bytes.data(), sizeof alignment);
      file.alignment = alignment;
    }
  }
  for (RawTensor &tensor : file.tensors) tensor = walk.tensor();
  if (file.tensors.empty()) return file;

  // A tensor's bytes go up to the next one, padding included: no need to know the types.
  const std::string_view data = bytes.substr(align(walk.at, file.alignment));
  std::ranges::sort(file.tensors, {}, [](const RawTensor &tensor) { return tensor.offset; });
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const uint64_t begin = *file.tensors[i].offset;
    const uint64_t end = i + 1 < file.tensors.size() ? *file.tensors[i + 1].offset : data.size();
    file.tensors[i].data = data.substr(begin, end - begin);
  }
  for (RawTensor &tensor : file.tensors) tensor.offset.reset();
  return file;
}

GgufBytes &GgufBytes::set(std::string_view key, RawValue value) {
  const auto place = std::ranges::find(entries, key, &RawEntry::key);
  if (place == entries.end()) return append(key, std::move(value));
  place->value = std::move(value);
  return *this;
}

GgufBytes &GgufBytes::append(std::string_view key, RawValue value) {
  entries.push_back({std::string(key), std::move(value)});
  return *this;
}

GgufBytes &GgufBytes::remove(std::string_view key) {
  std::erase_if(entries, [&](const RawEntry &entry) { return entry.key == key; });
  return *this;
}

GgufBytes &GgufBytes::add_tensor(RawTensor tensor) {
  tensors.push_back(std::move(tensor));
  return *this;
}

RawTensor &GgufBytes::tensor(std::string_view name) {
  const auto place = std::ranges::find(tensors, name, &RawTensor::name);
  if (place == tensors.end()) throw std::runtime_error("no tensor " + std::string(name));
  return *place;
}

GgufBytes &GgufBytes::remove_tensor(std::string_view name) {
  std::erase_if(tensors, [&](const RawTensor &tensor) { return tensor.name == name; });
  return *this;
}

std::string GgufBytes::header() const {
  std::string out = magic + raw(version) + raw(n_tensors.value_or(tensors.size())) +
                    raw(n_entries.value_or(entries.size()));
  for (const RawEntry &entry : entries) {
    out += raw(entry.key_length.value_or(entry.key.size())) + entry.key + raw(entry.value.type) +
           entry.value.bytes;
  }
  uint64_t offset = 0;
  for (const RawTensor &tensor : tensors) {
    out += raw(tensor.name_length.value_or(tensor.name.size())) + tensor.name;
    out += raw(tensor.n_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
    for (const uint64_t dim : tensor.dims) out += raw(dim);
    out += raw(tensor.type) + raw(tensor.offset.value_or(offset));
    offset = align(offset + tensor.data.size(), alignment);
  }
  return out;
}

std::string GgufBytes::bytes() const {
  std::string out = header();
  for (const RawTensor &tensor : tensors) {
    out.resize(align(out.size(), alignment));
    out += tensor.data;
  }
  if (!tensors.empty()) out.resize(align(out.size(), alignment));
  return out;
}

size_t GgufBytes::header_bytes() const { return header().size(); }

std::shared_ptr<const Source> GgufBytes::source() const { return source_of(bytes()); }

std::shared_ptr<const Source> source_of(std::string bytes) {
  return std::make_shared<OwnedSource>(std::move(bytes), true);
}

std::shared_ptr<const Source> unmapped_source_of(std::string bytes) {
  return std::make_shared<OwnedSource>(std::move(bytes), false);
}

}  // namespace rz::test
