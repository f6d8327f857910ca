// What the lanes of a warp compute together. Sums of mma16816 go from k = 0 upwards.
#include "cuda/simt.h"

namespace rz::cuda {

using emulator::Block;
using emulator::Meeting;

uint32_t ballot(bool v) {
  Block &block = Block::current();
  const uint32_t live = block.live_lanes();
  const auto *slots = block.meet(Meeting::Ballot, &v, sizeof v);
  uint32_t bits = 0;
  for (int i = 0; i < kWarp; ++i) {
    if ((live >> i & 1) && emulator::of_lane<bool>(slots, i)) bits |= 1u << i;
  }
  return bits;
}

void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  // Six pairs of halves, as floats: each lane converts its own.
  float mine[12];
  const uint32_t words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  for (int i = 0; i < 12; ++i) mine[i] = to_float(static_cast<Half>(words[i / 2] >> 16 * (i & 1)));
  const auto *slots = Block::current().meet(Meeting::Multiply, mine, sizeof mine);
  const auto element = [&](int owner, int word, int k) {
    float v;
    std::memcpy(&v, slots[owner] + 4 * (2 * word + (k & 1)), sizeof v);
    return v;
  };
  const int g = lane() / 4, t = lane() % 4;
  float left[2][16], right[2][16];  // rows g and g + 8 of a, columns 2 t and 2 t + 1 of b
  for (int k = 0; k < 16; ++k) {
    const int part = k % 8 / 2, late = k / 8;
    for (int i = 0; i < 2; ++i) {
      left[i][k] = element(g * 4 + part, i + 2 * late, k);
      right[i][k] = element((2 * t + i) * 4 + part, 4 + late, k);
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) d[i] += left[i / 2][k] * right[i % 2][k];
  }
}

}  // namespace rz::cuda
