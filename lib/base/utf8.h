// UTF-8, byte by byte: what may be handed out as whole characters, and code points for the tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rz {

// Reads the code point at text[pos] and moves pos past it. An invalid byte gives U+FFFD and moves by one.
uint32_t utf8_next(std::string_view text, size_t &pos);
// True when the text is valid UTF-8 (no surrogates, no overlong forms, nothing past U+10FFFF).
bool utf8_valid(std::string_view text);
// Appends the code point; values that are no scalar value become U+FFFD.
void utf8_append(std::string &out, uint32_t code_point);
// Length of the longest prefix that ends with a whole character: the bytes after it (at most 3) may be the
// start of a character whose rest has not come yet. Bytes that can never become valid count as whole.
size_t utf8_complete_prefix(std::string_view text);

}  // namespace rz
