// Random numbers without state: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011) turns a counter and a key into four words, so a draw depends on nothing but its place.
#pragma once

#include <array>
#include <cstdint>

namespace rz {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The n-th number of stream (seed, step), uniform in [0, 1) with 24 bits.
float philox_uniform(uint64_t seed, uint64_t step, uint32_t n);

}  // namespace rz
