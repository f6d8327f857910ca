// The only translation unit that sees xxHash: inlined, it exports no symbol that could meet the host's own
// copy.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rz {

uint64_t hash64(const void *data, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

Hash128 hash128(const void *data, size_t size, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace rz
