#include "base/utf8.h"

#include <algorithm>

namespace rz {

namespace {

constexpr uint32_t kReplacement = 0xfffd;

struct Lead {
  size_t length;                          // bytes of the whole character; 0 where the byte cannot begin one
  unsigned char second_low, second_high;  // what the second byte may be
};

// The second byte's range is what shuts out overlong forms, surrogates and values past U+10FFFF.
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

unsigned char byte_at(std::string_view text, size_t pos) { return static_cast<unsigned char>(text[pos]); }

// How many of text[pos + 1, ...) continue the character that `lead` begins, at most lead.length - 1.
size_t continuations(std::string_view text, size_t pos, Lead lead) {
  size_t n = 0;
  while (n + 1 < lead.length && pos + n + 1 < text.size()) {
    const unsigned char byte = byte_at(text, pos + n + 1);
    const unsigned char low = n == 0 ? lead.second_low : 0x80, high = n == 0 ? lead.second_high : 0xbf;
    if (byte < low || byte > high) break;
    ++n;
  }
  return n;
}

}  // namespace

uint32_t utf8_next(std::string_view text, size_t &pos) {
  const unsigned char first = byte_at(text, pos);
  const Lead lead = lead_of(first);
  if (lead.length == 0 || continuations(text, pos, lead) + 1 < lead.length) {
    ++pos;
    return kReplacement;
  }
  uint32_t code_point = lead.length == 1 ? first : first & (0x7fu >> lead.length);
  for (size_t i = 1; i < lead.length; ++i) code_point = code_point << 6 | (byte_at(text, pos + i) & 0x3f);
  pos += lead.length;
  return code_point;
}

bool utf8_valid(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const Lead lead = lead_of(byte_at(text, pos));
    if (lead.length == 0 || continuations(text, pos, lead) + 1 < lead.length) return false;
    pos += lead.length;
  }
  return true;
}

void utf8_append(std::string &out, uint32_t code_point) {
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) code_point = kReplacement;
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

size_t utf8_complete_prefix(std::string_view text) {
  // A character may lack bytes only if all of the text after its lead continues it.
  for (size_t tail = 1; tail <= std::min<size_t>(3, text.size()); ++tail) {
    const size_t pos = text.size() - tail;
    const Lead lead = lead_of(byte_at(text, pos));
    if (lead.length > tail && continuations(text, pos, lead) + 1 == tail) return pos;
  }
  return text.size();
}

}  // namespace rz
