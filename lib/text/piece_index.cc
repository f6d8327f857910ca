// Open addressing with linear probing over 64-bit xxHash: the low bits choose the slot, the high ones tell
// pieces apart.
#include "text/piece_index.h"

#include <bit>

#include "base/hash.h"

namespace rz {

PieceIndex::PieceIndex(const std::vector<std::string_view> &pieces) {
  if (pieces.empty()) return;
  slots_.resize(std::bit_ceil(2 * pieces.size()));
  const size_t mask = slots_.size() - 1;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const uint64_t hash = hash64(pieces[id].data(), pieces[id].size());
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask;
    while (slots_[at].id >= 0 &&
           !(slots_[at].hash == tag && pieces[static_cast<size_t>(slots_[at].id)] == pieces[id])) {
      at = (at + 1) & mask;
    }
    slots_[at] = {tag, static_cast<int32_t>(id)};
  }
}

int32_t PieceIndex::find(const std::vector<std::string_view> &pieces, std::string_view piece) const {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = hash64(piece.data(), piece.size());
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == tag && pieces[static_cast<size_t>(slots_[at].id)] == piece) return slots_[at].id;
  }
  return -1;
}

}  // namespace rz
