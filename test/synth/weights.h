// Random weights at the speed of the disk. Encoding a billion weights takes minutes, so a modest pool of them
// is encoded once for each format and scale, and tensors are dealt from it, strip by strip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "noise.h"
#include "quant/type.h"
#include "tensors.h"

namespace rz::synth {

class Weights {
 public:
  Weights(const Shape &shape, uint64_t seed) : shape_(shape), noise_(seed) {}

  // The next bytes of the tensor's `n` weights in `type`, n whole blocks. The rows are normal with deviation
  // 1 / sqrt(their length), so that products with inputs near 1 stay near 1.
  void deal(const Tensor &tensor, Type type, int64_t n, std::byte *out);

 private:
  using Pool = std::vector<std::byte>;  // (kStrips, strip bytes)
  const Pool &pool(Type type, int64_t row);
  std::vector<float> vector_of(const Tensor &tensor);

  const Shape &shape_;
  Noise noise_;
  std::map<std::pair<Type, int64_t>, Pool> pools_;  // by format and length of a row
};

}  // namespace rz::synth
