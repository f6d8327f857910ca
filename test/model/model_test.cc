// Opening models: the options, what is counted, what is named.
#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/error_of.h"
#include "support/reference.h"
#include "support/shared_data.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

namespace fs = std::filesystem;

TEST(Model, CountsParametersAndBytes) {
  const auto model = load_patched({.layers = 1,
                                   .hidden = 32,
                                   .heads = 2,
                                   .kv_heads = 1,
                                   .head_dim = 32,
                                   .ffn = 32,
                                   .vocab = 300,
                                   .tied = true},
                                  {});
  // Embeddings, three norms, q and output, k and v, and the three matrices of the feed-forward.
  const uint64_t expected = 300 * 32 + 3 * 32 + 2 * (64 * 32) + 2 * (32 * 32) + 3 * (32 * 32);
  EXPECT_EQ(model->parameters, expected);
  EXPECT_EQ(model->weights_bytes(), 4 * expected);
}

TEST(Model, NamesItsQuantization) {
  const auto name = [](TinyModel what, const Patch &patch = {}) {
    return load_patched(what, patch)->quantization;
  };
  EXPECT_EQ(name(tiny_model("llama", Type::F16)), "F16");
  EXPECT_EQ(name(tiny_model("llama", Type::Q4_K)), "Q4_K_M");
  EXPECT_EQ(
      name(tiny_model("llama", Type::Q6_K), [](TinyFile &f) { f.set("general.file_type", uint32_t{14}); }),
      "Q4_K_S");
  EXPECT_EQ(name(tiny_model("llama", Type::Q8_0), [](TinyFile &f) { f.remove("general.file_type"); }),
            "Q8_0");
  EXPECT_EQ(
      name(tiny_model("llama", Type::Q8_0), [](TinyFile &f) { f.set("general.file_type", uint32_t{999}); }),
      "Q8_0");
}

TEST(Model, ReadsVocabularyAloneWhenAsked) {
  const auto model = load_patched(tiny_model("qwen3"), {}, {.vocab_only = true});
  EXPECT_TRUE(model->plan.ops.empty());
  EXPECT_EQ(model->spec.architecture, "qwen3");
  EXPECT_EQ(model->spec.vocab, 389);
  ASSERT_NE(model->tokenizer, nullptr);
}

TEST(Model, ReadsTheVocabularyOfArchitecturesItCannotRun) {
  const auto model =
      load_patched({}, [](TinyFile &file) { file.set("general.architecture", std::string("eliza")); },
                   {.vocab_only = true});
  EXPECT_NE(model->tokenizer, nullptr);
}

TEST(Model, BuildsThePlanFromHeadersAloneWhenAsked) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = load_patched(tiny_model(name), {}, {.headers_only = true});
    const auto full = load_patched(tiny_model(name), {});
    EXPECT_EQ(model->plan.print(), full->plan.print()) << name;
    EXPECT_EQ(model->plan.floats_per_row, full->plan.floats_per_row) << name;
    EXPECT_EQ(std::get<EmbedOp>(model->plan.ops.at(0)).table.data, nullptr) << name;
    EXPECT_EQ(model->weights->owned_bytes(), 0u) << name;
  }
}

TEST(Model, TakesTheEmbeddingsRowsForAVocabularyWhereThereIsNone) {
  const auto model = load_patched({.vocab = 333}, [](TinyFile &file) {
    std::erase_if(file.metadata, [](const auto &entry) { return entry.first.starts_with("tokenizer."); });
  });
  EXPECT_EQ(model->tokenizer, nullptr);
  EXPECT_EQ(model->spec.vocab, 333);
  EXPECT_EQ(model->plan.vocab, 333);
}

TEST(Model, ComputesTheSameFromAnyKindOfSource) {
  const fs::path path = write_tiny_model(tiny_model("llama", Type::Q8_0), scratch_folder());
  const std::string bytes = read_file(path);
  std::string shifted = " " + bytes;  // so that nothing in it is aligned
  const auto mapped = load_model(open_path(path.string(), true), {});
  const auto read = load_model(open_path(path.string(), false), {});
  const auto memory = load_model(open_memory(shifted.data() + 1, bytes.size()), {});
  EXPECT_EQ(mapped->weights->owned_bytes(), 0u);
  for (const auto *other : {&read, &memory}) {
    for (size_t i = 0; i < mapped->plan.ops.size(); ++i) {
      const auto *expected = std::get_if<MatmulAddOp>(&mapped->plan.ops[i]);
      if (!expected) continue;
      const auto &found = std::get<MatmulAddOp>((*other)->plan.ops[i]);
      EXPECT_EQ(std::memcmp(found.w.data, expected->w.data, expected->w.bytes()), 0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(found.w.data) % alignof(float), 0u);
    }
  }
}

TEST(Model, FindsWeightsThatAreNoNumbersWhenAsked) {
  const auto spoil = [](float value) {
    return [value](TinyFile &file) {
      std::memcpy(file.tensor("blk.1.ffn_up.weight").bytes.data() + 4 * 77, &value, sizeof value);
    };
  };
  const TinyModel what;
  EXPECT_NO_THROW(load_patched(what, {}, {.check_tensors = true}));
  EXPECT_NO_THROW(load_patched(what, spoil(std::nanf("")), {}));
  const Error error = error_of([&] { load_patched(what, spoil(std::nanf("")), {.check_tensors = true}); });
  EXPECT_EQ(error.status(), Status::Numeric);
  EXPECT_STREQ(error.what(), "blk.1.ffn_up.weight[77]: expected a finite number, found nan");
  EXPECT_EQ(error_of([&] { load_patched(what, spoil(HUGE_VALF), {.check_tensors = true}); }).status(),
            Status::Numeric);
}

TEST(Model, FindsScalesThatAreNoNumbersWhenAsked) {
  const Error error = error_of([] {
    load_patched(tiny_model("llama", Type::Q4_K),
                 [](TinyFile &file) {
                   const uint16_t infinity = 0x7c00;  // the super-block's half-precision scale
                   std::memcpy(file.tensor("blk.0.attn_q.weight").bytes.data() + 144, &infinity,
                               sizeof infinity);
                 },
                 {.check_tensors = true});
  });
  EXPECT_EQ(error.status(), Status::Numeric);
  EXPECT_NE(std::string(error.what()).find("blk.0.attn_q.weight[256]"), std::string::npos) << error.what();
}

TEST(Model, ReportsProgressFromNothingToAllAndStopsWhenTold) {
  struct Seen {
    std::vector<float> fractions;
    size_t stop_after = SIZE_MAX;
  } seen;
  const Progress progress{[](void *user, float fraction) {
                            auto &s = *static_cast<Seen *>(user);
                            s.fractions.push_back(fraction);
                            return int32_t{s.fractions.size() > s.stop_after};
                          },
                          &seen};
  load_patched({}, {}, {.progress = progress});
  EXPECT_EQ(seen.fractions.front(), 0);
  EXPECT_EQ(seen.fractions.back(), 1);
  EXPECT_TRUE(std::is_sorted(seen.fractions.begin(), seen.fractions.end()));
  seen = {{}, 5};
  EXPECT_EQ(error_of([&] { load_patched({}, {}, {.progress = progress}); }).status(), Status::Cancelled);
  EXPECT_EQ(seen.fractions.size(), 6u);
}

}  // namespace
}  // namespace rz::test
