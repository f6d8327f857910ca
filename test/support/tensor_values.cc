#include "support/tensor_values.h"

namespace rz::test {

std::vector<float> weights_of(const ModelFile &file, const TensorInfo &tensor) {
  std::vector<std::byte> bytes(tensor.size_bytes);
  file.read(tensor, bytes.data());
  std::vector<float> weights(tensor.elements());
  traits(tensor.type).decode(bytes.data(), weights.data(), static_cast<int64_t>(weights.size()));
  return weights;
}

}  // namespace rz::test
