// A model file as the rest of the library sees it, whatever its format: metadata in file order and a table of
// tensors with their bytes. Reading one checks every number in it; what a ModelFile holds can be trusted to
// lie inside the file, to be aligned and not to overlap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "quant/type.h"

namespace rz {

// Value types of GGUF metadata, with GGUF's numbers.
enum class ValueType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12
};
const char *value_type_name(ValueType type);  // "u32", "string", "array"

// An array of one scalar type or of strings. Scalars stay as they lie in the file (little endian, unaligned).
struct ArrayValue {
  ValueType element = ValueType::U8;
  uint64_t count = 0;
  std::string scalars;                    // count x element bytes; empty for strings
  std::vector<std::string_view> strings;  // count views into the ModelFile's header; empty for scalars
  double number(uint64_t index) const;    // any scalar element as a number
  int64_t integer(uint64_t index) const;  // integer and bool elements
};

struct Value {
  ValueType type = ValueType::U8;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, ArrayValue> data;
  std::string text() const;  // for people: numbers as written, strings as they are, arrays as "[u32 x 12]"
};

struct MetadataEntry {
  std::string_view key;
  Value value;
};

class Metadata {
 public:
  void add(std::string_view key, Value value);  // throws Format, naming both places, when the key is there
  void reserve(size_t n) { entries_.reserve(n); }
  const std::vector<MetadataEntry> &entries() const { return entries_; }
  const Value *find(std::string_view key) const;

  // Needed keys: throw Format `<key>: expected <type>, found nothing` (or what was found). Integers of any
  // width and sign are taken when they lie in [low, high]; below or above is Format, naming the range.
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  double number(std::string_view key) const;  // any finite number
  std::string_view string(std::string_view key) const;
  const ArrayValue &array(std::string_view key) const;
  // The same with a value for when the key is absent. A key of the wrong type is still an error.
  int64_t integer_or(std::string_view key, int64_t low, int64_t high, int64_t absent) const;
  double number_or(std::string_view key, double absent) const;
  bool boolean_or(std::string_view key, bool absent) const;
  std::string_view string_or(std::string_view key, std::string_view absent) const;
  const ArrayValue *find_array(std::string_view key) const;

 private:
  std::vector<MetadataEntry> entries_;
  std::map<std::string_view, size_t> index_;  // a tree: no choice of keys can make it slow
};

constexpr int kMaxDims = 4;

struct TensorInfo {
  std::string_view name;
  Type type = Type::F32;
  int n_dims = 0;
  std::array<int64_t, kMaxDims> dims{1, 1, 1, 1};  // dims[0] is the length of a row; unused ones are 1
  uint64_t size_bytes = 0;
  int shard = 0;        // which file it lies in
  uint64_t offset = 0;  // from the start of that file
  uint64_t elements() const;
  std::string shape() const;  // "4096x2048", longest-stride dimension last, as in the file
};

class ModelFile {
 public:
  Metadata metadata;
  std::vector<TensorInfo> tensors;                     // in file order, all shards
  std::vector<std::shared_ptr<const Source>> sources;  // one a shard
  std::vector<std::unique_ptr<std::string>>
      headers;  // bytes that the views above point into, when not mapped

  const TensorInfo *find(std::string_view name) const;
  // The tensor's bytes in a mapping, or nullptr where the source is not mapped, or mapped at an address where
  // no float may lie (memory or a descriptor's offset that is no multiple of 4): then read() it.
  const std::byte *mapped(const TensorInfo &tensor) const;
  void read(const TensorInfo &tensor, void *buffer) const;
  uint64_t file_bytes() const;  // all shards
  void index_tensors();         // throws Format on a duplicate name

 private:
  std::vector<size_t> by_name_;  // numbers of the tensors, sorted by name
};

// Reads the headers of a GGUF file (and of its shards, found beside it) and checks them. No tensor data is
// read.
std::unique_ptr<ModelFile> open_gguf(std::shared_ptr<const Source> source);

// Opens whatever format the source is in, told by its first bytes: GGUF. Safetensors: Unsupported.
std::unique_ptr<ModelFile> open_model_file(std::shared_ptr<const Source> source);

}  // namespace rz
