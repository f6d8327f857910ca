#include "cuda/bench/inputs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "cuda/kernels/kernels.h"
#include "quant/half.h"

namespace rz::cuda {

namespace {

template <class T>
DeviceMemory on_device(Queue &queue, const std::vector<T> &values, uint64_t size_bytes) {
  DeviceMemory memory(queue.device(), size_bytes);
  const uint64_t first = std::min<uint64_t>(size_bytes, values.size() * sizeof(T));
  queue.copy_in(memory.data(), values.data(), first);
  repeat(queue, memory, first);
  queue.wait();  // `values` is the caller's
  return memory;
}

void expect_numbers(const std::string &name, const std::vector<float> &values) {
  size_t bad = 0, zero = 0;
  for (const float v : values) {
    bad += !std::isfinite(v);
    zero += v == 0;
  }
  if (bad == 0 && zero < values.size()) return;
  fail(Status::Numeric, "%s: expected %zu numbers, found %zu that are none and %zu zeros", name.c_str(),
       values.size(), bad, zero);
}

constexpr size_t kMostDrawn = size_t{1} << 18;  // numbers; more are copies of these

}  // namespace

void repeat(Queue &queue, const DeviceMemory &memory, uint64_t size_bytes) {
  for (uint64_t done = size_bytes; done < memory.size_bytes();) {
    const uint64_t n = std::min(done, memory.size_bytes() - done);
    queue.copy(memory.data() + done, memory.data(), n);
    done += n;
  }
}

std::vector<float> random_floats(size_t n, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(n);
  for (float &v : values) v = normal(random);
  return values;
}

DeviceMemory device_floats(Queue &queue, size_t n, float deviation, uint32_t seed) {
  return on_device(queue, random_floats(std::min(n, kMostDrawn), deviation, seed), n * sizeof(float));
}

DeviceMemory device_halves(Queue &queue, size_t n, uint32_t seed) {
  std::vector<Half> halves;
  for (const float v : random_floats(std::min(n, kMostDrawn), 1, seed)) halves.push_back(float_to_half(v));
  return on_device(queue, halves, n * sizeof(Half));
}

DeviceMemory device_ints(Queue &queue, const std::vector<int32_t> &values) {
  return on_device(queue, values, values.size() * sizeof(int32_t));
}

DeviceMemory zeros(Queue &queue, uint64_t size_bytes) {
  DeviceMemory memory(queue.device(), size_bytes);
  queue.fill(memory.data(), 0, size_bytes);
  return memory;
}

void expect_halves(Queue &queue, const std::string &name, const DeviceMemory &memory, size_t n) {
  std::vector<Half> halves(n);
  queue.copy_out(halves.data(), memory.data(), n * sizeof(Half));
  queue.wait();
  std::vector<float> values;
  for (const Half h : halves) values.push_back(half_to_float(h));
  expect_numbers(name, values);
}

void expect_floats(Queue &queue, const std::string &name, const DeviceMemory &memory, size_t n) {
  std::vector<float> values(n);
  queue.copy_out(values.data(), memory.data(), n * sizeof(float));
  queue.wait();
  expect_numbers(name, values);
}

RandomMatrix::RandomMatrix(Queue &queue, Type type, int32_t rows, int32_t cols, int copies)
    : tiles_(make_tiles(format_of(type), rows, cols)),
      memory_(queue.device(), bytes_of(tiles_) * static_cast<uint64_t>(copies)) {
  const int32_t drawn = std::min(rows, kTileRows);  // encoding on the host is what takes time
  const auto n = static_cast<size_t>(drawn) * static_cast<size_t>(cols);
  const std::vector<float> weights = random_floats(n, 0.05f, 1);
  std::vector<std::byte> blocks(bytes_of(type, n));
  traits(type).encode(weights.data(), blocks.data(), static_cast<int64_t>(n));
  DeviceMemory staging(queue.device(), blocks.size());
  queue.copy_in(staging.data(), blocks.data(), blocks.size());
  pack(queue, {type, staging.data(), drawn, tiles_, memory_.data(), 1});
  const auto tile_bytes = static_cast<uint64_t>(kFormats[static_cast<int>(tiles_.format)].tile_bytes);
  repeat(queue, memory_, tile_bytes * static_cast<uint64_t>(tiles_.col_tiles));
  queue.wait();
}

}  // namespace rz::cuda
