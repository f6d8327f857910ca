// Every family's file against the reference forward: the Plan, walked as its ops are described, computes the
// model.
#include "model/arch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "support/error_of.h"
#include "support/plan_walk.h"
#include "support/reference.h"
#include "support/shared_data.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

// Over the windows of the tiny models, with repeats.
const std::vector<int32_t> kIds = {1, 44, 300, 7, 7, 260, 299, 12, 90, 91, 92, 33, 258, 17, 18, 0};

// Scales and magnitudes are floats in a Plan: the only difference there is.
constexpr double kFloatScales = 1e-6;

double error_of_plan(const Model &model, std::span<const int32_t> ids, int32_t context = 0) {
  const PlanWalk walk = walk_plan(model.plan, ids);
  const ReferenceOptions options{.context = context};
  return std::max(relative_error(walk.logits, reference_logits(*model.file, ids, options)),
                  relative_error(walk.hidden, reference_hidden(*model.file, ids, options)));
}

double error_of_plan(const TinyModel &what, const Patch &patch = {}, int32_t context = 0) {
  return error_of_plan(*load_patched(what, patch, {.context = context}), kIds, context);
}

TEST(Architectures, ComputeWhatTheReferenceComputes) {
  for (const std::string &name : tiny_architectures()) {
    EXPECT_LT(error_of_plan(tiny_model(name)), kFloatScales) << name;
  }
}

TEST(Architectures, TakeQuantizedMatricesAsTheyAre) {
  for (const std::string &name : tiny_architectures()) {
    for (const Type type : {Type::F16, Type::Q8_0, Type::Q4_K}) {
      const auto model = load_patched(tiny_model(name, type), {});
      EXPECT_LT(error_of_plan(*model, std::span(kIds).first(4)), kFloatScales)
          << name << " " << traits(type).name;
    }
  }
}

TEST(Architectures, AreKnownByTheirNames) {
  for (const std::string &name : tiny_architectures()) EXPECT_EQ(find_architecture(name).name, name);
  EXPECT_LT(error_of_plan({.architecture = "mistral"}), kFloatScales);
}

TEST(Architectures, UnknownOnesAreNamedBesideThoseKnown) {
  const Error error = error_of([] { find_architecture("perceptron"); });
  EXPECT_EQ(error.status(), Status::Unsupported);
  const std::string message = error.what();
  EXPECT_NE(message.find("found perceptron"), std::string::npos);
  for (const Architecture &known : architectures()) {
    EXPECT_NE(message.find(known.name), std::string::npos) << known.name;
  }
}

TEST(Llama, UsesTheEmbeddingsForOutputWhereTheFileHasNoOther) {
  EXPECT_LT(error_of_plan({.tied = true}), kFloatScales);
}

TEST(Llama, AddsBiasesWhereTheFileHasThem) { EXPECT_LT(error_of_plan({.biases = true}), kFloatScales); }

TEST(Llama, DividesFrequenciesByTheFactorsTensor) {
  EXPECT_LT(error_of_plan({.rope_factors = true}), kFloatScales);
}

TEST(Llama, ScalesRopeAsTheFileSays) {
  for (const char *scaling : {"linear", "yarn"}) {
    EXPECT_LT(error_of_plan({.context = 4096, .rope_scaling = scaling}), kFloatScales) << scaling;
  }
}

TEST(Llama, TurnsOnlyTheDimensionsThatTheFileNames) {
  EXPECT_LT(error_of_plan({.rope_dims = 12}), kFloatScales);
}

TEST(Llama, RoutesToExperts) {
  EXPECT_LT(error_of_plan({.experts = 5, .experts_used = 3, .expert_ffn = 64}), kFloatScales);
}

TEST(Starcoder2, NeedsNoBiasesOnProjections) {
  EXPECT_LT(error_of_plan({.architecture = "starcoder2", .biases = true}), kFloatScales);
  EXPECT_LT(error_of_plan({.architecture = "starcoder2", .biases = false}), kFloatScales);
}

TEST(Phi3, ChoosesLongRopeFactorsByTheContextItIsOpenedFor) {
  const TinyModel what{.architecture = "phi3", .context = 256, .rope_factors = true};
  EXPECT_LT(error_of_plan(what, {}, 0), kFloatScales);   // 256: long
  EXPECT_LT(error_of_plan(what, {}, 64), kFloatScales);  // as first trained: short
  EXPECT_LT(error_of_plan(what, {}, 65), kFloatScales);
  const auto frequencies = [&](int32_t context) {
    return load_patched(what, {}, {.context = context})->plan.ropes.at(0).frequencies;
  };
  EXPECT_NE(frequencies(64), frequencies(65));
}

TEST(Phi3, KeepsTheWindowThatTheFileNames) {
  EXPECT_LT(error_of_plan({.architecture = "phi3", .window = 5}), kFloatScales);
}

TEST(Gemma3, SeesEverythingWhereTheFileNamesNoWindow) {
  TinyModel what = tiny_model("gemma3");
  what.window = 0;
  EXPECT_LT(error_of_plan(what), kFloatScales);
}

TEST(Gemma3, ScalesRopeOnGlobalLayersOnly) {
  TinyModel what = tiny_model("gemma3");
  what.rope_scaling = "linear";
  EXPECT_LT(error_of_plan(what), kFloatScales);
}

// The 27B models scale scores by width / heads: 96 / 4, not by their head size of 32.
TEST(Gemma, ScalesScoresByWidthInThe27BModels) {
  const auto scale = [](const char *name, int32_t layers) {
    TinyModel what = tiny_model(name);
    what.layers = layers;
    const auto model = load_patched(what, {});
    return std::get<AttnOp>(model->plan.ops.at(3)).scale;
  };
  EXPECT_FLOAT_EQ(scale("gemma2", 26), 1 / std::sqrt(32.0f));
  EXPECT_FLOAT_EQ(scale("gemma2", 46), 1 / std::sqrt(24.0f));
  EXPECT_FLOAT_EQ(scale("gemma3", 48), 1 / std::sqrt(32.0f));
  EXPECT_FLOAT_EQ(scale("gemma3", 62), 1 / std::sqrt(24.0f));
}

TEST(Gpt2, HasNoPositionsPastThoseItLearned) {
  const TinyModel what = tiny_model("gpt2");
  EXPECT_NO_THROW(load_patched(what, {}, {.context = 256}));
  const Error error = error_of([&] { load_patched(what, {}, {.context = 257}); });
  EXPECT_EQ(error.status(), Status::Limit);
}

TEST(Architectures, AgreeWithTheReferenceOnModelsMadeElsewhere) {
  RZ_NEED_SHARED_DATA();
  for (const char *name :
       {"llama", "llama-q4_k_m", "llama3-ropefreqs", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "phi3",
        "phi3-longrope-short", "phi3-longrope-long", "gpt2", "starcoder2"}) {
    const auto path = shared_data() / "golden" / name;
    std::ifstream in(path.string() + ".ids");
    const std::vector<int32_t> ids{std::istream_iterator<int32_t>(in), {}};
    const auto model = load_model(open_path(path.string() + ".gguf", true), {});
    EXPECT_LT(error_of_plan(*model, ids), kFloatScales) << name;
  }
}

}  // namespace
}  // namespace rz::test
