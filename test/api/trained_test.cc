// Models with trained weights, by the C API: the one that lies in examples/models, and stories260K where the
// shared data is there.
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/host.h"
#include "support/kernel_sets.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

const std::filesystem::path kStories = "examples/models";

ModelHandle open(const std::filesystem::path &path, const std::string &kernels) {
  const std::string device = "cpu:" + kernels;
  rz_model_options options = model_options();
  options.device = device.c_str();
  return load(&options, path.string());
}

Tokens tokenize(rz_model *model, const std::string &text, uint32_t flags) {
  size_t count = 0;
  rz_tokenize(model, text.data(), text.size(), flags, nullptr, 0, &count, nullptr);
  Tokens tokens(count);
  EXPECT_EQ(
      rz_tokenize(model, text.data(), text.size(), flags, tokens.data(), tokens.size(), &count, nullptr),
      RZ_OK);
  return tokens;
}

// The natural logarithm of the probability of tokens[1], tokens[2], ... each after those before it, summed.
double log_likelihood(rz_model *model, const Tokens &tokens) {
  rz_model_info info = RZ_INIT(rz_model_info);
  rz_model_get_info(model, &info, nullptr);
  const auto vocab = static_cast<size_t>(info.vocabulary);
  SessionHandle session;
  EXPECT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
  const size_t n = tokens.size() - 1;
  std::vector<float> logits(n * vocab);
  EXPECT_EQ(rz_session_eval(session, tokens.data(), n, logits.data(), n, nullptr), RZ_OK);
  double total = 0;
  for (size_t i = 0; i < n; ++i) {
    const float *row = logits.data() + i * vocab;
    double sum = 0;
    for (size_t v = 0; v < vocab; ++v) sum += std::exp(static_cast<double>(row[v]));
    total += static_cast<double>(row[static_cast<size_t>(tokens[i + 1])]) - std::log(sum);
  }
  return total;
}

class Trained : public testing::TestWithParam<std::string> {};

TEST_P(Trained, StoryModelHasThePerplexityItWasMadeWith) {
  const auto expected = nlohmann::json::parse(read_file(kStories / "expected.json"));
  const ModelHandle model = open(kStories / "stories.gguf", GetParam());
  rz_model_info info = RZ_INIT(rz_model_info);
  ASSERT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  const Tokens all =
      tokenize(model, read_file(kStories / "held_out.txt"), RZ_TOKENIZE_NO_BOS | RZ_TOKENIZE_PARSE_SPECIAL);
  double total = 0;
  int counted = 0, stories = 0;
  Tokens story = {info.bos_token};
  for (const int32_t token : all) {
    story.push_back(token);
    if (token != info.eos_token) continue;
    total += log_likelihood(model, story);
    counted += static_cast<int>(story.size()) - 1;
    ++stories;
    story = {info.bos_token};
  }
  EXPECT_EQ(stories, expected["held_out_stories"].get<int>());
  EXPECT_EQ(counted, expected["held_out_tokens"].get<int>());
  const double perplexity = std::exp(-total / counted),
               wanted = expected["held_out_perplexity"].get<double>();
  EXPECT_NEAR(perplexity, wanted, 0.005 * wanted);
}

TEST_P(Trained, StoryModelWritesTheSameGreedyIdsAsInDoublePrecision) {
  const auto expected = nlohmann::json::parse(read_file(kStories / "expected.json"));
  const ModelHandle model = open(kStories / "stories.gguf", GetParam());
  const auto text = expected["prompt"].get<std::string>();
  EXPECT_EQ(tokenize(model, text, 0), expected["prompt_ids"].get<Tokens>());
  const auto wanted = expected["greedy_ids"].get<Tokens>();
  const Result found =
      stream(model, text_prompt(text.c_str()), generate_options(static_cast<int32_t>(wanted.size())));
  EXPECT_EQ(found.tokens, wanted);
  EXPECT_EQ(found.text, expected["greedy_text"].get<std::string>());
}

TEST_P(Trained, StoriesOf260ThousandParametersAreReproduced) {
  RZ_NEED_SHARED_DATA();
  const std::filesystem::path folder = shared_data() / "models" / "stories260K";
  const auto expected = nlohmann::json::parse(read_file(folder / "expected.json"));
  const ModelHandle model = open(folder / "stories260K-f32.gguf", GetParam());
  for (const auto &run : expected["runs"]) {
    const auto ids = run["ids"].get<Tokens>();
    SessionHandle session;
    ASSERT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
    std::vector<float> logits(512);
    ASSERT_EQ(rz_session_eval(session, ids.data(), ids.size(), logits.data(), 1, nullptr), RZ_OK);
    double off = 0, norm = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double wanted = run["logits_after_prompt"][i].get<double>();
      off += (static_cast<double>(logits[i]) - wanted) * (static_cast<double>(logits[i]) - wanted);
      norm += wanted * wanted;
    }
    EXPECT_LT(std::sqrt(off / norm), 1e-3);
    const auto greedy = run["greedy"].get<Tokens>();
    EXPECT_EQ(greedy.size(), 200u);
    EXPECT_EQ(stream(model, token_prompt(ids), generate_options(200)).tokens, greedy);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Trained, testing::ValuesIn(kernel_sets()));

}  // namespace
}  // namespace rz::test
