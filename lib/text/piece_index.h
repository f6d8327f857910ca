// From a stored piece to its token id: a flat hash table, because a vocabulary of 200,000 pieces is built at
// every load and looked up for every merge.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rz {

class PieceIndex {
 public:
  PieceIndex() = default;
  // Of equal pieces the last one is found. `pieces` is not kept; pass the same one to find().
  explicit PieceIndex(const std::vector<std::string_view> &pieces);
  int32_t find(const std::vector<std::string_view> &pieces, std::string_view piece) const;  // -1 where absent

 private:
  struct Slot {
    uint32_t hash = 0;  // part of the piece's hash, so that a miss seldom touches the piece itself
    int32_t id = -1;
  };
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace rz
