// Random numbers without state: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011) turns a counter and a key into four words, so a draw depends on nothing but its place.
#pragma once

#include <cstdint>

#include "base/both_sides.h"

namespace rz {

struct PhiloxWords {
  uint32_t v[4];
};

RZ_BOTH_SIDES PhiloxWords philox(PhiloxWords counter, uint32_t key0, uint32_t key1) {
  // Multipliers and key increments are the paper's.
  constexpr uint64_t kMultiply0 = 0xd2511f53, kMultiply1 = 0xcd9e8d57;
  constexpr uint32_t kWeyl0 = 0x9e3779b9, kWeyl1 = 0xbb67ae85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiply0 * counter.v[0], product1 = kMultiply1 * counter.v[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.v[1] ^ key0, static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.v[3] ^ key1,
                static_cast<uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

// The n-th number of stream (seed, step), uniform in [0, 1) with 24 bits.
RZ_BOTH_SIDES float philox_uniform(uint64_t seed, uint64_t step, uint32_t n) {
  const PhiloxWords words = philox({{static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32), n, 0}},
                                   static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return static_cast<float>(words.v[0] >> 8) * 0x1p-24f;
}

}  // namespace rz
