// The GGUF reader: header, metadata, tensor table, and the checks that make a ModelFile trustworthy. Every
// count is compared with what the file can hold before anything is made of it, so a small file stays cheap to
// refuse.
#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <span>

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"
#include "format/gguf_layout.h"
#include "format/gguf_shards.h"
#include "format/header_reader.h"
#include "format/model_file.h"

namespace rz {

namespace {

// Real files have some dozen keys and up to some ten thousand tensors; an entry costs about 200 bytes here.
constexpr uint64_t kMostKeys = 1 << 18, kMostTensors = 1 << 18;
// Vocabulary and merges of the largest tokenizers have under a million strings; each costs a 16-byte view.
constexpr uint64_t kMostStrings = 1 << 22;
constexpr uint64_t kMostElements = INT32_MAX;  // of an array: token ids are 32 bits

constexpr uint64_t kLongestKey = 65535;                        // the format's own bound
constexpr uint64_t kLeastKeyEntry = 8 + 1 + 4 + 1;             // name, type, value
constexpr uint64_t kLeastTensorEntry = 8 + 1 + 4 + 8 + 4 + 8;  // name, dimensions, type, offset

std::string numbered(const char *what, uint64_t i) {
  return std::string(what) + '[' + std::to_string(i) + ']';
}

class Parser {
 public:
  Parser(const Source &source, ModelFile &file, int shard)
      : source_(source), file_(file), shard_(shard), in_(source, file.headers) {}

  // Header, metadata and tensor table; the tensors' offsets still count from the data section.
  void read(Metadata &metadata);
  // Checks where the tensors lie; their offsets then count from the file's start.
  void place();
  uint64_t last() const { return in_.last(); }

 private:
  void read_magic();
  std::string_view read_name(const std::string &what, uint64_t longest);
  Value read_value(std::string_view key, uint32_t type);
  ArrayValue read_array(std::string_view key);
  void read_strings(std::string_view key, ArrayValue &array);
  TensorInfo read_tensor(const std::string &what);
  void read_dims(TensorInfo &tensor);
  uint64_t tensor_bytes(const TensorInfo &tensor, uint32_t gguf_type);
  void check_apart(std::span<const TensorInfo> tensors) const;

  const Source &source_;
  ModelFile &file_;
  int shard_;
  HeaderReader in_;
  uint64_t strings_left_ = kMostStrings;
  uint64_t alignment_ = kDefaultAlignment;
  size_t first_tensor_ = 0;  // of this shard
};

void check_count(const char *what, uint64_t count, uint64_t most) {
  if (count <= most) return;
  fail(Status::Limit, "%s: expected at most %" PRIu64 ", found %" PRIu64, what, most, count);
}

void Parser::read_magic() {
  if (in_.remaining() < kGgufMagic.size()) {
    fail(Status::Format, "bad magic: expected \"GGUF\", found a file of %" PRIu64 " bytes", in_.remaining());
  }
  const char *magic = in_.take(kGgufMagic.size(), "magic");
  if (std::string_view(magic, kGgufMagic.size()) != kGgufMagic) {
    const auto byte = [&](int i) { return static_cast<unsigned>(static_cast<unsigned char>(magic[i])); };
    fail(Status::Format, "bad magic: expected \"GGUF\", found bytes %02x %02x %02x %02x", byte(0), byte(1),
         byte(2), byte(3));
  }
  const auto version = in_.number<uint32_t>("version");
  if (version == 2 || version == kGgufVersion) return;
  const bool swapped = version != 0 && (version & 0xffff) == 0;
  fail(Status::Unsupported, "GGUF version: expected 2 or 3, found %" PRIu32 "%s", version,
       swapped ? " (a big-endian file)" : "");
}

// A key or a tensor's name: text that people will read.
std::string_view Parser::read_name(const std::string &what, uint64_t longest) {
  const auto length = in_.number<uint64_t>(what);
  if (length <= in_.remaining() && (length == 0 || length > longest)) {
    fail(Status::Format, "%s: expected a name of 1 to %" PRIu64 " bytes, found %" PRIu64, what.c_str(),
         longest, length);
  }
  const std::string_view name(in_.take(length, what), length);
  const bool has_control =
      std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (has_control || !utf8_valid(name)) {
    fail(Status::Format, "%s: expected a name in UTF-8, found a NUL, a control character or broken bytes",
         what.c_str());
  }
  return name;
}

Value Parser::read_value(std::string_view key, uint32_t type) {
  if (type >= kValueTypes) {
    fail(Status::Format, "%.*s: expected a value type below %" PRIu32 ", found %" PRIu32, width(key),
         key.data(), kValueTypes, type);
  }
  Value value;
  value.type = static_cast<ValueType>(type);
  switch (value.type) {
    case ValueType::String:
      value.data = in_.string(key);
      return value;
    case ValueType::Array:
      value.data = read_array(key);
      return value;
    case ValueType::Bool:
      value.data = in_.number<uint8_t>(key) != 0;
      return value;
    default:
      break;
  }
  with_scalar(value.type, [&](auto zero) {
    using T = decltype(zero);
    const T number = in_.number<T>(key);
    if constexpr (std::is_floating_point_v<T>) {
      value.data = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      value.data = static_cast<int64_t>(number);
    } else {
      value.data = static_cast<uint64_t>(number);
    }
  });
  return value;
}

ArrayValue Parser::read_array(std::string_view key) {
  const auto element = in_.number<uint32_t>(key);
  if (element >= kValueTypes) {
    fail(Status::Format, "%.*s: expected an element type below %" PRIu32 ", found %" PRIu32, width(key),
         key.data(), kValueTypes, element);
  }
  ArrayValue array;
  array.element = static_cast<ValueType>(element);
  if (array.element == ValueType::Array) {
    fail(Status::Unsupported, "%.*s: expected an array of scalars or strings, found one of arrays",
         width(key), key.data());
  }
  array.count = in_.number<uint64_t>(key);
  if (array.count > kMostElements) {
    fail(Status::Limit, "%.*s: expected at most %" PRIu64 " elements, found %" PRIu64, width(key), key.data(),
         kMostElements, array.count);
  }
  if (array.element == ValueType::String) {
    read_strings(key, array);
  } else {
    const uint64_t bytes = array.count * scalar_bytes(array.element);  // both below 2^32
    array.scalars.assign(in_.take(bytes, key), bytes);
  }
  return array;
}

void Parser::read_strings(std::string_view key, ArrayValue &array) {
  if (array.count > strings_left_) {
    fail(Status::Limit, "%.*s: expected at most %" PRIu64 " strings in arrays, found more", width(key),
         key.data(), kMostStrings);
  }
  strings_left_ -= array.count;
  // Each string takes 8 bytes of the file for its length: no room is made for more than it can hold.
  if (array.count > in_.remaining() / sizeof(uint64_t)) {
    fail(Status::Format, "%.*s: truncated: need %" PRIu64 " strings, have %" PRIu64 " bytes", width(key),
         key.data(), array.count, in_.remaining());
  }
  array.strings.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    const auto length = in_.number<uint64_t>(key);
    if (length > kMostElements) {
      fail(Status::Limit, "%.*s[%" PRIu64 "]: expected a string of at most %" PRIu64 " bytes, found %" PRIu64,
           width(key), key.data(), i, kMostElements, length);
    }
    array.strings.emplace_back(in_.take(length, key), length);
  }
}

void Parser::read_dims(TensorInfo &tensor) {
  const auto n_dims = in_.number<uint32_t>(tensor.name);
  if (n_dims < 1 || n_dims > kMaxDims) {
    fail(Status::Format, "%.*s: expected 1 to %d dimensions, found %" PRIu32, width(tensor.name),
         tensor.name.data(), kMaxDims, n_dims);
  }
  tensor.n_dims = static_cast<int>(n_dims);
  for (uint32_t i = 0; i < n_dims; ++i) {
    const auto dim = in_.number<int64_t>(tensor.name);
    if (dim < 1) {
      fail(Status::Format, "%.*s: dimension %" PRIu32 ": expected 1 or more, found %" PRId64,
           width(tensor.name), tensor.name.data(), i, dim);
    }
    tensor.dims[i] = dim;
  }
}

uint64_t Parser::tensor_bytes(const TensorInfo &tensor, uint32_t gguf_type) {
  const std::string name(tensor.name);
  if (tensor.type == Type::Count) {
    const char *type_name = "unknown";
    type_from_gguf(gguf_type, &type_name);
    fail(Status::Unsupported, "%s: type %" PRIu32 " (%s) is not supported", name.c_str(), gguf_type,
         type_name);
  }
  int64_t elements = 1;
  for (const int64_t dim : tensor.dims) elements = checked_mul(elements, dim, name.c_str());
  const TypeTraits &type = traits(tensor.type);
  if (tensor.dims[0] % type.block_weights != 0) {
    fail(Status::Format, "%s: expected rows of a multiple of %" PRIu32 " (%s), found %" PRId64, name.c_str(),
         type.block_weights, type.name, tensor.dims[0]);
  }
  const uint64_t blocks = static_cast<uint64_t>(elements) / type.block_weights;
  return checked_mul(blocks, uint64_t{type.block_bytes}, name.c_str());
}

TensorInfo Parser::read_tensor(const std::string &what) {
  TensorInfo tensor;
  tensor.shard = shard_;
  tensor.name = read_name(what, kLongestTensorName);
  read_dims(tensor);
  const auto type = in_.number<uint32_t>(tensor.name);
  tensor.type = type_from_gguf(type, nullptr);
  tensor.size_bytes = tensor_bytes(tensor, type);
  tensor.offset = in_.number<uint64_t>(tensor.name);
  return tensor;
}

uint64_t alignment_of(const Metadata &metadata) {
  const Value *value = metadata.find(kAlignmentKey);
  if (!value) return kDefaultAlignment;
  if (value->type != ValueType::U32) {
    fail(Status::Format, "general.alignment: expected a u32, found %s", value_type_name(value->type));
  }
  const auto alignment = std::get<uint64_t>(value->data);
  if (is_alignment(alignment)) return alignment;
  fail(Status::Format, "general.alignment: expected a power of two in [8, %" PRIu32 "], found %" PRIu64,
       kLargestAlignment, alignment);
}

void Parser::read(Metadata &metadata) {
  read_magic();
  first_tensor_ = file_.tensors.size();
  const auto n_tensors = in_.number<uint64_t>("tensor count");
  check_count("tensor count", n_tensors, kMostTensors - first_tensor_);
  const auto n_keys = in_.number<uint64_t>("metadata count");
  check_count("metadata count", n_keys, kMostKeys);
  metadata.reserve(std::min(n_keys, in_.remaining() / kLeastKeyEntry));
  for (uint64_t i = 0; i < n_keys; ++i) {
    const std::string_view key = read_name(numbered("metadata", i), kLongestKey);
    metadata.add(key, read_value(key, in_.number<uint32_t>(key)));
  }
  alignment_ = alignment_of(metadata);
  file_.tensors.reserve(first_tensor_ + std::min(n_tensors, in_.remaining() / kLeastTensorEntry));
  for (uint64_t i = 0; i < n_tensors; ++i) file_.tensors.push_back(read_tensor(numbered("tensor", i)));
}

void Parser::place() {
  const std::span<TensorInfo> tensors = std::span(file_.tensors).subspan(first_tensor_);
  if (tensors.empty()) return;  // a file of vocabulary only need not have a data section
  const uint64_t data_begin = checked_align(in_.position(), alignment_, "data section");
  for (TensorInfo &tensor : tensors) {
    const std::string name(tensor.name);
    if (tensor.offset % alignment_ != 0) {
      fail(Status::Format, "%s: expected an offset that is a multiple of %" PRIu64 ", found %" PRIu64,
           name.c_str(), alignment_, tensor.offset);
    }
    tensor.offset = checked_add(tensor.offset, data_begin, name.c_str());
    const uint64_t end = checked_add(tensor.offset, tensor.size_bytes, name.c_str());
    if (end > source_.size_bytes()) {
      fail(Status::Format, "%s: truncated: need bytes [%" PRIu64 ", %" PRIu64 "), have %" PRIu64,
           name.c_str(), tensor.offset, end, source_.size_bytes());
    }
  }
  check_apart(tensors);
}

void Parser::check_apart(std::span<const TensorInfo> tensors) const {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return tensors[i].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo &a = tensors[order[i - 1]], &b = tensors[order[i]];
    if (a.offset + a.size_bytes <= b.offset) continue;
    fail(Status::Format, "%.*s: bytes [%" PRIu64 ", %" PRIu64 ") overlap [%" PRIu64 ", %" PRIu64 ") of %.*s",
         width(b.name), b.name.data(), b.offset, b.offset + b.size_bytes, a.offset, a.offset + a.size_bytes,
         width(a.name), a.name.data());
  }
}

}  // namespace

void read_gguf_shard(ModelFile &file, std::shared_ptr<const Source> source, Metadata &metadata) {
  const std::string name = base_name(source->name());
  const auto shard = static_cast<int>(file.sources.size());
  file.sources.push_back(source);
  Parser parser(*source, file, shard);
  const auto explain = [&](const Error &error, const std::string &where) {
    if (error.status() == Status::Io) throw error;
    fail(error.status(), "%s: %s%s", name.c_str(), error.what(), where.c_str());
  };
  try {
    parser.read(metadata);
  } catch (const Error &error) {
    explain(error, " (offset " + std::to_string(parser.last()) + ')');
  }
  try {
    parser.place();
  } catch (const Error &error) {
    explain(error, "");
  }
}

}  // namespace rz
