// The reference itself, against what other implementations computed (shared data) and against properties that
// any decoder has.
#include "support/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/shared_data.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<ModelFile> open(const fs::path &path) {
  return open_model_file(open_path(path.string(), true));
}

std::vector<int32_t> read_ids(const fs::path &path) {
  std::ifstream in(path);
  return {std::istream_iterator<int32_t>(in), {}};
}

double error_against(const std::string &name, const char *ending, bool half_kv) {
  const fs::path folder = shared_data() / "golden";
  const auto found = reference_logits(*open(folder / (name + ".gguf")), read_ids(folder / (name + ".ids")),
                                      {.half_kv = half_kv});
  const std::vector<float> floats = read_floats(folder / (name + ending));
  return relative_error(found, std::vector<double>(floats.begin(), floats.end()));
}

TEST(Reference, AgreesWithFloat64LogitsOfTheLlamaFamily) {
  RZ_NEED_SHARED_DATA();
  for (const char *name : {"llama", "llama-f32", "llama-bf16", "llama-mha-hd32", "llama-q8_0", "llama-q6_k",
                           "llama-q5_k_m", "llama-q4_k_m", "llama-q4_0", "llama-q4_1", "llama-q5_0",
                           "llama-q5_1", "llama-q3_k_m", "llama-q2_k", "llama-iq4_nl", "llama-iq4_xs"}) {
    EXPECT_LT(error_against(name, ".exact.f32", false), 2e-7)
        << name;  // what rounding to float at the end leaves
  }
}

TEST(Reference, AgreesWithLlamaCppWithinItsOwnRounding) {
  RZ_NEED_SHARED_DATA();
  for (const char *name : {"llama", "llama3-ropefreqs", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3",
                           "phi3", "phi3-longrope-short", "phi3-longrope-long", "gpt2", "starcoder2"}) {
    EXPECT_LT(error_against(name, ".logits.f32", true), 5e-3) << name;
  }
}

TEST(Reference, EndsEmbeddingModelsAtTheirLastNorm) {
  RZ_NEED_SHARED_DATA();
  const fs::path folder = shared_data() / "golden";
  const auto hidden =
      reference_hidden(*open(folder / "qwen3-embed.gguf"), read_ids(folder / "qwen3-embed.ids"));
  const std::vector<float> pooled = read_floats(folder / "qwen3-embed.embd.f32");  // the last position
  ASSERT_GT(hidden.size(), pooled.size());
  EXPECT_LT(relative_error(pooled, std::span(hidden).last(pooled.size())), 5e-3);
}

TEST(Reference, WritesTheStoriesOfATrainedModel) {
  RZ_NEED_SHARED_DATA();
  const fs::path folder = shared_data() / "models" / "stories260K";
  const auto file = open(folder / "stories260K-f32.gguf");
  const auto expected = nlohmann::json::parse(read_file(folder / "expected.json"));
  for (const auto &run : expected["runs"]) {
    std::vector<int32_t> ids = run["ids"];
    const std::vector<int32_t> greedy = run["greedy"];
    const size_t prompt = ids.size();
    ids.insert(ids.end(), greedy.begin(), greedy.end() - 1);
    const std::vector<double> logits = reference_logits(*file, ids);
    const size_t vocab = logits.size() / ids.size();
    for (size_t i = 0; i < greedy.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>((prompt - 1 + i) * vocab);
      EXPECT_EQ(std::max_element(row, row + static_cast<std::ptrdiff_t>(vocab)) - row, greedy[i])
          << "token " << i;
    }
  }
}

TEST(Reference, NeverLooksAhead) {
  const fs::path folder = scratch_folder();
  for (const std::string &name : tiny_architectures()) {
    const auto file = open(write_tiny_model(tiny_model(name), folder));
    const std::vector<int32_t> ids = {5, 300, 77, 260, 12, 9, 31, 290, 4, 100, 101};
    const std::vector<double> whole = reference_logits(*file, ids);
    const std::vector<double> start = reference_logits(*file, std::span(ids).first(6));
    EXPECT_TRUE(std::equal(start.begin(), start.end(), whole.begin())) << name;
    EXPECT_TRUE(std::all_of(whole.begin(), whole.end(), [](double x) { return std::isfinite(x); })) << name;
  }
}

}  // namespace
}  // namespace rz::test
