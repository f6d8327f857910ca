// Block formats. A tensor's values are stored in blocks of a fixed number of weights and bytes; one traits
// row per format says everything the rest of the library needs: its names, its sizes, and how to decode and
// encode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rz {

enum class Type : uint8_t {
  F32,
  F16,
  BF16,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
  // Known to exist in files, never used as weights by this version.
  I8,
  I16,
  I32,
  I64,
  F64,
  // Of KV pages, and in no file.
  F8,
  Count
};

struct TypeTraits {
  const char *name;        // "Q4_K"
  uint32_t gguf_id;        // number in a GGUF tensor table; UINT32_MAX for what is in no file
  uint32_t file_type;      // general.file_type of a file made mostly of it; UINT32_MAX where none is defined
  uint32_t block_weights;  // weights per block; a row's length is a multiple of it
  uint32_t block_bytes;
  // Both work on whole blocks: n is a multiple of block_weights. Null for types that are no weights.
  void (*decode)(const void *blocks, float *weights, int64_t n);
  void (*encode)(const float *weights, void *blocks, int64_t n);
};

const TypeTraits &traits(Type type);

// Looks a GGUF type number up, of types that files have. Type::Count where it is unknown; `what` (may be
// null) then gets the name of a removed or not yet supported format ("Q4_2 (removed)", "IQ2_XXS"), or
// "unknown".
Type type_from_gguf(uint32_t gguf_id, const char **what);
Type type_from_name(std::string_view name);  // "Q4_K"; Type::Count where unknown

// Bytes of `n` weights; n is a multiple of block_weights.
inline uint64_t bytes_of(Type type, uint64_t n) {
  const TypeTraits &t = traits(type);
  return n / t.block_weights * t.block_bytes;
}

}  // namespace rz
