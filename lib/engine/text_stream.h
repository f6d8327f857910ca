// Pieces in, text out: whole characters only, and never a byte of a stop string. What could still become
// either is held back until it is decided.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace rz {

class TextStream {
 public:
  // `stop_strings` are copied; empty ones and those that are not UTF-8 are refused with Argument. `special`:
  // control tokens give their text. `strip_leading_space`: the text begins a document, so the space that
  // encoding adds to its front is taken off.
  TextStream(const Tokenizer &tokenizer, std::vector<std::string> stop_strings, bool special,
             bool strip_leading_space);

  struct Result {
    std::string_view text;  // may be handed out now; valid until the next call
    bool stopped = false;   // a stop string is complete: `text` ends before it, and nothing follows
  };
  // Where several stop strings could end the text, the one that is complete first does, and of those complete
  // at the same byte the longest: how the text is cut into tokens changes nothing. A model without a
  // vocabulary gives no text.
  Result push(int32_t token);
  // The generation is over: gives what was held back (each byte of an unfinished character becomes U+FFFD).
  Result finish();

 private:
  struct Stop {
    std::string text;
    std::vector<size_t> fallback;  // (text.size()) longest proper prefix of text[0, i] that is also its end
    size_t matched = 0;            // of text, at the end of held_
  };
  void append_piece(int32_t token);
  Result take(bool final);
  // Moves a byte to held_. True when it completes stop strings; held_ then ends before them.
  bool hold(char byte);

  const Tokenizer &tokenizer_;
  std::vector<Stop> stops_;
  bool special_, strip_leading_space_;
  bool stopped_ = false;
  std::string raw_;        // bytes of pieces, not yet whole characters: 3 at most between calls
  std::string held_;       // whole characters; the decided ones are cut from its front on the next call
  size_t handed_out_ = 0;  // bytes of held_ that the last call gave
};

}  // namespace rz
