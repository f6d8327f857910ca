// SentencePiece's precompiled normalizer: a double-array trie from byte strings to the strings that replace
// them, stored in the file as one blob. The blob is checked whole when it is read; look-ups then trust it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rz {

class Charsmap {
 public:
  Charsmap() = default;
  // Throws Format for a blob that is cut, or whose trie leads out of itself, in circles or to no string.
  explicit Charsmap(std::string_view blob);

  // Takes the longest entry that text begins with off its front, or else one character, and returns what
  // stands for it: a view into the map or into text. An invalid byte becomes U+FFFD. `text` must not be
  // empty.
  std::string_view next(std::string_view &text) const;

 private:
  void check();

  std::vector<uint32_t> units_;  // the double array
  std::string strings_;          // replacements, each ended by a NUL
};

}  // namespace rz
