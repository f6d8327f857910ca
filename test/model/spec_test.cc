// What read_spec takes from metadata.
#include "model/spec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

Spec spec_of(const TinyModel &what, const Patch &patch, int32_t context = 0) {
  return read_spec(open_patched(what, patch)->metadata, context);
}

TEST(Spec, ReadsTheDimensionsOfAModel) {
  const Spec s =
      spec_of({.layers = 3, .hidden = 96, .heads = 6, .kv_heads = 2, .head_dim = 32, .ffn = 160}, {});
  EXPECT_EQ(s.architecture, "llama");
  EXPECT_EQ(s.name, "tiny llama");
  EXPECT_EQ(s.layers, 3);
  EXPECT_EQ(s.hidden, 96);
  EXPECT_EQ(s.heads, 6);
  EXPECT_EQ(s.kv_heads, 2);
  EXPECT_EQ(s.ffn, 160);
  EXPECT_EQ(s.vocab, 389);
  EXPECT_EQ(s.trained_context, 256);
  EXPECT_FLOAT_EQ(s.norm_eps, 1e-5f);
}

TEST(Spec, TakesTheHeadSizeFromItsKeyAndNotFromTheWidth) {
  const Spec s = spec_of({.hidden = 96, .heads = 4, .head_dim = 32}, {});
  EXPECT_EQ(s.head_dim, 32);
  EXPECT_EQ(s.value_dim, 32);
  EXPECT_FLOAT_EQ(s.attention_scale, 1 / std::sqrt(32.0f));
}

TEST(Spec, DividesTheWidthByTheHeadsWhereNoKeySaysOtherwise) {
  const Spec s = spec_of({.hidden = 96, .heads = 4}, [](TinyFile &file) {
    file.remove("llama.attention.key_length");
    file.remove("llama.attention.value_length");
    file.remove("llama.attention.head_count_kv");
    file.remove("llama.rope.dimension_count");
  });
  EXPECT_EQ(s.head_dim, 24);
  EXPECT_EQ(s.value_dim, 24);
  EXPECT_EQ(s.rope_dims, 24);
  EXPECT_EQ(s.kv_heads, 4);
}

TEST(Spec, OpensForTheContextAskedFor) {
  EXPECT_EQ(spec_of({.context = 256}, {}).context, 256);
  EXPECT_EQ(spec_of({.context = 256}, {}, 64).context, 64);
  EXPECT_EQ(spec_of({.context = 256}, {}, 1024).context, 1024);
}

TEST(Spec, TakesArraysWhoseElementsAreAllEqualAsOneNumber) {
  const auto kv_heads = [](std::vector<int32_t> values) {
    return [values](TinyFile &file) { file.set("llama.attention.head_count_kv", values); };
  };
  EXPECT_EQ(spec_of({}, kv_heads({2, 2})).kv_heads, 2);
  const Error differ = error_of([&] { spec_of({}, kv_heads({2, 4})); });
  EXPECT_EQ(differ.status(), Status::Unsupported);
  EXPECT_STREQ(differ.what(),
               "llama.attention.head_count_kv: expected one value for all layers, found 2 and 4");
  EXPECT_EQ(error_of([&] { spec_of({}, kv_heads({})); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { spec_of({}, kv_heads({0, 0})); }).status(), Status::Format);
}

TEST(Spec, CountsTheVocabularysTokensBeforeAnyKeyThatSaysHowMany) {
  const auto claim = [](TinyFile &file) { file.set("llama.vocab_size", uint32_t{1000}); };
  EXPECT_EQ(spec_of({.vocab = 400}, claim).vocab, 400);
  EXPECT_EQ(spec_of({},
                    [&](TinyFile &file) {
                      claim(file);
                      file.remove("tokenizer.ggml.tokens");
                    })
                .vocab,
            1000);
}

TEST(Spec, KnowsThePoolingThatTheFileNames) {
  const auto pooling = [](uint32_t number) {
    return spec_of({}, [=](TinyFile &file) { file.set("llama.pooling_type", number); }).pooling;
  };
  EXPECT_EQ(spec_of({}, {}).pooling, Pooling::None);
  EXPECT_EQ(pooling(1), Pooling::Mean);
  EXPECT_EQ(pooling(2), Pooling::First);
  EXPECT_EQ(pooling(3), Pooling::Last);
  EXPECT_EQ(error_of([&] { pooling(4); }).status(), Status::Unsupported);
}

TEST(Spec, RefusesModelsThatLookAhead) {
  const Error error =
      error_of([] { spec_of({}, [](TinyFile &file) { file.set("llama.attention.causal", false); }); });
  EXPECT_EQ(error.status(), Status::Unsupported);
}

TEST(Spec, ReadsExperts) {
  TinyModel what = tiny_model("qwen3moe");
  const Spec s = spec_of(what, {});
  EXPECT_EQ(s.experts, what.experts);
  EXPECT_EQ(s.experts_used, what.experts_used);
  EXPECT_EQ(s.expert_ffn, what.expert_ffn);
  // Mixtral's experts are as wide as a dense layer would be and have no key of their own.
  what.architecture = "llama";
  EXPECT_EQ(spec_of(what, [](TinyFile &file) { file.remove("llama.expert_feed_forward_length"); }).expert_ffn,
            what.ffn);
}

// ---- rope

Rope rope_of(const TinyModel &what, const Patch &patch = {}) {
  const auto file = open_patched(what, patch);
  return read_rope(file->metadata, read_spec(file->metadata, 0), RopeStyle::Halves);
}

TEST(Rope, TurnsPairsByPowersOfTheBase) {
  const Rope rope = rope_of({.head_dim = 32, .rope_dims = 8});
  ASSERT_EQ(rope.frequencies.size(), 4u);
  EXPECT_EQ(rope.style, RopeStyle::Halves);
  EXPECT_DOUBLE_EQ(rope.frequencies[0], 1);
  EXPECT_DOUBLE_EQ(rope.frequencies[2], 1e-2);
  EXPECT_EQ(rope.magnitude, 1);
}

TEST(Rope, DividesFrequenciesByALinearFactorUnderEitherOfItsKeys) {
  const auto scaled = [](const char *key) {
    return rope_of({}, [=](TinyFile &file) { file.set(key, 8.0f); }).frequencies[0];
  };
  EXPECT_DOUBLE_EQ(scaled("llama.rope.scaling.factor"), 0.125);
  EXPECT_DOUBLE_EQ(scaled("llama.rope.scale_linear"), 0.125);
}

TEST(Rope, KeepsFastPairsAndDividesSlowOnesUnderYarn) {
  TinyModel what{.head_dim = 64, .context = 65536, .rope_scaling = "yarn"};
  const Rope plain = rope_of({.head_dim = 64}), yarn = rope_of(what);
  EXPECT_DOUBLE_EQ(yarn.frequencies.front(), plain.frequencies.front());
  EXPECT_NEAR(yarn.frequencies.back(), plain.frequencies.back() / 4, 1e-12);
  EXPECT_FLOAT_EQ(yarn.magnitude, static_cast<float>(1 + 0.1 * std::log(4.0)));
  for (size_t i = 0; i < plain.frequencies.size(); ++i) {
    EXPECT_LE(yarn.frequencies[i], plain.frequencies[i] * (1 + 1e-12)) << i;
    EXPECT_GE(yarn.frequencies[i], plain.frequencies[i] / 4 * (1 - 1e-12)) << i;
  }
}

TEST(Rope, LeavesEverythingAsItIsWhereTheTypeIsNone) {
  const Rope rope = rope_of({.rope_scaling = "none"});
  EXPECT_DOUBLE_EQ(rope.frequencies[0], 1);
  EXPECT_EQ(rope.magnitude, 1);
}

TEST(Rope, NamesAScalingItDoesNotKnow) {
  const Error error = error_of([] { rope_of({.rope_scaling = "spiral"}); });
  EXPECT_EQ(error.status(), Status::Unsupported);
  EXPECT_STREQ(error.what(),
               "llama.rope.scaling.type: expected none, linear, yarn or longrope, found spiral");
}

TEST(Rope, DividesEachPairByItsFactorAndRefusesFactorsThatAreNone) {
  const auto file = open_patched({.head_dim = 8}, {});
  const Spec spec = read_spec(file->metadata, 0);
  const auto divided = [&](std::vector<float> factors) {
    return read_rope(file->metadata, spec, RopeStyle::Adjacent, factors.data(),
                     static_cast<int64_t>(factors.size()));
  };
  EXPECT_DOUBLE_EQ(divided({2, 1, 1, 4}).frequencies[0], 0.5);
  EXPECT_DOUBLE_EQ(divided({2, 1, 1, 4}).frequencies[1], divided({1, 1, 1, 1}).frequencies[1]);
  EXPECT_EQ(error_of([&] { divided({1, 0, 1, 1}); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { divided({1, 1, std::nanf(""), 1}); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { divided({1, 1, 1}); }).status(), Status::Format);
}

}  // namespace
}  // namespace rz::test
