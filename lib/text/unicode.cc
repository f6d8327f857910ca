// The only translation unit that sees utf8proc.
#include "text/unicode.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace rz {

namespace {

constexpr uint32_t kLastCodePoint = 0x10ffff;
// Longer than any canonical decomposition of one code point.
constexpr int kMaxDecomposition = 32;

bool is_ideograph(uint32_t c) {
  // The blocks that BERT's own tokenizer names, with its gap from U+2B820 to U+2B91F.
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

CharacterClass ascii_class(uint32_t c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return CharacterClass::Space;
  if (c < ' ' || c == 0x7f) return CharacterClass::Ignored;
  const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return alphanumeric ? CharacterClass::Word : CharacterClass::Punctuation;
}

}  // namespace

CharacterClass bert_class(uint32_t code_point) {
  if (code_point < 0x80) return ascii_class(code_point);
  if (code_point == 0xfffd || code_point > kLastCodePoint) return CharacterClass::Ignored;
  if (is_ideograph(code_point)) return CharacterClass::Ideograph;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return CharacterClass::Ignored;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharacterClass::Space;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return CharacterClass::Punctuation;
    default:
      return CharacterClass::Word;
  }
}

void append_folded(uint32_t code_point, bool lower_case, bool strip_accents, std::string &out) {
  if (code_point == 0xfffd || code_point > kLastCodePoint) return;
  if (code_point < 0x80) {
    const bool upper = code_point >= 'A' && code_point <= 'Z';
    out.push_back(static_cast<char>(upper && lower_case ? code_point + ('a' - 'A') : code_point));
    return;
  }
  utf8proc_int32_t parts[kMaxDecomposition] = {static_cast<utf8proc_int32_t>(code_point)};
  utf8proc_ssize_t n_parts = 1;
  if (strip_accents) {
    int boundary = 0;
    n_parts = utf8proc_decompose_char(parts[0], parts, kMaxDecomposition, UTF8PROC_DECOMPOSE, &boundary);
    if (n_parts < 0 || n_parts > kMaxDecomposition) return;
  }
  for (utf8proc_ssize_t i = 0; i < n_parts; ++i) {
    if (strip_accents && utf8proc_category(parts[i]) == UTF8PROC_CATEGORY_MN) continue;
    utf8_append(out, static_cast<uint32_t>(lower_case ? utf8proc_tolower(parts[i]) : parts[i]));
  }
}

}  // namespace rz
