// Bytes pass two gates: whole characters leave raw_ for held_, and what is no beginning of a stop string
// leaves held_. Each stop string is matched by Knuth, Morris and Pratt's automaton, so no byte is looked at
// twice.
#include "engine/text_stream.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace rz {
namespace {

constexpr size_t kReservedBytes = 512;  // longer pieces than this are rare, and cost one allocation
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

std::vector<size_t> fallbacks(const std::string &text) {
  std::vector<size_t> result(text.size(), 0);
  for (size_t i = 1, k = 0; i < text.size(); ++i) {
    while (k > 0 && text[i] != text[k]) k = result[k - 1];
    if (text[i] == text[k]) ++k;
    result[i] = k;
  }
  return result;
}

}  // namespace

TextStream::TextStream(const Tokenizer &tokenizer, std::vector<std::string> stop_strings, bool special,
                       bool strip_leading_space)
    : tokenizer_(tokenizer), special_(special), strip_leading_space_(strip_leading_space) {
  size_t longest = 0;
  stops_.reserve(stop_strings.size());
  for (size_t i = 0; i < stop_strings.size(); ++i) {
    std::string &text = stop_strings[i];
    if (text.empty()) fail(Status::Argument, "stop_strings[%zu]: expected at least one byte, found none", i);
    if (!utf8_valid(text)) fail(Status::Argument, "stop_strings[%zu]: expected UTF-8, found other bytes", i);
    longest = std::max(longest, text.size());
    std::vector<size_t> fallback = fallbacks(text);
    stops_.push_back({std::move(text), std::move(fallback), 0});
  }
  raw_.reserve(kReservedBytes);
  held_.reserve(longest + 3 * kReservedBytes);  // an invalid byte takes three
}

TextStream::Result TextStream::push(int32_t token) {
  held_.erase(0, handed_out_);
  handed_out_ = 0;
  if (stopped_) return {{}, true};
  append_piece(token);
  return take(false);
}

TextStream::Result TextStream::finish() {
  held_.erase(0, handed_out_);
  handed_out_ = 0;
  if (stopped_) return {{}, true};
  return take(true);
}

void TextStream::append_piece(int32_t token) {
  if (tokenizer_.vocab().kind == VocabKind::None) return;
  if (tokenizer_.is_control(token) && !special_) return;
  if (strip_leading_space_) {
    strip_leading_space_ = false;
    tokenizer_.decode(&token, 1, special_, true, raw_);
  } else {
    raw_ += tokenizer_.piece(token);
  }
}

bool TextStream::hold(char byte) {
  held_.push_back(byte);
  size_t complete = 0;
  for (Stop &stop : stops_) {
    while (stop.matched > 0 && stop.text[stop.matched] != byte)
      stop.matched = stop.fallback[stop.matched - 1];
    if (stop.text[stop.matched] == byte) ++stop.matched;
    if (stop.matched == stop.text.size()) complete = std::max(complete, stop.matched);
  }
  held_.resize(held_.size() - complete);
  return complete > 0;
}

TextStream::Result TextStream::take(bool final) {
  const size_t whole = final ? raw_.size() : utf8_complete_prefix(raw_);
  const std::string_view raw = std::string_view(raw_).substr(0, whole);
  for (size_t pos = 0; pos < whole && !stopped_;) {
    const size_t begin = pos;
    const uint32_t code_point = utf8_next(raw, pos);
    const bool invalid = code_point == 0xfffd && pos == begin + 1;
    for (const char byte : invalid ? kReplacement : raw.substr(begin, pos - begin)) {
      if (hold(byte)) {
        stopped_ = true;
        break;
      }
    }
  }
  raw_.erase(0, whole);
  size_t kept = 0;
  if (!final && !stopped_) {
    for (const Stop &stop : stops_) kept = std::max(kept, stop.matched);
  }
  handed_out_ = held_.size() - kept;
  return {std::string_view(held_).substr(0, handed_out_), stopped_};
}

}  // namespace rz
