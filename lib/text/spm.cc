// SentencePiece's BPE: a text with U+2581 for its spaces is merged from characters by the scores of the
// tokens; what no token covers becomes byte tokens.
#include <bit>

#include "base/utf8.h"
#include "text/merge.h"
#include "text/tokenizer.h"

namespace rz {

namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";
constexpr int32_t kCharacter = -1;  // a symbol not merged yet: its token is looked up at the end

// Floats ordered as unsigned integers, highest first; any bits, NaN too, have a place in the order.
uint32_t rank_of_score(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score);
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return std::min(~ascending, kNoRank - 1);
}

class SpmTokenizer final : public Tokenizer {
 public:
  explicit SpmTokenizer(Vocab vocab) : Tokenizer(std::move(vocab)) {
    decode_strips_space_ = vocab_.add_space_prefix;
    find_byte_tokens();
    add_sentencepiece_pieces();
    for (int32_t id = 0; id < vocab_.size(); ++id) {
      const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
      if (!can_merge(id)) continue;
      longest_ = std::max(longest_, piece.size());
      if (space_inside(piece)) words_part_ = false;
    }
  }

 private:
  void encode_text(std::string_view text, std::vector<int32_t> &out) const override {
    std::string escaped(vocab_.add_space_prefix ? kSpaceMark : "");
    append_escaped(text, escaped);
    MergeWork work;
    for (size_t at = 0; at < escaped.size();) {
      const size_t end = words_part_ ? word_end(escaped, at) : escaped.size();
      encode_word(std::string_view(escaped).substr(at, end - at), work, out);
      at = end;
    }
  }

  // Control, unknown and byte tokens are never formed from text.
  bool can_merge(int32_t id) const {
    const TokenKind kind = kind_of(id);
    return kind == TokenKind::Normal || kind == TokenKind::UserDefined || kind == TokenKind::Unused;
  }

  static bool space_inside(std::string_view piece) {
    for (size_t at = piece.find(kSpaceMark); at != std::string_view::npos;
         at = piece.find(kSpaceMark, at + 1)) {
      if (at > 0 && !piece.substr(0, at).ends_with(kSpaceMark)) return true;
    }
    return false;
  }

  // Where the next space follows something else than a space.
  static size_t word_end(std::string_view text, size_t at) {
    while (text.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
    return std::min(text.find(kSpaceMark, at), text.size());
  }

  void encode_word(std::string_view text, MergeWork &work, std::vector<int32_t> &out) const {
    work.symbols.clear();
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      utf8_next(text, at);
      work.add(kCharacter, static_cast<uint32_t>(begin), static_cast<uint32_t>(at - begin));
    }
    merge_symbols(work, [&](const MergeSymbol &left, const MergeSymbol &right, int32_t &merged) {
      const size_t size = size_t{left.size} + right.size;
      if (size > longest_) return kNoRank;
      merged = find(text.substr(left.begin, size));
      if (merged < 0 || !can_merge(merged)) return kNoRank;
      return rank_of_score(vocab_.scores.empty() ? 0.0f : vocab_.scores[static_cast<size_t>(merged)]);
    });
    for (uint32_t at = 0; at != kNoSymbol; at = work.symbols[at].next) {
      const MergeSymbol &symbol = work.symbols[at];
      const std::string_view bytes = text.substr(symbol.begin, symbol.size);
      const int32_t id = symbol.id == kCharacter ? find(bytes) : symbol.id;
      if (id >= 0 && can_merge(id)) {
        out.push_back(id);
      } else {
        append_unknown(bytes, out);
      }
    }
  }

  size_t longest_ = 0;      // bytes of the longest token that text can become
  bool words_part_ = true;  // no token has a space behind something else: words can be merged one by one
};

}  // namespace

std::unique_ptr<Tokenizer> make_spm_tokenizer(Vocab vocab) {
  return std::make_unique<SpmTokenizer>(std::move(vocab));
}

}  // namespace rz
