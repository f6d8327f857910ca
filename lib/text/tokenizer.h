// Text to token ids and back. One subclass per kind of vocabulary; special tokens, BOS and EOS are the base
// class's work, so that they mean the same for all of them. Immutable after construction: any threads may use
// one at once.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_index.h"
#include "text/trie.h"
#include "text/vocab.h"

namespace rz {

struct EncodeOptions {
  bool add_special = true;     // BOS, EOS (CLS, SEP) as the vocabulary asks for
  bool parse_special = false;  // the text of control tokens becomes those tokens; user-defined ones always do
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of `text` to `out`. Any bytes are accepted: invalid UTF-8 becomes byte tokens, U+FFFD or
  // the unknown token, as the kind of vocabulary does. Time is near linear in the length. Throws Format where
  // the vocabulary has no way to express the text (no unknown token, no byte tokens), Limit from 2^31 bytes
  // on.
  void encode(std::string_view text, EncodeOptions options, std::vector<int32_t> &out) const;

  // Appends the text of `tokens`; control tokens are left out unless `special`. The leading space that
  // encoding adds is taken off when `strip_leading_space` (a text from its beginning) and kept for a
  // continuation. Throws Argument for an id that is no token.
  void decode(const int32_t *tokens, size_t n_tokens, bool special, bool strip_leading_space,
              std::string &out) const;

  // The raw bytes a token stands for (may be a part of a character; for control tokens, their name). Empty
  // for an id that is no token.
  std::string_view piece(int32_t token) const;
  bool is_control(int32_t token) const;  // control and unknown tokens
  bool is_end_of_generation(int32_t token) const;
  const Vocab &vocab() const { return vocab_; }

  // Checks the vocabulary for what its kind needs (Format) and builds the tables. Unsupported where the
  // pre-tokenizer's name is not known, naming it. VocabKind::None gives one that refuses text with
  // Unsupported.
  static std::unique_ptr<Tokenizer> create(Vocab vocab);

 protected:
  explicit Tokenizer(Vocab vocab);
  // Appends the ids of text that holds no special tokens. Called once for each stretch between special
  // tokens: SentencePiece kinds add their space prefix to every one.
  virtual void encode_text(std::string_view text, std::vector<int32_t> &out) const = 0;

  int32_t find(std::string_view stored_piece) const { return index_.find(vocab_.pieces, stored_piece); }
  TokenKind kind_of(int32_t token) const {
    return vocab_.kinds.empty() ? TokenKind::Normal : vocab_.kinds[static_cast<size_t>(token)];
  }
  // The constructor of a subclass calls this once for each token, in order.
  void add_raw_piece(std::string_view bytes);
  // The same for all tokens at once, as SentencePiece stores them: U+2581 for a space, <0xNN> for a byte.
  void add_sentencepiece_pieces();
  // Fills byte_ids_ from the tokens <0x00> to <0xFF>; throws Format for a byte token with another name.
  void find_byte_tokens();
  // What no piece covers: its byte tokens, or the unknown token when one of them is missing, or Format.
  void append_unknown(std::string_view bytes, std::vector<int32_t> &out) const;

  Vocab vocab_;
  std::array<int32_t, 256> byte_ids_;  // token of a single byte, -1 where absent
  bool decode_strips_space_ = false;   // the first piece begins with a space that encoding added

 private:
  struct Special {
    size_t begin, length;
    int32_t id;  // -1: none found
  };
  Special next_special(std::string_view text, size_t from, bool parse_control) const;

  PieceIndex index_;
  std::string raw_text_;             // all raw pieces, one after another
  std::vector<uint32_t> raw_begin_;  // (n_tokens + 1) offsets into raw_text_
  Trie specials_;                    // control, unknown and user-defined tokens
};

std::unique_ptr<Tokenizer> make_spm_tokenizer(Vocab vocab);
std::unique_ptr<Tokenizer> make_bpe_tokenizer(Vocab vocab);
std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(Vocab vocab);
std::unique_ptr<Tokenizer> make_unigram_tokenizer(Vocab vocab);

// The byte that a piece "<0x00>" to "<0xFF>" stands for, or -1 for any other piece.
int byte_of_piece(std::string_view piece);
// Appends `text` with every U+2581 as a space, or every space as U+2581.
void append_unescaped(std::string_view text, std::string &out);
void append_escaped(std::string_view text, std::string &out);

}  // namespace rz
