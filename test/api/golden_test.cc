// Logits by the C API against those of another implementation and of double precision, where the shared data
// is there. What the files are and the bounds: ../shared/data/golden/README.md.
#include <algorithm>
#include <fstream>

#include "api/host.h"
#include "support/devices.h"
#include "support/relative_error.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

struct Golden {
  const char *name;
  double logits_bound;     // relative error against llama.cpp's logits
  double exact_error = 0;  // llama.cpp's own against double precision; 0 = no such file
};

constexpr Golden kGolden[] = {
    {"llama", 5e-3, 9.5e-4},
    {"llama-f32", 5e-3, 7.4e-4},
    {"llama-mha-hd32", 5e-3, 7.4e-4},
    {"llama-bf16", 5e-3, 4.6e-3},
    {"llama-q8_0", 3e-2, 1.58e-2},
    {"llama-q6_k", 3e-2, 2.28e-2},
    {"llama-q5_k_m", 3e-2, 2.20e-2},
    {"llama-q4_k_m", 3e-2, 2.13e-2},
    {"llama-q4_0", 3e-2, 1.67e-2},
    {"llama-q4_1", 3e-2, 1.78e-2},
    {"llama-q5_0", 3e-2, 1.59e-2},
    {"llama-q5_1", 3e-2, 1.70e-2},
    {"llama-q3_k_m", 3e-2, 2.09e-2},
    {"llama-q2_k", 3e-2, 2.38e-2},
    {"llama-iq4_nl", 3e-2, 1.67e-2},
    {"llama-iq4_xs", 3e-2, 2.14e-2},
    {"llama3-ropefreqs", 5e-3},
    {"qwen2", 5e-3},
    {"qwen3", 5e-3},
    {"qwen3moe", 5e-3},
    {"gemma2", 5e-3},
    {"gemma3", 5e-3},
    {"phi3", 5e-3},
    {"phi3-longrope-short", 5e-3},
    {"phi3-longrope-long", 5e-3},
    {"gpt2", 5e-3},
    {"starcoder2", 5e-3},
};

// Logits of every token of a fresh timeline, (tokens, vocabulary), on the device named.
std::vector<float> logits_of(const std::string &path, const std::string &device, const Tokens &tokens,
                             int32_t kv_type = RZ_TYPE_DEFAULT) {
  rz_model_options options = model_options();
  choose_device(device, options);
  options.kv_type = kv_type;
  const ModelHandle model = load(&options, path);
  rz_model_info info = RZ_INIT(rz_model_info);
  EXPECT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  const bool divided = std::string_view(info.device).find(", 1 of ") != std::string_view::npos;
  EXPECT_EQ(divided, device == kSplit) << info.device;
  SessionHandle session;
  EXPECT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
  std::vector<float> logits(tokens.size() * static_cast<size_t>(info.vocabulary));
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_session_eval(session, tokens.data(), tokens.size(), logits.data(), tokens.size(), &err), RZ_OK)
      << err.message;
  return logits;
}

double error_against(const std::filesystem::path &file, const std::vector<float> &logits) {
  const std::vector<float> expected = read_floats(file);
  EXPECT_EQ(expected.size(), logits.size()) << file;
  return relative_error(logits, expected);
}

using Param = std::tuple<std::string, Golden>;
class GoldenLogits : public testing::TestWithParam<Param> {};

std::string golden_file(const Golden &golden) { return (shared_data() / "golden" / golden.name).string(); }

Tokens tokens_of(const Golden &golden) {
  std::ifstream ids(golden_file(golden) + ".ids");
  Tokens tokens;
  for (int32_t id; ids >> id;) tokens.push_back(id);
  EXPECT_EQ(tokens.size(), 24u);
  return tokens;
}

TEST_P(GoldenLogits, AreWithinTheirBounds) {
  RZ_NEED_SHARED_DATA();
  const auto &[device, golden] = GetParam();
  const std::string base = golden_file(golden);
  const Tokens tokens = tokens_of(golden);
  const std::vector<float> logits = logits_of(base + ".gguf", device, tokens);
  EXPECT_LE(error_against(base + ".logits.f32", logits), golden.logits_bound);
  if (golden.exact_error != 0) {
    // A GPU multiplies with halves, whatever the weights are.
    const double allowed = device.starts_with("cuda") ? 1.2 : 1.1;
    EXPECT_LE(error_against(base + ".exact.f32", logits), allowed * golden.exact_error);
  }
}

std::string name_of(const testing::TestParamInfo<Param> &info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
  for (char &c : name) c = c == '-' || c == ':' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, GoldenLogits,
                         testing::Combine(testing::ValuesIn(devices_and_split()), testing::ValuesIn(kGolden)),
                         name_of);

// What keys and values of 8-bit floats cost, 4 bits of each number: up to 5.6e-2 of these models' logits,
// whose weights are random. A GPU may keep such pages.
class GoldenLogitsOf8BitPages : public testing::TestWithParam<Golden> {};

TEST_P(GoldenLogitsOf8BitPages, AreWithinALooserBound) {
  RZ_NEED_SHARED_DATA();
  const Golden &golden = GetParam();
  const std::string base = golden_file(golden);
  const std::vector<float> logits = logits_of(base + ".gguf", "cuda", tokens_of(golden), RZ_TYPE_F8);
  EXPECT_LE(error_against(base + ".logits.f32", logits), 7e-2);
}

std::vector<Golden> golden_of_float_weights() {
  std::vector<Golden> found;
  std::ranges::copy_if(kGolden, std::back_inserter(found),
                       [](const Golden &g) { return g.logits_bound < 1e-2; });
  return found;
}
INSTANTIATE_TEST_SUITE_P(Cuda, GoldenLogitsOf8BitPages, testing::ValuesIn(golden_of_float_weights()),
                         [](const testing::TestParamInfo<Golden> &info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rz::test
