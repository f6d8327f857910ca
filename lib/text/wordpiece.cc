// WordPiece as BERT uses it: words of the folded text, each cut into the longest pieces from its front. Files
// mark the first piece of a word with U+2581 and leave the others bare.
#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace rz {

namespace {

constexpr std::string_view kWordMark = "\xe2\x96\x81";
constexpr int kMaxWordCharacters = 100;  // BERT's: longer words are unknown

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(Vocab vocab) : Tokenizer(std::move(vocab)) {
    decode_strips_space_ = true;
    std::vector<std::pair<std::string_view, int32_t>> keys;
    std::string text;
    for (int32_t id = 0; id < vocab_.size(); ++id) {
      const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
      text.clear();
      if (is_control(id)) {
        text = piece;
      } else {
        keys.emplace_back(piece, id);
        append_unescaped(piece, text);
      }
      add_raw_piece(text);
    }
    trie_ = Trie(std::move(keys));
  }

 private:
  struct Word {
    std::string text{kWordMark};
    int characters = 0;

    bool empty() const { return characters == 0; }
    void clear() {
      text.resize(kWordMark.size());
      characters = 0;
    }
  };

  void encode_text(std::string_view text, std::vector<int32_t> &out) const override {
    Word word;
    for (size_t at = 0; at < text.size();) {
      const uint32_t code_point = utf8_next(text, at);
      const CharacterClass kind = bert_class(code_point);
      if (kind == CharacterClass::Ignored) continue;
      if (kind != CharacterClass::Word) flush(word, out);
      if (kind == CharacterClass::Space) continue;
      add(code_point, word, out);
      if (kind != CharacterClass::Word) flush(word, out);
    }
    flush(word, out);
  }

  void add(uint32_t code_point, Word &word, std::vector<int32_t> &out) const {
    if (word.characters > kMaxWordCharacters) return;  // unknown already: the rest need not be kept
    std::string folded;
    append_folded(code_point, vocab_.lower_case, vocab_.strip_accents, folded);
    for (size_t at = 0; at < folded.size();) {
      // Folding can bring out punctuation, such as the Greek question mark's semicolon.
      const size_t begin = at;
      const bool apart = bert_class(utf8_next(folded, at)) == CharacterClass::Punctuation;
      if (apart) flush(word, out);
      word.text.append(folded, begin, at - begin);
      ++word.characters;
      if (apart) flush(word, out);
    }
  }

  // Longest piece first; a word of which some part has no piece is unknown as a whole.
  void flush(Word &word, std::vector<int32_t> &out) const {
    if (word.empty()) return;
    const size_t before = out.size();
    bool known = word.characters <= kMaxWordCharacters;
    for (size_t at = 0; known && at < word.text.size();) {
      size_t length = 0;
      int32_t id = -1;
      trie_.prefixes(word.text, at, [&](size_t found_length, int32_t found) {
        length = found_length;
        id = found;
      });
      known = id >= 0;
      if (known) out.push_back(id);
      at += length;
    }
    if (!known) {
      out.resize(before);
      append_unknown(word.text, out);
    }
    word.clear();
  }

  Trie trie_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(Vocab vocab) {
  return std::make_unique<WordPieceTokenizer>(std::move(vocab));
}

}  // namespace rz
