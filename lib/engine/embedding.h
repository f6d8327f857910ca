// Embeddings: the hidden states of a text's tokens, pooled into one vector, or all of them.
#pragma once

#include <span>

#include "engine/engine.h"

namespace rz {

// With the values of RZ_POOL_*.
enum class EmbedPooling : int32_t { Default = 0, Mean, Cls, Last, None };

// Floats that embed() writes: hidden, or n_tokens * hidden when nothing is pooled.
size_t embedding_size(const Engine &engine, EmbedPooling pooling, size_t n_tokens);

// `out` (embedding_size). Sums are kept in double, in row order; `normalize`: each vector to unit length.
void embed(Engine &engine, std::span<const int32_t> tokens, EmbedPooling pooling, bool normalize, float *out);

}  // namespace rz
