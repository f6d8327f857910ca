// A vocabulary as read from a model file: pieces, scores, kinds and special ids. Plain data; lib/model fills
// it from metadata and checks it, Tokenizer gives it meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rz {

enum class VocabKind : uint8_t {
  None,  // no vocabulary: token ids only
  Spm,  // SentencePiece BPE: scores, spaces as U+2581, bytes as <0xNN>         (tokenizer.ggml.model "llama")
  Bpe,  // byte-level BPE with ranked merges behind a named pre-tokenizer       ("gpt2")
  WordPiece,  // greedy longest match, here with U+2581 before each first piece       ("bert")
  Unigram     // most probable segmentation, normalized by a compiled character map   ("t5")
};

enum class TokenKind : uint8_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6
};

struct Vocab {
  VocabKind kind = VocabKind::None;
  std::string pre;                       // tokenizer.ggml.pre: name of the pre-tokenizer (Bpe)
  std::vector<std::string_view> pieces;  // (n_tokens) as stored in the file; the file outlives the Vocab
  std::vector<float> scores;             // (n_tokens) or empty
  std::vector<TokenKind> kinds;          // (n_tokens) or empty: all Normal
  std::vector<std::string_view> merges;  // (n_merges) "left right", best first (Bpe)
  int32_t bos = -1, eos = -1, unk = -1, sep = -1, pad = -1, mask = -1;  // -1: the model has none
  std::vector<int32_t> end_of_generation;  // eos, eot, eom and their kin, ascending: generation ends at these
  // Special tokens that eat the white space before (after) them when text is parsed for specials; ascending.
  std::vector<int32_t> strips_before, strips_after;
  bool add_bos = false, add_eos = false;
  bool add_sep = false;          // WordPiece: texts end with sep; elsewhere it only parts pairs of texts
  bool add_space_prefix = true;  // Spm, Unigram: text begins with a space that decoding takes off
  bool remove_extra_whitespace = false;  // Unigram
  bool lower_case = true;                // WordPiece
  bool strip_accents = true;             // WordPiece
  std::string charsmap;                  // precompiled normalizer (Unigram); empty: none

  int32_t size() const { return static_cast<int32_t>(pieces.size()); }
};

}  // namespace rz
