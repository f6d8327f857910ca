// What WordPiece needs to know about a character. The data is utf8proc's.
#pragma once

#include <cstdint>
#include <string>

namespace rz {

enum class CharacterClass : uint8_t {
  Word,         // part of a word
  Space,        // parts words
  Ignored,      // control, format, private, unassigned: as if it were not there
  Punctuation,  // a word of its own
  Ideograph     // likewise
};

// The class that BERT's tokenizer gives a code point.
CharacterClass bert_class(uint32_t code_point);

// Appends the character without its accents (canonically decomposed, non-spacing marks left out) and in lower
// case, each where asked for. U+FFFD and past U+10FFFF give nothing.
void append_folded(uint32_t code_point, bool lower_case, bool strip_accents, std::string &out);

}  // namespace rz
