// An independent statement of every block format: for each weight and each scale, the byte and bit it lies
// at, and the formula of its value. Tests build blocks with it and compare what the decoders make of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quant/type.h"

namespace rz::test {

// The integers of one block, as the formulas use them before any bias.
struct BlockParts {
  float d = 0, dmin = 0;          // must be halves
  std::vector<int> scales, mins;  // one a sub-block; empty where the format has none
  std::vector<int> codes;         // one a weight
};

struct BlockLayout {
  Type type;
  int weights, levels;                 // codes are 0 .. levels - 1
  int subs, scale_levels, min_levels;  // 0 where the format has none
  int d_at, dmin_at;                   // bytes; dmin_at -1 where there is none
  void (*put_code)(uint8_t *block, int weight, int code);
  void (*put_scale)(uint8_t *block, int sub, int scale);
  void (*put_min)(uint8_t *block, int sub, int min);
  float (*value)(float d, float dmin, int scale, int min, int code);

  BlockParts empty_parts()
      const;  // d 0.1, dmin 0.3 (rounded to half), scales and minima all different, codes 0
  std::vector<uint8_t> pack(const BlockParts &parts) const;
  std::vector<float> expected(const BlockParts &parts) const;
};

std::span<const BlockLayout> block_layouts();
inline std::string name_of(const BlockLayout &layout) { return traits(layout.type).name; }

}  // namespace rz::test
