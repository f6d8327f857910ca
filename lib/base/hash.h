// xxHash (XXH3): checksums of saved sessions and the identity of cached prefixes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rz {

struct Hash128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128 &, const Hash128 &) = default;
};

uint64_t hash64(const void *data, size_t size, uint64_t seed = 0);
Hash128 hash128(const void *data, size_t size, uint64_t seed = 0);

}  // namespace rz
