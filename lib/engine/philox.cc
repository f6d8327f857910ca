// The ten rounds of Philox 4x32, and how seed, step and n are laid into its key and counter.
#include "engine/philox.h"

namespace rz {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  // Multipliers and key increments are the paper's.
  constexpr uint64_t kMultiply0 = 0xd2511f53, kMultiply1 = 0xcd9e8d57;
  constexpr uint32_t kWeyl0 = 0x9e3779b9, kWeyl1 = 0xbb67ae85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiply0 * counter[0], product1 = kMultiply1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

float philox_uniform(uint64_t seed, uint64_t step, uint32_t n) {
  const std::array<uint32_t, 4> words =
      philox({static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32), n, 0},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<float>(words[0] >> 8) * 0x1p-24f;
}

}  // namespace rz
