// Models with trained weights, by the C API: the one that lies in examples/models, and stories260K where the
// shared data is there.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/likelihood.h"
#include "support/devices.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

class Trained : public testing::TestWithParam<std::string> {};

std::string name_of(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

// Not in the emulator, which would take minutes.
class TrainedAtLength : public testing::TestWithParam<std::string> {};

TEST_P(TrainedAtLength, StoryModelHasThePerplexityItWasMadeWith) {
  const auto expected = nlohmann::json::parse(read_file(kStoryFolder / "expected.json"));
  const ModelHandle model = load_on(kStoryFolder / "stories.gguf", GetParam());
  const std::vector<Tokens> stories = held_out_stories(model, SIZE_MAX);
  size_t counted = 0;
  for (const Tokens &story : stories) counted += story.size() - 1;
  EXPECT_EQ(stories.size(), expected["held_out_stories"].get<size_t>());
  EXPECT_EQ(counted, expected["held_out_tokens"].get<size_t>());
  const double wanted = expected["held_out_perplexity"].get<double>();
  EXPECT_NEAR(perplexity(model, stories), wanted, 0.005 * wanted);
}

TEST_P(Trained, StoryModelWritesTheSameGreedyIdsAsInDoublePrecision) {
  const auto expected = nlohmann::json::parse(read_file(kStoryFolder / "expected.json"));
  const ModelHandle model = load_on(kStoryFolder / "stories.gguf", GetParam());
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
  const ModelHandle model = load_on(folder / "stories260K-f32.gguf", GetParam());
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
    EXPECT_LT(std::sqrt(off / norm), GetParam() == "cuda" ? 3e-3 : 1e-3);  // a GPU multiplies with halves
    const auto greedy = run["greedy"].get<Tokens>();
    EXPECT_EQ(greedy.size(), 200u);
    EXPECT_EQ(stream(model, token_prompt(ids), generate_options(200)).tokens, greedy);
  }
}

// Keys and values of 8-bit floats, on a GPU; the emulator takes seconds for a story.
TEST(Trained8BitPages, KeepThePerplexityOfTheStoryModel) {
  const std::string fast = fast_devices().back();
  const ModelHandle half = load_on(kStoryFolder / "stories.gguf", fast);
  const ModelHandle eight = load_on(kStoryFolder / "stories.gguf", "cuda", RZ_TYPE_F8);
  const std::vector<Tokens> stories = held_out_stories(half, fast == "cuda" ? SIZE_MAX : 1);
  const double with_halves = perplexity(half, stories);
  EXPECT_NEAR(perplexity(eight, stories), with_halves, 0.005 * with_halves);
}

INSTANTIATE_TEST_SUITE_P(Devices, TrainedAtLength, testing::ValuesIn(fast_devices()), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, Trained, testing::ValuesIn(devices()), name_of);

}  // namespace
}  // namespace rz::test
