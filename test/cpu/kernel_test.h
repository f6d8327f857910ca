// What the tests of kernels share: every kernel set, random numbers with outliers, results with bounds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cpu/guarded.h"
#include "cpu/kernels.h"
#include "support/kernel_sets.h"

namespace rz::test {

// One rounding to float, doubled: the plain set's fma rounds twice.
constexpr double kUlp = 0x1p-23;

// Normal, with one in a hundred twenty times as large.
inline std::vector<float> random_values(size_t n, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(n);
  for (float &v : values) v = normal(random) * (random() % 100 == 0 ? 20.0f : 1.0f);
  return values;
}

// Exact results, and how far a kernel may be from them.
struct Bounded {
  std::vector<double> values, bounds;
  void add(double value, double bound) {
    values.push_back(value);
    bounds.push_back(bound);
  }
};

// `found` keeps to the bounds, and lies no further than that from `plain`, what the plain set computes.
inline void expect_within(const Bounded &exact, const std::vector<float> &found,
                          const std::vector<float> &plain) {
  ASSERT_EQ(found.size(), exact.values.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(static_cast<double>(found[i]) - exact.values[i]), exact.bounds[i])
        << "number " << i << " of " << found.size() << ": " << found[i] << " for " << exact.values[i];
    ASSERT_LE(std::abs(static_cast<double>(found[i]) - static_cast<double>(plain[i])), exact.bounds[i])
        << "number " << i << " of " << found.size() << ": " << found[i] << ", by the plain kernels "
        << plain[i];
  }
}

class KernelTest : public testing::TestWithParam<std::string> {
 protected:
  const cpu::Kernels &kernels() const { return cpu::choose_kernels(GetParam()); }
  const cpu::Kernels &plain() const { return cpu::choose_kernels("plain"); }
};

inline std::string set_name(const testing::TestParamInfo<std::string> &info) { return info.param; }

}  // namespace rz::test
