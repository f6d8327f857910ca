// The traits table: one row per block format, in the order of Type, and the look-ups into it.
#include "quant/type.h"

#include "quant/blocks.h"
#include "quant/codec.h"

namespace rz {
namespace {

constexpr uint32_t kNoFileType = UINT32_MAX, kInNoFile = UINT32_MAX;
constexpr size_t kTypes = static_cast<size_t>(Type::Count);
constexpr size_t kFileTypes = static_cast<size_t>(Type::F8);  // those before it: a file cannot name the rest

// file_type of the K-quants is that of their medium mix, the one people mean by "a Q4_K file".
constexpr TypeTraits kTraits[] = {
    {"F32", 0, 0, 1, 4, decode_f32, encode_f32},
    {"F16", 1, 1, 1, 2, decode_f16, encode_f16},
    {"BF16", 30, 32, 1, 2, decode_bf16, encode_bf16},
    {"Q4_0", 2, 2, kBlock, sizeof(BlockQ4_0), decode_q4_0, encode_q4_0},
    {"Q4_1", 3, 3, kBlock, sizeof(BlockQ4_1), decode_q4_1, encode_q4_1},
    {"Q5_0", 6, 8, kBlock, sizeof(BlockQ5_0), decode_q5_0, encode_q5_0},
    {"Q5_1", 7, 9, kBlock, sizeof(BlockQ5_1), decode_q5_1, encode_q5_1},
    {"Q8_0", 8, 7, kBlock, sizeof(BlockQ8_0), decode_q8_0, encode_q8_0},
    {"Q2_K", 10, 10, kSuperBlock, sizeof(BlockQ2_K), decode_q2_k, encode_q2_k},
    {"Q3_K", 11, 12, kSuperBlock, sizeof(BlockQ3_K), decode_q3_k, encode_q3_k},
    {"Q4_K", 12, 15, kSuperBlock, sizeof(BlockQ4_K), decode_q4_k, encode_q4_k},
    {"Q5_K", 13, 17, kSuperBlock, sizeof(BlockQ5_K), decode_q5_k, encode_q5_k},
    {"Q6_K", 14, 18, kSuperBlock, sizeof(BlockQ6_K), decode_q6_k, encode_q6_k},
    {"IQ4_NL", 20, 25, kBlock, sizeof(BlockIQ4_NL), decode_iq4_nl, encode_iq4_nl},
    {"IQ4_XS", 23, 30, kSuperBlock, sizeof(BlockIQ4_XS), decode_iq4_xs, encode_iq4_xs},
    {"I8", 24, kNoFileType, 1, 1, nullptr, nullptr},
    {"I16", 25, kNoFileType, 1, 2, nullptr, nullptr},
    {"I32", 26, kNoFileType, 1, 4, nullptr, nullptr},
    {"I64", 27, kNoFileType, 1, 8, nullptr, nullptr},
    {"F64", 28, kNoFileType, 1, 8, nullptr, nullptr},
    {"F8", kInNoFile, kNoFileType, 1, 1, nullptr, nullptr},
};
static_assert(sizeof kTraits / sizeof *kTraits == kTypes);

struct OtherFormat {
  uint32_t gguf_id;
  const char *name;
};

// Numbers that files may carry and this version does not read.
constexpr OtherFormat kOtherFormats[] = {
    {4, "Q4_2 (removed)"},
    {5, "Q4_3 (removed)"},
    {9, "Q8_1"},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {29, "IQ1_M"},
    {31, "Q4_0_4_4 (removed)"},
    {32, "Q4_0_4_8 (removed)"},
    {33, "Q4_0_8_8 (removed)"},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {36, "IQ4_NL_4_4 (removed)"},
    {37, "IQ4_NL_4_8 (removed)"},
    {38, "IQ4_NL_8_8 (removed)"},
    {39, "MXFP4"},
    {40, "NVFP4"},
};

}  // namespace

const TypeTraits &traits(Type type) { return kTraits[static_cast<size_t>(type)]; }

Type type_from_gguf(uint32_t gguf_id, const char **what) {
  for (size_t i = 0; i < kFileTypes; ++i) {
    if (kTraits[i].gguf_id == gguf_id) return static_cast<Type>(i);
  }
  if (what) {
    *what = "unknown";
    for (const OtherFormat &other : kOtherFormats) {
      if (other.gguf_id == gguf_id) *what = other.name;
    }
  }
  return Type::Count;
}

Type type_from_name(std::string_view name) {
  for (size_t i = 0; i < kFileTypes; ++i) {
    if (name == kTraits[i].name) return static_cast<Type>(i);
  }
  return Type::Count;
}

}  // namespace rz
