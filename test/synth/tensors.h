// Which tensors a model of a shape has, under the names and in the order of published GGUF files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shapes.h"

namespace rz::synth {

enum class Fill : uint8_t { Weights, Norm, Bias, RopeFactors };

struct Tensor {
  std::string name;
  std::vector<int64_t> dims;  // row length first
  Fill fill;

  int64_t elements() const {
    int64_t product = 1;
    for (const int64_t dim : dims) product *= dim;
    return product;
  }
};

std::vector<Tensor> tensors_of(const Shape &shape);

}  // namespace rz::synth
