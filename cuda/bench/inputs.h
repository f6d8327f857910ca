// Inputs of kernels: few random numbers, copied until memory is full. What a kernel costs depends on where
// its inputs lie rather than on what they say, but they are numbers as a model has them, since a device slows
// down by the bits that it turns over.
#pragma once

#include <string>
#include <vector>

#include "cuda/runtime.h"
#include "cuda/tiles.h"
#include "quant/type.h"

namespace rz::cuda {

std::vector<float> random_floats(size_t n, float deviation, uint32_t seed);
DeviceMemory device_floats(Queue &queue, size_t n, float deviation, uint32_t seed);
DeviceMemory device_halves(Queue &queue, size_t n, uint32_t seed);  // of deviation 1
DeviceMemory device_ints(Queue &queue, const std::vector<int32_t> &values);
DeviceMemory zeros(Queue &queue, uint64_t size_bytes);

// Copies the first size_bytes of `memory` until it is full.
void repeat(Queue &queue, const DeviceMemory &memory, uint64_t size_bytes);

// Throws where the first n numbers are not finite, or all zero: then the inputs were wrong, and times say
// nothing.
void expect_halves(Queue &queue, const std::string &name, const DeviceMemory &memory, size_t n);
void expect_floats(Queue &queue, const std::string &name, const DeviceMemory &memory, size_t n);

// A matrix of random weights as tiles, in several copies.
class RandomMatrix {
 public:
  RandomMatrix(Queue &queue, Type type, int32_t rows, int32_t cols, int copies);
  Tiles copy(int i) const {
    Tiles tiles = tiles_;
    tiles.data = memory_.data() + static_cast<uint64_t>(i) * bytes_of(tiles_);
    return tiles;
  }

 private:
  Tiles tiles_;
  DeviceMemory memory_;
};

}  // namespace rz::cuda
