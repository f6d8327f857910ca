// Built level by level from the sorted keys, so that the children of a node lie side by side and a node costs
// 12 bytes.
#include "text/trie.h"

#include <algorithm>

namespace rz {

namespace {
struct Range {
  size_t begin, end;  // keys below the node
  size_t depth;       // bytes they share
};
constexpr int kLinearSearch = 8;  // children up to which walking along them is quicker than halving
}  // namespace

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> keys) {
  std::erase_if(keys, [](const auto &key) { return key.first.empty(); });
  if (keys.empty()) return;
  std::stable_sort(keys.begin(), keys.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  nodes_.emplace_back();
  std::vector<Range> ranges{{0, keys.size(), 0}};  // one a node, in node order
  for (size_t node = 0; node < nodes_.size(); ++node) {
    auto [at, end, depth] = ranges[node];
    for (; at < end && keys[at].first.size() == depth; ++at) nodes_[node].id = keys[at].second;
    nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
    while (at < end) {
      const char label = keys[at].first[depth];
      const size_t begin = at;
      while (at < end && keys[at].first[depth] == label) ++at;
      Node child;
      child.label = static_cast<uint8_t>(label);
      nodes_.push_back(child);
      ranges.push_back({begin, at, depth + 1});
      ++nodes_[node].n_children;
    }
  }
  for (uint32_t i = 0; i < nodes_[0].n_children; ++i) roots_[nodes_[1 + i].label] = 1 + i;
}

uint32_t Trie::child(const Node &node, uint8_t label) const {
  uint32_t at = node.first_child, left = node.n_children;
  while (left > kLinearSearch) {
    const uint32_t half = left / 2;
    const bool upper = nodes_[at + half].label <= label;
    at += upper ? half : 0;
    left = upper ? left - half : half;
  }
  for (; left > 0; --left, ++at) {
    if (nodes_[at].label == label) return at;
  }
  return 0;
}

}  // namespace rz
