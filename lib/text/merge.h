// The merging at the heart of both BPE kinds: of all neighbouring symbols that form a token, the pair of best
// rank is joined, leftmost first, until none is left. A heap of (rank, place) over a linked list in one array
// keeps a text of n symbols at n log n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace rz {

constexpr uint32_t kNoSymbol = UINT32_MAX;
constexpr uint32_t kNoRank = UINT32_MAX;

struct MergeSymbol {
  int32_t id;            // token, or what the caller wants where there is none
  uint32_t begin, size;  // bytes of the text
  uint32_t next = kNoSymbol, previous = kNoSymbol;
  uint32_t rank = kNoRank;  // of the pair it forms with `next`: lower goes first
  int32_t merged = -1;      // the token of that pair
};

// Kept between texts so that their memory is reused.
struct MergeWork {
  std::vector<MergeSymbol> symbols;  // the first one stays the first through all merges
  std::vector<uint64_t> heap;        // rank in the high half, place of the left symbol in the low half

  void add(int32_t id, uint32_t begin, uint32_t size) {
    MergeSymbol symbol{.id = id, .begin = begin, .size = size};
    if (!symbols.empty()) {
      symbol.previous = static_cast<uint32_t>(symbols.size() - 1);
      symbols.back().next = static_cast<uint32_t>(symbols.size());
    }
    symbols.push_back(symbol);
  }
};

// `rate(left, right, merged)` gives the rank of joining two symbols, kNoRank where they form no token, and
// the token. A heap entry is stale when its symbol's pair has another rank by now; an entry that is right is
// never missing, because every change of a pair pushes one.
template <class Rate>
void merge_symbols(MergeWork &work, const Rate &rate) {
  auto &symbols = work.symbols;
  auto &heap = work.heap;
  heap.clear();
  const auto refresh = [&](uint32_t at) {
    MergeSymbol &left = symbols[at];
    left.rank = left.next == kNoSymbol ? kNoRank : rate(left, symbols[left.next], left.merged);
    return left.rank != kNoRank;
  };
  const auto entry = [&](uint32_t at) { return static_cast<uint64_t>(symbols[at].rank) << 32 | at; };
  const auto push = [&](uint32_t at) {
    if (!refresh(at)) return;
    heap.push_back(entry(at));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  for (uint32_t at = 0; at < symbols.size(); ++at) {
    if (refresh(at)) heap.push_back(entry(at));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    const uint64_t best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto at = static_cast<uint32_t>(best);
    MergeSymbol &left = symbols[at];
    if (left.rank != best >> 32) continue;
    MergeSymbol &right = symbols[left.next];
    left.id = left.merged;
    left.size += right.size;
    left.next = right.next;
    right.rank = kNoRank;
    if (left.next != kNoSymbol) symbols[left.next].previous = at;
    push(at);
    if (left.previous != kNoSymbol) push(left.previous);
  }
}

}  // namespace rz
