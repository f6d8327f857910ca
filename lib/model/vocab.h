// From a file's metadata to a Vocab: GGUF's tokenizer.ggml.* keys, and what they leave to be known from the
// kind of vocabulary, the pre-tokenizer's name and the names of tokens.
#pragma once

#include "format/model_file.h"
#include "text/vocab.h"

namespace rz {

// Throws Format for keys of the wrong type, lists of the wrong length and special ids that are no token;
// Unsupported for a tokenizer.ggml.model not known here. A file without a vocabulary gives VocabKind::None.
// The pieces and merges are views into the file.
Vocab read_vocab(const Metadata &metadata);

}  // namespace rz
