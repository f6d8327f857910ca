// GGUF files made byte by byte, right or wrong, for tests of bad inputs: start from a valid one (built here,
// or taken apart from bytes), then replace a key, a tensor or any raw field of it. Knows nothing of the
// library.
//
//   GgufBytes file = GgufBytes::parse(valid);
//   file.set("llama.block_count", u32(0)).remove("general.name");
//   file.tensor("output.weight").dims = {32, 65};
//   open_model_file(file.source());
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace rz::test {

// A metadata value as it lies in the file: its type number and its bytes.
struct RawValue {
  uint32_t type;
  std::string bytes;
};

RawValue u8(uint8_t value);
RawValue i8(int8_t value);
RawValue u16(uint16_t value);
RawValue i16(int16_t value);
RawValue u32(uint32_t value);
RawValue i32(int32_t value);
RawValue f32(float value);
RawValue boolean(bool value);
RawValue u64(uint64_t value);
RawValue i64(int64_t value);
RawValue f64(double value);
RawValue string(std::string_view value);
RawValue strings(const std::vector<std::string> &values);
RawValue u32s(const std::vector<uint32_t> &values);
RawValue i32s(const std::vector<int32_t> &values);
RawValue f32s(const std::vector<float> &values);
// An array whose head may lie about what follows; `element` is a type number (4 u32, 5 i32, 6 f32, 8 string).
RawValue array(uint32_t element, uint64_t count, std::string_view bytes);
RawValue string_of_length(uint64_t length, std::string_view bytes);  // a string whose length may lie

// The little-endian bytes of a number.
template <class T>
std::string raw(T number) {
  return std::string(reinterpret_cast<const char *>(&number), sizeof number);
}

struct RawEntry {
  std::string key;
  RawValue value;
  std::optional<uint64_t> key_length = {};  // written in place of the true one
};

struct RawTensor {
  std::string name;
  std::vector<uint64_t> dims = {};
  uint32_t type = 0;  // GGUF's number: 0 f32, 1 f16, 8 Q8_0
  std::string data = {};
  std::optional<uint64_t> offset = {};  // written in place of the true ones
  std::optional<uint64_t> name_length = {};
  std::optional<uint32_t> n_dims = {};
};

class GgufBytes {
 public:
  // Takes a valid file apart; trusts it.
  static GgufBytes parse(std::string_view bytes);

  GgufBytes &set(std::string_view key, RawValue value);     // replaces the key's value, or appends the key
  GgufBytes &append(std::string_view key, RawValue value);  // even where the key is there already
  GgufBytes &remove(std::string_view key);
  GgufBytes &add_tensor(RawTensor tensor);
  RawTensor &tensor(std::string_view name);  // throws where there is none
  GgufBytes &remove_tensor(std::string_view name);

  std::string bytes() const;
  size_t header_bytes() const;  // up to the end of the tensor table
  // The file in memory, its bytes kept by the source.
  std::shared_ptr<const Source> source() const;

  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> n_tensors, n_entries;  // written in place of the true ones
  std::vector<RawEntry> entries;
  std::vector<RawTensor> tensors;
  uint64_t alignment = 32;  // of the data section and of each tensor; no key says so unless it is set

 private:
  std::string header() const;
};

// Any bytes as a source that keeps them; mapped as memory is, or read piece by piece as from a host's
// archive.
std::shared_ptr<const Source> source_of(std::string bytes);
std::shared_ptr<const Source> unmapped_source_of(std::string bytes);

}  // namespace rz::test
