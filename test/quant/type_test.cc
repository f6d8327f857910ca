// The traits table is consistent in itself and with the numbers that GGUF files carry.
#include "quant/type.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rz {
namespace {

constexpr int kTypes = static_cast<int>(Type::Count);
constexpr int kFileTypes = static_cast<int>(Type::F8);

TEST(TypeTable, FindsEveryRowOfFilesByItsNameAndByItsNumber) {
  for (int i = 0; i < kFileTypes; ++i) {
    const Type type = static_cast<Type>(i);
    const char *what = nullptr;
    EXPECT_EQ(type_from_name(traits(type).name), type);
    EXPECT_EQ(type_from_gguf(traits(type).gguf_id, &what), type);
    EXPECT_EQ(what, nullptr);
  }
}

TEST(TypeTable, FindsNoTypeOfPagesInAFile) {
  for (int i = kFileTypes; i < kTypes; ++i) {
    const TypeTraits &t = traits(static_cast<Type>(i));
    EXPECT_EQ(type_from_name(t.name), Type::Count);
    EXPECT_EQ(type_from_gguf(t.gguf_id, nullptr), Type::Count);
    EXPECT_EQ(t.decode, nullptr);
  }
}

TEST(TypeTable, GivesEachFormatItsOwnNumbers) {
  std::set<uint32_t> ids, file_types;
  for (int i = 0; i < kTypes; ++i) {
    const TypeTraits &t = traits(static_cast<Type>(i));
    EXPECT_TRUE(ids.insert(t.gguf_id).second) << t.name;
    if (t.file_type != UINT32_MAX) {
      EXPECT_TRUE(file_types.insert(t.file_type).second) << t.name;
    }
    EXPECT_EQ(t.decode == nullptr, t.encode == nullptr) << t.name;
    EXPECT_EQ(t.decode == nullptr, t.file_type == UINT32_MAX) << t.name;
  }
}

TEST(TypeTable, KnowsTheNumbersAndSizesThatFilesUse) {
  struct Row {
    Type type;
    const char *name;
    uint32_t gguf_id, file_type, weights, bytes;
  };
  const Row rows[] = {
      {Type::F32, "F32", 0, 0, 1, 4},
      {Type::F16, "F16", 1, 1, 1, 2},
      {Type::BF16, "BF16", 30, 32, 1, 2},
      {Type::Q4_0, "Q4_0", 2, 2, 32, 18},
      {Type::Q4_1, "Q4_1", 3, 3, 32, 20},
      {Type::Q5_0, "Q5_0", 6, 8, 32, 22},
      {Type::Q5_1, "Q5_1", 7, 9, 32, 24},
      {Type::Q8_0, "Q8_0", 8, 7, 32, 34},
      {Type::Q2_K, "Q2_K", 10, 10, 256, 84},
      {Type::Q3_K, "Q3_K", 11, 12, 256, 110},
      {Type::Q4_K, "Q4_K", 12, 15, 256, 144},
      {Type::Q5_K, "Q5_K", 13, 17, 256, 176},
      {Type::Q6_K, "Q6_K", 14, 18, 256, 210},
      {Type::IQ4_NL, "IQ4_NL", 20, 25, 32, 18},
      {Type::IQ4_XS, "IQ4_XS", 23, 30, 256, 136},
  };
  for (const Row &row : rows) {
    const TypeTraits &t = traits(row.type);
    EXPECT_STREQ(t.name, row.name);
    EXPECT_EQ(t.gguf_id, row.gguf_id) << row.name;
    EXPECT_EQ(t.file_type, row.file_type) << row.name;
    EXPECT_EQ(t.block_weights, row.weights) << row.name;
    EXPECT_EQ(t.block_bytes, row.bytes) << row.name;
  }
}

TEST(TypeTable, NamesRemovedAndUnsupportedFormats) {
  const std::pair<uint32_t, const char *> others[] = {
      {4, "Q4_2 (removed)"},
      {5, "Q4_3 (removed)"},
      {31, "Q4_0_4_4 (removed)"},
      {38, "IQ4_NL_8_8 (removed)"},
      {9, "Q8_1"},
      {16, "IQ2_XXS"},
      {29, "IQ1_M"},
      {39, "MXFP4"},
      {99, "unknown"},
      {UINT32_MAX, "unknown"},
  };
  for (const auto &[id, name] : others) {
    const char *what = nullptr;
    EXPECT_EQ(type_from_gguf(id, &what), Type::Count) << id;
    EXPECT_STREQ(what, name);
  }
  EXPECT_EQ(type_from_gguf(4, nullptr), Type::Count);
}

TEST(TypeTable, HasNoGapAmongTheNumbersInUse) {
  for (uint32_t id = 0; id <= 39; ++id) {
    const char *what = "";
    if (type_from_gguf(id, &what) == Type::Count) {
      EXPECT_STRNE(what, "unknown") << id;
    }
  }
}

TEST(TypeTable, DoesNotFindNamesThatAreNearlyRight) {
  for (const char *name : {"", "q4_k", "Q4_K ", "Q4_K_M", "Q4", "IQ4"}) {
    EXPECT_EQ(type_from_name(name), Type::Count) << name;
  }
}

TEST(TypeTable, CountsBytesPastFourBillionWeights) {
  EXPECT_EQ(bytes_of(Type::Q4_K, uint64_t{1} << 40), (uint64_t{1} << 32) * 144);
  EXPECT_EQ(bytes_of(Type::F32, 0), 0u);
}

}  // namespace
}  // namespace rz
