// Unigram: of all ways to cut the normalized text into tokens, the one with the highest sum of scores, found
// by Viterbi over a trie of the pieces.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "text/charsmap.h"
#include "text/tokenizer.h"

namespace rz {

namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";
constexpr double kUnknownPenalty =
    10.0;  // SentencePiece's: an unknown character costs this more than any token

class UnigramTokenizer final : public Tokenizer {
 public:
  explicit UnigramTokenizer(Vocab vocab) : Tokenizer(std::move(vocab)), charsmap_(vocab_.charsmap) {
    if (vocab_.scores.empty()) {
      fail(Status::Format, "tokenizer.ggml.scores: expected one for each token, found none");
    }
    decode_strips_space_ = vocab_.add_space_prefix;
    find_byte_tokens();
    has_bytes_ = std::count(byte_ids_.begin(), byte_ids_.end(), -1) == 0;
    add_sentencepiece_pieces();
    build();
  }

 private:
  struct Best {
    double score;    // of the best cut of everything before; doubles, because a long text sums up many scores
    int32_t id;      // its last token
    uint32_t begin;  // where that token begins
  };

  void build() {
    std::vector<std::pair<std::string_view, int32_t>> keys;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    double lowest = kNone;
    for (int32_t id = 0; id < vocab_.size(); ++id) {
      const auto at = static_cast<size_t>(id);
      if (!(vocab_.scores[at] >= -std::numeric_limits<float>::max() &&
            vocab_.scores[at] <= std::numeric_limits<float>::max())) {
        fail(Status::Format, "tokenizer.ggml.scores[%d]: expected a finite number, found %g", id,
             static_cast<double>(vocab_.scores[at]));
      }
      const TokenKind kind = kind_of(id);
      if (kind != TokenKind::Normal && kind != TokenKind::UserDefined) continue;
      keys.emplace_back(vocab_.pieces[at], id);
      if (kind == TokenKind::Normal) lowest = std::min<double>(lowest, vocab_.scores[at]);
    }
    unknown_score_ = (lowest < kNone ? lowest : 0.0) - kUnknownPenalty;
    trie_ = Trie(std::move(keys));
  }

  void encode_text(std::string_view text, std::vector<int32_t> &out) const override {
    const std::string normal = normalize(text);
    if (normal.empty()) return;
    const std::vector<Best> best = find_best(normal);
    const size_t before = out.size();
    bool unknown_follows = false;
    for (size_t end = normal.size(); end > 0; end = best[end].begin) {
      const size_t begin = best[end].begin;
      if (best[end].id >= 0) {
        out.push_back(best[end].id);
      } else if (has_bytes_) {
        for (size_t at = end; at > begin; --at)
          out.push_back(byte_ids_[static_cast<uint8_t>(normal[at - 1])]);
      } else if (!unknown_follows) {  // neighbouring unknown characters are one unknown token
        append_unknown(std::string_view(normal).substr(begin, end - begin), out);
      }
      unknown_follows = best[end].id < 0;
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }

  // best[i] ends at byte i; (normal.size() + 1) of them, those inside a character unused.
  std::vector<Best> find_best(std::string_view normal) const {
    constexpr double kUnreached = -std::numeric_limits<double>::infinity();
    std::vector<Best> best(normal.size() + 1, Best{kUnreached, -1, 0});
    best[0].score = 0.0;
    for (size_t begin = 0; begin < normal.size();) {
      size_t next = begin;
      utf8_next(normal, next);
      const double score = best[begin].score;
      const auto offer = [&](size_t end, double sum, int32_t id) {
        if (sum > best[end].score) best[end] = {sum, id, static_cast<uint32_t>(begin)};
      };
      bool whole_character = false;
      trie_.prefixes(normal, begin, [&](size_t length, int32_t id) {
        whole_character |= begin + length == next;
        const bool user_defined = kind_of(id) == TokenKind::UserDefined;
        offer(begin + length, score + (user_defined ? 0.0 : vocab_.scores[static_cast<size_t>(id)]), id);
      });
      if (!whole_character) offer(next, score + unknown_score_, -1);
      begin = next;
    }
    return best;
  }

  // SentencePiece's normalization: characters mapped, a space before the text, runs of spaces made one and
  // none left at the ends where the vocabulary asks for that, and U+2581 for every space.
  std::string normalize(std::string_view text) const {
    std::string normal;
    normal.reserve(text.size() + text.size() / 4 + kSpaceMark.size());
    bool after_space = vocab_.remove_extra_whitespace, empty = true;
    while (!text.empty()) {
      for (const char c : charsmap_.next(text)) {
        if (c == ' ' && after_space) continue;
        if (empty && vocab_.add_space_prefix) normal += kSpaceMark;
        empty = false;
        if (c == ' ') {
          normal += kSpaceMark;
        } else {
          normal += c;
        }
        after_space = vocab_.remove_extra_whitespace && c == ' ';
      }
    }
    if (after_space && normal.size() > kSpaceMark.size()) normal.resize(normal.size() - kSpaceMark.size());
    return normal;
  }

  Charsmap charsmap_;
  Trie trie_;
  double unknown_score_ = 0.0;
  bool has_bytes_ = false;
};

}  // namespace

std::unique_ptr<Tokenizer> make_unigram_tokenizer(Vocab vocab) {
  return std::make_unique<UnigramTokenizer>(std::move(vocab));
}

}  // namespace rz
