// A set of byte strings, each with an id, asked for those that begin at a place in a text: special tokens,
// Unigram pieces, WordPiece's longest match.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rz {

class Trie {
 public:
  Trie() = default;
  // Of equal keys the last one counts; empty keys are left out.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> keys);

  // True where some key begins with this byte.
  bool begins(char byte) const { return !nodes_.empty() && roots_[static_cast<uint8_t>(byte)] != 0; }

  // Calls found(length, id) for each key that is a prefix of text[from, end), shortest first.
  template <class Found>
  void prefixes(std::string_view text, size_t from, Found &&found) const {
    if (from >= text.size() || !begins(text[from])) return;
    uint32_t node = roots_[static_cast<uint8_t>(text[from])];
    for (size_t at = from + 1;; ++at) {
      if (nodes_[node].id >= 0) found(at - from, nodes_[node].id);
      if (at >= text.size()) return;
      node = child(nodes_[node], static_cast<uint8_t>(text[at]));
      if (node == 0) return;
    }
  }

 private:
  struct Node {
    uint32_t first_child = 0;  // children lie side by side, ascending by label
    int32_t id = -1;
    uint16_t n_children = 0;
    uint8_t label = 0;
  };
  uint32_t child(const Node &node, uint8_t label) const;

  std::vector<Node> nodes_;            // nodes_[0] is the root
  std::array<uint32_t, 256> roots_{};  // the root's children by label, 0 where there is none
};

}  // namespace rz
