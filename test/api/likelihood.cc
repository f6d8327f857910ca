#include "api/likelihood.h"
#include "support/devices.h"

#include <algorithm>
#include <cmath>

#include "support/shared_data.h"

namespace rz::test {

ModelHandle load_on(const std::filesystem::path &path, const std::string &device, int32_t kv_type) {
  rz_model_options options = model_options();
  choose_device(device, options);
  options.kv_type = kv_type;
  return load(&options, path.string());
}

rz_model_info info_of(rz_model *model) {
  rz_model_info info = RZ_INIT(rz_model_info);
  EXPECT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  return info;
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

std::vector<Tokens> held_out_stories(rz_model *model, size_t most) {
  const std::string text = read_file(kStoryFolder / "held_out.txt"), end = "<|endoftext|>";
  const rz_model_info info = info_of(model);
  std::vector<Tokens> stories;
  for (size_t at = 0, next; stories.size() < most; at = next + end.size()) {
    next = text.find(end, at);
    if (next == std::string::npos) break;
    Tokens story = tokenize(model, text.substr(at, next - at), RZ_TOKENIZE_NO_BOS);
    story.insert(story.begin(), info.bos_token);
    story.push_back(info.eos_token);
    story.resize(std::min(story.size(), static_cast<size_t>(info.context_length)));
    stories.push_back(std::move(story));
  }
  return stories;
}

double log_likelihood(rz_model *model, const Tokens &tokens) {
  const auto vocab = static_cast<size_t>(info_of(model).vocabulary);
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

double perplexity(rz_model *model, const std::vector<Tokens> &texts) {
  double total = 0, counted = 0;
  for (const Tokens &text : texts) {
    total += log_likelihood(model, text);
    counted += static_cast<double>(text.size() - 1);
  }
  return std::exp(-total / counted);
}

}  // namespace rz::test
