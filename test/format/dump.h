// Everything that a ModelFile says, as text, so that two ways of reading a file can be compared.
#pragma once

#include <string>

#include "base/hash.h"
#include "format/model_file.h"

namespace rz::test {

inline std::string dump(const Value &value) {
  std::string out = std::string(value_type_name(value.type)) + ' ' + value.text();
  if (const auto *array = std::get_if<ArrayValue>(&value.data)) {
    for (uint64_t i = 0; i < array->count; ++i) {
      out += ' ';
      out += array->strings.empty() ? std::to_string(array->number(i)) : std::string(array->strings[i]);
    }
  }
  return out;
}

inline std::string dump(const ModelFile &file) {
  std::string out;
  for (const auto &[key, value] : file.metadata.entries())
    out += std::string(key) + " = " + dump(value) + '\n';
  for (const TensorInfo &tensor : file.tensors) {
    std::string bytes(tensor.size_bytes, '\0');
    file.read(tensor, bytes.data());
    out += std::string(tensor.name) + ' ' + traits(tensor.type).name + ' ' + tensor.shape() + ' ' +
           std::to_string(tensor.shard) + ' ' + std::to_string(tensor.offset) + ' ' +
           std::to_string(hash64(bytes.data(), bytes.size())) + '\n';
  }
  return out;
}

}  // namespace rz::test
