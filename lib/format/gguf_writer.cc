#include "format/gguf_writer.h"

#include <algorithm>
#include <cinttypes>

#include "base/checked.h"
#include "base/error.h"
#include "format/gguf_layout.h"
#include "format/value_type.h"

namespace rz {

namespace {

template <class T>
void put(std::string &out, T number) {
  out.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void put_string(std::string &out, std::string_view text) {
  put(out, static_cast<uint64_t>(text.size()));
  out += text;
}

void put_array_head(std::string &out, ValueType element, uint64_t count) {
  put(out, static_cast<uint32_t>(element));
  put(out, count);
}

void put_scalar(std::string &out, const Value &value) {
  with_scalar(value.type, [&](auto zero) {
    using T = decltype(zero);
    std::visit(
        [&](const auto &data) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(data)>>) put(out, static_cast<T>(data));
        },
        value.data);
  });
}

}  // namespace

GgufWriter::GgufWriter(const std::string &path) : file_(path), alignment_(kDefaultAlignment) {}

void GgufWriter::put_key(std::string_view key, ValueType type) {
  if (header_written_) fail(Status::Internal, "gguf writer: a key after the first tensor's bytes");
  const std::string name(key);
  if (!keys_.insert(name).second) fail(Status::Internal, "gguf writer: %s: written twice", name.c_str());
  put_string(metadata_, key);
  put(metadata_, static_cast<uint32_t>(type));
  ++n_entries_;
}

void GgufWriter::add(std::string_view key, const Value &value) {
  if (key == kAlignmentKey && value.type == ValueType::U32) {
    return add_u32(key, static_cast<uint32_t>(std::get<uint64_t>(value.data)));
  }
  put_key(key, value.type);
  if (const auto *text = std::get_if<std::string_view>(&value.data)) {
    put_string(metadata_, *text);
  } else if (const auto *array = std::get_if<ArrayValue>(&value.data)) {
    put_array_head(metadata_, array->element, array->count);
    metadata_ += array->scalars;
    for (const std::string_view text_of : array->strings) put_string(metadata_, text_of);
  } else {
    put_scalar(metadata_, value);
  }
}

void GgufWriter::add_u32(std::string_view key, uint32_t value) {
  if (key == kAlignmentKey) {
    if (!is_alignment(value)) fail(Status::Internal, "gguf writer: alignment %" PRIu32, value);
    alignment_ = value;
  }
  put_key(key, ValueType::U32);
  put(metadata_, value);
}

void GgufWriter::add_u64(std::string_view key, uint64_t value) {
  put_key(key, ValueType::U64);
  put(metadata_, value);
}

void GgufWriter::add_f32(std::string_view key, float value) {
  put_key(key, ValueType::F32);
  put(metadata_, value);
}

void GgufWriter::add_bool(std::string_view key, bool value) {
  put_key(key, ValueType::Bool);
  put(metadata_, static_cast<uint8_t>(value));
}

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  put_key(key, ValueType::String);
  put_string(metadata_, value);
}

void GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
  put_key(key, ValueType::Array);
  put_array_head(metadata_, ValueType::String, values.size());
  for (const std::string &value : values) put_string(metadata_, value);
}

void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  put_key(key, ValueType::Array);
  put_array_head(metadata_, ValueType::F32, values.size());
  for (const float value : values) put(metadata_, value);
}

void GgufWriter::add_i32s(std::string_view key, std::span<const int32_t> values) {
  put_key(key, ValueType::Array);
  put_array_head(metadata_, ValueType::I32, values.size());
  for (const int32_t value : values) put(metadata_, value);
}

void GgufWriter::add_tensor(std::string_view name, Type type, std::span<const int64_t> dims) {
  const std::string called(name);
  const TypeTraits &format = traits(type);
  if (header_written_) fail(Status::Internal, "%s: announced after the first tensor's bytes", called.c_str());
  if (called.empty() || called.size() > kLongestTensorName || !names_.insert(called).second) {
    fail(Status::Internal, "%s: expected a new name of 1 to %zu bytes", called.c_str(), kLongestTensorName);
  }
  if (dims.empty() || dims.size() > kMaxDims ||
      std::ranges::any_of(dims, [](int64_t dim) { return dim < 1; }) || dims[0] % format.block_weights != 0) {
    fail(Status::Internal, "%s: expected 1 to %d dimensions in whole blocks of %s", called.c_str(), kMaxDims,
         format.name);
  }
  int64_t elements = 1;
  for (const int64_t dim : dims) elements = checked_mul(elements, dim, called.c_str());
  Announced tensor{called, type, {dims.begin(), dims.end()}, 0, 0};
  tensor.size_bytes = bytes_of(type, static_cast<uint64_t>(elements));
  tensors_.push_back(std::move(tensor));
}

void GgufWriter::write_header() {
  std::string header(kGgufMagic);
  put(header, kGgufVersion);
  put(header, static_cast<uint64_t>(tensors_.size()));
  put(header, n_entries_);
  header += metadata_;
  uint64_t offset = 0;
  for (Announced &tensor : tensors_) {
    tensor.offset = offset;
    offset = checked_align(checked_add(offset, tensor.size_bytes, "file size"), alignment_, "file size");
    put_string(header, tensor.name);
    put(header, static_cast<uint32_t>(tensor.dims.size()));
    for (const int64_t dim : tensor.dims) put(header, dim);
    put(header, traits(tensor.type).gguf_id);
    put(header, tensor.offset);
  }
  file_.write(header.data(), header.size());
  if (!tensors_.empty()) pad();
  header_written_ = true;
}

void GgufWriter::pad() {
  const std::string zeros(checked_align(file_.position(), alignment_, "file size") - file_.position(), '\0');
  file_.write(zeros.data(), zeros.size());
}

void GgufWriter::write_tensor(std::span<const std::byte> data) {
  const Announced &tensor = expected_tensor();
  if (part_written_ > 0 || data.size() != tensor.size_bytes) {
    fail(Status::Internal, "%s: expected %" PRIu64 " bytes, found %zu", tensor.name.c_str(),
         tensor.size_bytes - part_written_, data.size());
  }
  write_part(data);
}

void GgufWriter::write_part(std::span<const std::byte> data) {
  const Announced &tensor = expected_tensor();
  if (data.empty() || data.size() > tensor.size_bytes - part_written_) {
    fail(Status::Internal, "%s: expected 1 to %" PRIu64 " bytes, found %zu", tensor.name.c_str(),
         tensor.size_bytes - part_written_, data.size());
  }
  if (!header_written_) write_header();
  file_.write(data.data(), data.size());
  part_written_ += data.size();
  if (part_written_ < tensor.size_bytes) return;
  pad();
  part_written_ = 0;
  ++next_tensor_;
}

const GgufWriter::Announced &GgufWriter::expected_tensor() const {
  if (next_tensor_ == tensors_.size()) fail(Status::Internal, "gguf writer: more tensors than announced");
  return tensors_[next_tensor_];
}

void GgufWriter::finish() {
  if (!header_written_) write_header();
  if (next_tensor_ < tensors_.size()) {
    fail(Status::Internal, "%s: announced but not written", tensors_[next_tensor_].name.c_str());
  }
  file_.commit();
}

}  // namespace rz
