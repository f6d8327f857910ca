// The only translation unit that sees PCRE2. Matching is interpreted (no JIT: no executable pages in the
// host) on text known to be valid UTF-8; the patterns are ours and were chosen to need time linear in the
// text, so the match limit is lifted and only memory is bounded.
#include "text/pretokenize.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/utf8.h"

namespace rz {

namespace {

constexpr uint32_t kHeapLimitKib = 65536;

struct FreeMatchData {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context *context) const { pcre2_match_context_free(context); }
};
struct FreeCode {
  void operator()(pcre2_code *code) const { pcre2_code_free(code); }
};

}  // namespace

struct Pretokenizer::Regex {
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::unique_ptr<pcre2_match_context, FreeContext> context;

  explicit Regex(const char *pattern) {
    int error = 0;
    size_t offset = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                             PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    context.reset(pcre2_match_context_create(nullptr));
    if (!code && error != PCRE2_ERROR_HEAP_FAILED) {
      fail(Status::Internal, "pre-tokenizer pattern: PCRE2 error %d at %zu of %s", error, offset, pattern);
    }
    if (!code || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), UINT32_MAX);
    pcre2_set_depth_limit(context.get(), UINT32_MAX);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
  }

  // Finds the first match at or after `from`; false where there is none.
  bool match(std::string_view text, size_t from, pcre2_match_data *data, size_t &begin, size_t &end) const {
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_NO_UTF_CHECK, data, context.get());
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    if (found < 0) fail(Status::Limit, "text: cutting it into pieces failed, PCRE2 error %d", found);
    begin = pcre2_get_ovector_pointer(data)[0];
    end = pcre2_get_ovector_pointer(data)[1];
    return true;
  }
};

Pretokenizer::Pretokenizer(const PretokenizerInfo &info) {
  for (int i = 0; i < info.n_steps; ++i) {
    steps_.push_back({std::make_unique<Regex>(info.steps[i].pattern), info.steps[i].in_threes});
  }
}

Pretokenizer::~Pretokenizer() = default;

namespace {

using Piece = Pretokenizer::Piece;

// Cuts the characters of text[begin, end) into threes, the first piece taking what is over.
void cut_in_threes(std::string_view text, size_t begin, size_t end, std::vector<Piece> &pieces) {
  size_t left = 0;
  for (size_t at = begin; at < end; ++left) utf8_next(text, at);
  for (size_t at = begin; at < end;) {
    utf8_next(text, at);
    if (--left % 3 == 0) pieces.push_back({static_cast<uint32_t>(at), true});
  }
}

}  // namespace

void Pretokenizer::split(std::string_view text, std::vector<Piece> &pieces) const {
  pieces.clear();
  size_t valid_from = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const bool invalid = utf8_next(text, at) == 0xfffd && at - begin == 1;
    if (!invalid) continue;
    if (valid_from < begin) split_valid(text, valid_from, begin, pieces);
    for (size_t next = at; next < text.size() && utf8_next(text, next) == 0xfffd && next - at == 1;)
      at = next;
    pieces.push_back({static_cast<uint32_t>(at), true});
    valid_from = at;
  }
  if (valid_from < text.size()) split_valid(text, valid_from, text.size(), pieces);
}

void Pretokenizer::split_valid(std::string_view text, size_t begin, size_t end,
                               std::vector<Piece> &pieces) const {
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw std::bad_alloc();
  std::vector<Piece> before, after{{static_cast<uint32_t>(end), false}};
  for (const Step &step : steps_) {
    before.swap(after);
    after.clear();
    size_t piece_begin = begin;
    for (const auto [piece_end, matched] : before) {
      // A piece is a text of its own: expressions see its ends as the text's.
      const std::string_view piece = text.substr(piece_begin, piece_end - piece_begin);
      size_t at = 0, match_begin = 0, match_end = 0;
      while (at < piece.size() && step.regex->match(piece, at, data.get(), match_begin, match_end)) {
        if (match_begin > at) after.push_back({static_cast<uint32_t>(piece_begin + match_begin), matched});
        if (step.in_threes) {
          cut_in_threes(text, piece_begin + match_begin, piece_begin + match_end, after);
        } else {
          after.push_back({static_cast<uint32_t>(piece_begin + match_end), true});
        }
        at = match_end;  // no pattern matches nothing, so this goes forward
      }
      if (at < piece.size()) after.push_back({piece_end, matched});
      piece_begin = piece_end;
    }
  }
  pieces.insert(pieces.end(), after.begin(), after.end());
}

}  // namespace rz
