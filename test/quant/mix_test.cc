// Which tensor gets which type in the named mixes.
#include "quant/mix.h"

#include <gtest/gtest.h>

#include <set>

namespace rz {
namespace {

constexpr int64_t kWide = 1024;

Type type_in(const char *scheme, const MixModel &model, std::string_view name,
             std::vector<int64_t> dims = {kWide, 512}, Type stored = Type::F16) {
  return type_for(*find_mix(scheme), model, name, dims, stored);
}

MixModel dense(int layers) {
  return {.n_layers = layers, .n_heads = 16, .n_kv_heads = 8, .attn_v_layers = {}, .ffn_down_layers = {}};
}

// The layers of a model, as a string of one letter each: '*' where the tensor gets `special`.
std::string pattern(const char *scheme, const MixModel &model, const std::string &part, Type special) {
  std::string out;
  for (int i = 0; i < model.n_layers; ++i) {
    const std::string name = "blk." + std::to_string(i) + "." + part;
    out += type_in(scheme, model, name) == special ? '*' : '.';
  }
  return out;
}

TEST(Mix, FindsEveryMixByNameAndNoOther) {
  std::set<uint32_t> file_types;
  for (const Mix &mix : mixes()) {
    EXPECT_EQ(find_mix(mix.name), &mix);
    EXPECT_TRUE(file_types.insert(mix.file_type).second) << mix.name;
    EXPECT_NE(mix_names().find(mix.name), std::string::npos);
  }
  EXPECT_EQ(find_mix("Q4_K"), nullptr);
  EXPECT_EQ(find_mix(""), nullptr);
  for (const char *name :
       {"Q8_0", "Q4_0", "Q4_K_S", "Q4_K_M", "Q5_K_M", "Q6_K", "Q3_K_M", "Q2_K", "F16", "BF16", "F32"}) {
    EXPECT_NE(find_mix(name), nullptr) << name;
  }
}

TEST(Mix, CarriesTheFileTypeOfItsName) {
  const std::pair<const char *, uint32_t> rows[] = {
      {"F32", 0},     {"F16", 1},     {"Q4_0", 2},    {"Q4_1", 3},    {"Q8_0", 7},
      {"Q5_0", 8},    {"Q5_1", 9},    {"Q2_K", 10},   {"Q3_K_S", 11}, {"Q3_K_M", 12},
      {"Q3_K_L", 13}, {"Q4_K_S", 14}, {"Q4_K_M", 15}, {"Q5_K_S", 16}, {"Q5_K_M", 17},
      {"Q6_K", 18},   {"IQ4_NL", 25}, {"IQ4_XS", 30}, {"BF16", 32}};
  for (const auto &[name, file_type] : rows) EXPECT_EQ(find_mix(name)->file_type, file_type) << name;
  EXPECT_EQ(mixes().size(), std::size(rows));
}

TEST(Mix, Q4_K_MGivesMoreBitsToTheEndsAndEveryThirdLayer) {
  // 28 layers: the first 3, from 24 on, and 5, 8, ... between.
  const std::string expected = "***..*..*..*..*..*..*..*****";
  EXPECT_EQ(pattern("Q4_K_M", dense(28), "attn_v.weight", Type::Q6_K), expected);
  EXPECT_EQ(pattern("Q4_K_M", dense(28), "ffn_down.weight", Type::Q6_K), expected);
  EXPECT_EQ(pattern("Q5_K_M", dense(28), "attn_v.weight", Type::Q6_K), expected);
  EXPECT_EQ(pattern("Q4_K_M", dense(28), "attn_qkv.weight", Type::Q6_K), expected);
  for (const char *part : {"attn_q", "attn_k", "attn_output", "ffn_gate", "ffn_up"}) {
    EXPECT_EQ(pattern("Q4_K_M", dense(28), std::string(part) + ".weight", Type::Q4_K), std::string(28, '*'))
        << part;
  }
  EXPECT_EQ(type_in("Q4_K_M", dense(28), "token_embd.weight"), Type::Q4_K);
}

TEST(Mix, SmallMixesRaiseTheFirstLayers) {
  EXPECT_EQ(pattern("Q4_K_S", dense(16), "attn_v.weight", Type::Q5_K), "****............");
  EXPECT_EQ(pattern("Q4_K_S", dense(16), "ffn_down.weight", Type::Q5_K), "**..............");
  EXPECT_EQ(pattern("Q3_K_M", dense(16), "attn_v.weight", Type::Q5_K), "**..............");
  EXPECT_EQ(pattern("Q3_K_M", dense(16), "ffn_down.weight", Type::Q5_K), "*...............");
  EXPECT_EQ(pattern("Q3_K_M", dense(16), "ffn_down.weight", Type::Q4_K), ".***************");
  EXPECT_EQ(type_in("Q3_K_M", dense(16), "blk.3.attn_output.weight"), Type::Q4_K);
  EXPECT_EQ(type_in("Q3_K_M", dense(16), "blk.3.attn_q.weight"), Type::Q3_K);
  EXPECT_EQ(type_in("Q2_K", dense(16), "blk.3.ffn_down.weight"), Type::Q3_K);
  EXPECT_EQ(type_in("Q2_K", dense(16), "blk.3.attn_output.weight"), Type::Q3_K);
  EXPECT_EQ(type_in("Q2_K", dense(16), "blk.3.ffn_up.weight"), Type::Q2_K);
}

TEST(Mix, ValuesSharedByFourHeadsGetMoreBits) {
  MixModel wide = dense(16);
  EXPECT_EQ(type_in("Q2_K", wide, "blk.3.attn_v.weight"), Type::Q3_K);
  EXPECT_EQ(type_in("IQ4_XS", wide, "blk.3.attn_v.weight"), Type::IQ4_XS);
  wide.n_kv_heads = 4;
  EXPECT_EQ(type_in("Q2_K", wide, "blk.3.attn_v.weight"), Type::Q4_K);
  EXPECT_EQ(type_in("IQ4_XS", wide, "blk.3.attn_v.weight"), Type::Q5_K);
  EXPECT_EQ(type_in("Q4_K_M", dense(80), "blk.11.attn_v.weight"), Type::Q5_K);
}

TEST(Mix, OutputGetsSixBitsOrEight) {
  const MixModel model = dense(16);
  for (const char *scheme : {"Q4_0", "Q5_1", "Q2_K", "Q3_K_M", "Q4_K_M", "Q6_K", "IQ4_NL"}) {
    EXPECT_EQ(type_in(scheme, model, "output.weight"), Type::Q6_K) << scheme;
  }
  EXPECT_EQ(type_in("Q8_0", model, "output.weight"), Type::Q8_0);
  EXPECT_EQ(type_in("F16", model, "output.weight"), Type::F16);
  MixModel tied = model;
  tied.tied_output = true;
  EXPECT_EQ(type_in("Q4_K_M", tied, "token_embd.weight"), Type::Q6_K);
  EXPECT_EQ(type_in("Q4_K_M", model, "token_embd.weight"), Type::Q4_K);
}

TEST(Mix, EightExpertsLeaveRoomForAttention) {
  MixModel moe = dense(32);
  moe.n_experts = 8;
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.3.attn_v.weight"), Type::Q8_0);
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.3.attn_k.weight"), Type::Q8_0);
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.3.attn_output.weight"), Type::Q5_K);
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.3.ffn_up_exps.weight", {kWide, 512, 8}), Type::Q4_K);
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.0.ffn_down_exps.weight", {kWide, 512, 8}), Type::Q6_K);
  moe.n_experts = 128;
  EXPECT_EQ(type_in("Q4_K_M", moe, "blk.4.attn_v.weight"), Type::Q4_K);
}

TEST(Mix, VectorsNormsAndRoutersBecomeF32) {
  const MixModel model = dense(16);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.attn_norm.weight", {kWide}), Type::F32);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.attn_q.bias", {kWide}), Type::F32);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.attn_q_norm.weight", {128, 16}), Type::F32);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.ffn_gate_inp.weight", {kWide, 8}), Type::F32);
  EXPECT_EQ(type_in("F16", model, "output_norm.weight", {kWide, 1}), Type::F32);
}

TEST(Mix, LeavesIntegersAndDelicateMatricesAsStored) {
  const MixModel model = dense(16);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.ffn_gate_tid2eid.weight", {8, 512}, Type::I32), Type::I32);
  EXPECT_EQ(type_in("Q4_K_M", model, "position_embd.weight", {kWide, 1024}, Type::F16), Type::F16);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.ssm_conv1d.weight", {4, 2048}, Type::F32), Type::F32);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.ssm_a", {16, 2048}, Type::F32), Type::F32);
}

TEST(Mix, RowsThatDoNotFitGetSmallerBlocks) {
  const MixModel model = dense(16);
  const std::vector<int64_t> odd{96, 64};
  EXPECT_EQ(type_in("Q2_K", model, "blk.0.ffn_up.weight", odd), Type::IQ4_NL);
  EXPECT_EQ(type_in("Q3_K_S", model, "blk.0.ffn_up.weight", odd), Type::IQ4_NL);
  EXPECT_EQ(type_in("IQ4_XS", model, "blk.0.ffn_up.weight", odd), Type::IQ4_NL);
  EXPECT_EQ(type_in("Q4_K_M", model, "blk.0.ffn_up.weight", odd), Type::Q5_0);
  EXPECT_EQ(type_in("Q5_K_M", model, "blk.0.ffn_up.weight", odd), Type::Q5_1);
  EXPECT_EQ(type_in("Q6_K", model, "blk.0.ffn_up.weight", odd), Type::Q8_0);
  EXPECT_EQ(type_in("Q4_K_M", model, "output.weight", odd), Type::Q8_0);
  EXPECT_EQ(type_in("Q4_0", model, "output.weight", odd), Type::Q8_0);
  for (const Mix &mix : mixes()) {
    const Type base = traits(mix.base).block_weights == 1 ? mix.base : Type::F16;
    EXPECT_EQ(type_in(mix.name, model, "blk.0.ffn_up.weight", {40, 64}), base) << mix.name;
    EXPECT_EQ(type_in(mix.name, model, "output.weight", {40, 64}), base) << mix.name;
  }
}

TEST(Mix, EveryChoiceDividesTheRow) {
  for (const Mix &mix : mixes()) {
    for (const int64_t row : {8, 32, 64, 256, 320, 1024}) {
      for (const char *name :
           {"token_embd.weight", "output.weight", "blk.0.attn_v.weight", "blk.1.ffn_down.weight",
            "blk.0.attn_k.weight", "blk.5.attn_output.weight", "blk.5.ffn_up.weight"}) {
        for (const int experts : {0, 8}) {
          MixModel model = dense(16);
          model.n_experts = experts;
          const Type type = type_in(mix.name, model, name, {row, 64});
          EXPECT_EQ(row % traits(type).block_weights, 0) << mix.name << " " << name << " " << row;
        }
      }
    }
  }
}

TEST(Mix, CountsOnlyLayersThatHaveTheTensor) {
  // Attention in every fourth of 16 layers: 4 value matrices, of which the first four are all.
  std::vector<std::string> names{"token_embd.weight"};
  for (int i = 0; i < 16; ++i) {
    names.push_back("blk." + std::to_string(i) + (i % 4 == 3 ? ".attn_v.weight" : ".ssm_in.weight"));
  }
  MixModel model = dense(16);
  model.survey(std::vector<std::string_view>(names.begin(), names.end()));
  EXPECT_TRUE(model.tied_output);
  EXPECT_EQ(model.attn_v_layers, (std::vector<int>{3, 7, 11, 15}));
  EXPECT_TRUE(model.ffn_down_layers.empty());
  EXPECT_EQ(type_in("Q4_K_S", model, "blk.15.attn_v.weight"), Type::Q5_K);
  EXPECT_EQ(type_in("Q3_K_M", model, "blk.7.attn_v.weight"), Type::Q5_K);
  EXPECT_EQ(type_in("Q3_K_M", model, "blk.11.attn_v.weight"), Type::Q4_K);
}

}  // namespace
}  // namespace rz
