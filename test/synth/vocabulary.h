// A vocabulary of a real model's size and build, so that loading it and spelling text with it costs what it
// does there: bytes, then merges of earlier pieces into ever longer ones, then the model's own special
// tokens.
#pragma once

#include <cstdint>

#include "format/gguf_writer.h"
#include "shapes.h"

namespace rz::synth {

// Writes the tokenizer.ggml.* keys.
void add_vocabulary(GgufWriter &file, const VocabularyShape &shape, uint64_t seed);

}  // namespace rz::synth
