// Random numbers that are the same with every compiler and standard library: a file depends on its seed
// alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace rz::synth {

// SplitMix64 (Steele, Lea, Flood 2014).
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n), for n far below 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((bits() >> 32) * n) >> 32); }
  // Normal with mean 0 and deviation 1, by Box and Muller.
  float gaussian() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)

  uint64_t state_;
};

}  // namespace rz::synth
