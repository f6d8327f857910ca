// Writes a GGUF v3 file: metadata and the tensor table first, then each tensor's bytes in the order
// announced. The file appears under its name only when finish() has returned.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/model_file.h"

namespace rz {

class GgufWriter {
 public:
  explicit GgufWriter(const std::string &path);

  // A key may be given once. general.alignment also sets what tensors are padded to (32 without it).
  void add(std::string_view key, const Value &value);  // copies any metadata value as it is
  void add_u32(std::string_view key, uint32_t value);
  void add_u64(std::string_view key, uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_f32s(std::string_view key, std::span<const float> values);
  void add_i32s(std::string_view key, std::span<const int32_t> values);
  // Announces a tensor; all of them come before the first write_tensor().
  void add_tensor(std::string_view name, Type type, std::span<const int64_t> dims);
  // The next announced tensor's bytes, whole; pads to the alignment.
  void write_tensor(std::span<const std::byte> data);
  // The same in any number of parts, at least one byte each: the tensor ends with its last byte.
  void write_part(std::span<const std::byte> data);
  void finish();  // throws Internal when a tensor is missing

 private:
  void put_key(std::string_view key, ValueType type);
  void write_header();
  void pad();

  struct Announced {
    std::string name;
    Type type;
    std::vector<int64_t> dims;
    uint64_t size_bytes, offset;
  };
  const Announced &expected_tensor() const;  // the next to be written; throws Internal when all are

  AtomicFile file_;
  std::string metadata_;  // encoded entries
  uint64_t n_entries_ = 0, alignment_;
  std::set<std::string> keys_, names_;
  std::vector<Announced> tensors_;
  size_t next_tensor_ = 0;
  uint64_t part_written_ = 0;  // bytes of that tensor
  bool header_written_ = false;
};

}  // namespace rz
