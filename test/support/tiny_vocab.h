// The two small vocabularies of the tiny models.
#pragma once

#include "support/tiny_models.h"

namespace rz::test {

// n_tokens: at least 300. SentencePiece-like: unknown 0, BOS 1, EOS 2, the bytes, then letters and words.
void add_spm_vocab(TinyFile &file, int32_t n_tokens);
// Byte-level BPE: 256 bytes, merges that lead to words, and <|endoftext|> last.
void add_bpe_vocab(TinyFile &file, int32_t n_tokens);

}  // namespace rz::test
