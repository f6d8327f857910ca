// Tensors by name, checked for shape and type, as the Plan wants them. Matrices stay where the file is
// mapped; vectors are 32-bit floats, converted where the file holds another type. What is not mapped is read
// into memory that the Weights own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/log.h"
#include "model/plan.h"

namespace rz {

class Weights {
 public:
  enum class Read : uint8_t { All, HeadersOnly };  // HeadersOnly: shapes are checked, data stays null
  Weights(const ModelFile &file, Read read, const Progress &progress);

  // Throws Format `<name>: expected <cols>x<rows>, found <shape>` or `expected the tensor, found nothing`;
  // Unsupported for a type that is no weight type. Names are without their ".weight" or ".bias".
  Matrix matrix(const std::string &name, int64_t rows, int64_t cols);
  Matrix float_matrix(const std::string &name, int64_t rows, int64_t cols);  // F32 whatever the file holds
  Matrix experts(const std::string &name, int64_t n_experts, int64_t rows, int64_t cols);
  Vector vector(const std::string &name, int64_t size);  // ".weight"
  Vector bias(const std::string &name, int64_t size);    // ".bias"
  // The same for tensors that a file may leave out: empty then.
  bool has(const std::string &name) const;  // ".weight"
  Matrix optional_matrix(const std::string &name, int64_t rows, int64_t cols);
  Vector optional_vector(const std::string &name, int64_t size);
  Vector optional_bias(const std::string &name, int64_t size);

  uint64_t owned_bytes() const { return owned_bytes_; }

 private:
  const TensorInfo *find(const std::string &full_name, bool needed) const;
  Matrix bind(const TensorInfo &tensor, int64_t rows, int64_t cols, int64_t n_experts);
  const std::byte *data_of(const TensorInfo &tensor);
  std::byte *own(uint64_t size_bytes);
  const float *floats_of(const TensorInfo &tensor);
  Vector vector_of(const TensorInfo *tensor, int64_t size);

  const ModelFile &file_;
  Read read_;
  const Progress &progress_;
  std::vector<Memory> owned_;
  uint64_t owned_bytes_ = 0, read_bytes_ = 0, total_bytes_ = 0;
};

}  // namespace rz
