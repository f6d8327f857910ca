// A matrix of random weights in blocks of a type, on the emulated device as tiles, and decoded as a
// reference.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "cuda/kernels/kernels.h"
#include "cuda/tiles.h"
#include "quant/half.h"
#include "quant/type.h"

namespace rz::cuda {

struct DeviceMatrix {
  std::vector<std::byte> blocks;
  std::vector<float> weights;  // (experts, rows, cols)
  DeviceMemory memory, staging;
  Tiles tiles;

  DeviceMatrix(Queue &queue, Type type, int rows, int cols, uint32_t seed, int experts = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.05f);
    const auto row_bytes = bytes_of(type, static_cast<uint64_t>(cols));
    const auto all_rows = static_cast<size_t>(experts) * static_cast<size_t>(rows);
    weights.resize(all_rows * static_cast<size_t>(cols));
    for (float &w : weights) w = normal(random);
    blocks.resize(all_rows * row_bytes);
    for (size_t r = 0; r < all_rows; ++r) {
      float *row = &weights[r * static_cast<size_t>(cols)];
      traits(type).encode(row, &blocks[r * row_bytes], cols);
      traits(type).decode(&blocks[r * row_bytes], row, cols);
    }
    tiles = make_tiles(format_of(type), rows, cols);
    memory = DeviceMemory(0, static_cast<uint64_t>(experts) * bytes_of(tiles));
    staging = DeviceMemory(0, blocks.size());
    queue.copy_in(staging.data(), blocks.data(), blocks.size());
    if (tiles.format == Format::F32) {
      queue.copy(memory.data(), staging.data(), blocks.size());
    } else {
      for (int e = 0; e < experts; ++e) {
        const auto index = static_cast<uint64_t>(e);
        pack(queue, {type, staging.data() + index * static_cast<uint64_t>(rows) * row_bytes, rows, tiles,
                     memory.data() + index * bytes_of(tiles), tiles.row_tiles});
      }
    }
    tiles.data = memory.data();
    queue.wait();
  }
};

// Rows of random halves, one in fifty of them large.
struct DeviceRows {
  std::vector<Half> halves;  // (rows, stride)
  std::vector<float> values;
  DeviceMemory memory;
  int stride;

  DeviceRows(Queue &queue, int rows, int cols, uint32_t seed) : stride((cols + 63) / 64 * 64) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    halves.resize(static_cast<size_t>(rows) * static_cast<size_t>(stride));
    values.resize(halves.size());
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        const auto at = static_cast<size_t>(r) * static_cast<size_t>(stride) + static_cast<size_t>(c);
        halves[at] = float_to_half(normal(random) * (random() % 50 == 0 ? 20.0f : 1.0f));
        values[at] = half_to_float(halves[at]);
      }
    }
    memory = DeviceMemory(0, halves.size() * sizeof(Half));
    queue.copy_in(memory.data(), halves.data(), halves.size() * sizeof(Half));
    queue.wait();
  }
};

}  // namespace rz::cuda
