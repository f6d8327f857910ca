// Grows a vocabulary: each new piece joins two that are there, so every one can be reached by merges, as in a
// learned vocabulary; which pieces are joined is drawn by lot.
#include "vocabulary.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "base/utf8.h"
#include "noise.h"

namespace rz::synth {
namespace {

// tokenizer.ggml.token_type
enum Kind : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUnused = 5, kByte = 6 };

constexpr size_t kLongestPiece = 16;  // bytes; as long as most words
// Letters as often as English has them, so that merges of two drawn from it meet real text.
constexpr std::string_view kLetters =
    "eeeeeeeeeeeettttttttaaaaaaaooooooooiiiiiiinnnnnnnssssssshhhhhhrrrrrrddddllllcccuuummmwwwffggyyppbbvkjxq"
    "z";

// GPT-2's way to write any byte as a visible character: printable Latin-1 as itself, the rest from U+0100 on.
std::vector<std::string> byte_letters() {
  std::vector<std::string> letters(256);
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    utf8_append(letters[b], visible ? b : next++);
  }
  return letters;
}

struct Vocabulary {
  std::vector<std::string> pieces, merges;
  std::vector<int32_t> kinds;

  int32_t size() const { return static_cast<int32_t>(pieces.size()); }
  void add(std::string piece, Kind kind) {
    pieces.push_back(std::move(piece));
    kinds.push_back(kind);
  }
};

class Builder {
 public:
  Builder(const VocabularyShape &shape, uint64_t seed) : shape_(shape), noise_(seed) {}

  Vocabulary build() {
    if (shape_.spelling == Spelling::Bytes) {
      space_ = "\xc4\xa0";  // U+0120, the letter of byte 32
      for (const std::string &letter : byte_letters()) learn(letter, kNormal);
    } else {
      space_ = "\xe2\x96\x81";  // U+2581
      add_pieces_of_one();
    }
    grow();
    while (v_.size() < shape_.size) {
      if (!special()) v_.add("<|reserved_" + std::to_string(v_.size()) + "|>", kUnused);
    }
    return std::move(v_);
  }

 private:
  // SentencePiece's first tokens: the special ones, the bytes by name, then single characters.
  void add_pieces_of_one() {
    while (special()) {
    }
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (size_t b = 0; b < 256; ++b) {
      learn(std::string("<0x") + kDigits[b / 16] + kDigits[b % 16] + '>', kByte);
    }
    learn(space_, kNormal);
    for (char c = 33; c < 127; ++c) learn(std::string(1, c), kNormal);
  }

  // Every piece is two that are there already, so each can be reached: words a letter at a time, and joined
  // ones.
  void grow() {
    std::vector<std::string> words{space_};  // what a merge may start with
    for (const char c : kLetters) words.push_back(std::string(1, c));
    while (v_.size() < shape_.learned) {
      const std::string &left = words[noise_.below(static_cast<uint32_t>(words.size()))];
      const std::string &right =
          noise_.below(2) ? letter() : words[noise_.below(static_cast<uint32_t>(words.size()))];
      // A space begins a word and stands nowhere else in it.
      if (left.size() + right.size() > kLongestPiece || right.starts_with(space_)) continue;
      const std::string both = left + right;
      if (!known_.insert(both).second) continue;
      while (special()) {
      }
      if (v_.size() >= shape_.learned) return;
      if (shape_.spelling == Spelling::Bytes) v_.merges.push_back(left + ' ' + right);
      v_.add(both, kNormal);
      words.push_back(both);
    }
  }

  const std::string &letter() {
    letter_.assign(1, kLetters[noise_.below(static_cast<uint32_t>(kLetters.size()))]);
    return letter_;
  }

  void learn(const std::string &piece, Kind kind) {
    while (special()) {
    }
    known_.insert(piece);
    v_.add(piece, kind);
  }

  // Puts the special token that has the next id, if one does.
  bool special() {
    for (const SpecialToken &token : shape_.specials) {
      if (token.id != v_.size()) continue;
      v_.add(token.text, token.id == shape_.unknown ? kUnknown : kControl);
      return true;
    }
    return false;
  }

  const VocabularyShape &shape_;
  Noise noise_;
  std::string space_, letter_;
  std::unordered_set<std::string> known_;
  Vocabulary v_;
};

}  // namespace

void add_vocabulary(GgufWriter &file, const VocabularyShape &shape, uint64_t seed) {
  const Vocabulary vocabulary = Builder(shape, seed).build();
  const bool bytes = shape.spelling == Spelling::Bytes;
  file.add_string("tokenizer.ggml.model", bytes ? "gpt2" : "llama");
  file.add_string("tokenizer.ggml.pre", shape.pre);
  file.add_strings("tokenizer.ggml.tokens", vocabulary.pieces);
  if (bytes) {
    file.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  } else {  // earlier pieces are joined first
    std::vector<float> scores(vocabulary.pieces.size());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    file.add_f32s("tokenizer.ggml.scores", scores);
    file.add_bool("tokenizer.ggml.add_space_prefix", false);
  }
  file.add_i32s("tokenizer.ggml.token_type", vocabulary.kinds);
  file.add_u32("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(shape.bos));
  file.add_u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(shape.eos));
  if (shape.unknown >= 0)
    file.add_u32("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(shape.unknown));
  file.add_bool("tokenizer.ggml.add_bos_token", shape.add_bos);
}

}  // namespace rz::synth
