// The matmul kernels on the emulated device, against sums in double precision.
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/device_matrix.h"
#include "cuda/emulator/faults.h"

namespace rz::cuda {
namespace {

const Type kTypes[] = {Type::F32,  Type::F16,  Type::BF16, Type::Q4_0,   Type::Q4_1,
                       Type::Q5_0, Type::Q5_1, Type::Q8_0, Type::Q2_K,   Type::Q3_K,
                       Type::Q4_K, Type::Q5_K, Type::Q6_K, Type::IQ4_NL, Type::IQ4_XS};

// What a sum of products may be off by, relative to the root of the sum of their squares. Weights are rounded
// to 11 bits, and so are scales and minima, which up to 32 neighbours share: there the errors of a group add
// up.
double tolerance(Format format) {
  const bool has_minima = format == Format::Q4_K || format == Format::Q5_K || format == Format::A8;
  return has_minima ? 1.5e-2 : 3e-3;
}

std::vector<float> multiply(Queue &queue, const DeviceMatrix &w, const DeviceRows &x, int first, int n) {
  const auto size = static_cast<size_t>(n) * static_cast<size_t>(w.tiles.rows);
  DeviceMemory y(0, size * sizeof(float));
  MatmulArgs args;
  args.segments[0].w = w.tiles;
  args.segments[0].y = y.data();
  args.segments[0].y_stride = w.tiles.rows;
  args.n_segments = 1;
  args.x = x.memory.as<Half>() + static_cast<size_t>(first) * static_cast<size_t>(x.stride);
  args.x_stride = x.stride;
  args.rows = n;
  matmul(queue, args);
  std::vector<float> out(size);
  queue.copy_out(out.data(), y.data(), size * sizeof(float));
  queue.wait();
  return out;
}

void expect_close(const DeviceMatrix &w, const DeviceRows &x, const std::vector<float> &y, int n) {
  const auto cols = static_cast<size_t>(w.tiles.cols), rows = static_cast<size_t>(w.tiles.rows);
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    for (size_t r = 0; r < rows; ++r) {
      double sum = 0, size = 0;
      for (size_t k = 0; k < cols; ++k) {
        const double term =
            double{w.weights[r * cols + k]} * double{x.values[i * static_cast<size_t>(x.stride) + k]};
        sum += term;
        size += term * term;
      }
      ASSERT_NEAR(y[i * rows + r], sum, tolerance(w.tiles.format) * std::sqrt(size) + 1e-6)
          << "x row " << i << ", w row " << r;
    }
  }
}

class Matmul : public testing::TestWithParam<Type> {};

TEST_P(Matmul, AgreesWithDoublePrecisionForOddSizes) {
  Queue queue(0);
  const int cols = traits(GetParam()).block_weights == 256  ? 768
                   : traits(GetParam()).block_weights == 32 ? 160
                                                            : 100;
  const DeviceMatrix w(queue, GetParam(), 37, cols, 1);
  const DeviceRows x(queue, 9, cols, 2);
  expect_close(w, x, multiply(queue, w, x, 0, 9), 9);
}

TEST_P(Matmul, GivesARowTheSameBitsAloneAndInEveryBatch) {
  Queue queue(0);
  const int cols = 512, rows = 40, most = 70;
  const DeviceMatrix w(queue, GetParam(), rows, cols, 3);
  const DeviceRows x(queue, most, cols, 4);
  const std::vector<float> all = multiply(queue, w, x, 0, most);
  expect_close(w, x, all, most);
  for (const int n : {1, 5, 12, 20, 64}) {
    emulator::faults().seed = static_cast<uint64_t>(n);
    const std::vector<float> some = multiply(queue, w, x, 3, n);
    for (int i = 0; i < n * rows; ++i) {
      ASSERT_EQ(some[static_cast<size_t>(i)], all[static_cast<size_t>(3 * rows + i)])
          << n << " rows, element " << i;
    }
  }
  emulator::faults().seed = 0;
}

INSTANTIATE_TEST_SUITE_P(Types, Matmul, testing::ValuesIn(kTypes),
                         [](const auto &test) { return std::string(traits(test.param).name); });

}  // namespace
}  // namespace rz::cuda
