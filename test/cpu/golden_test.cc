// The CPU's logits against those of another implementation and of double precision, where the shared data is
// there. File and bounds: see ../shared/data/golden/README.md.
#include <gtest/gtest.h>

#include <fstream>

#include "cpu/kernel_sets.h"
#include "cpu/timeline.h"
#include "support/reference.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

struct Golden {
  const char *name;
  double logits_bound;     // relative error against llama.cpp's logits
  double exact_bound = 0;  // against double precision: 1.1 times llama.cpp's own error; 0 = no such file
};

constexpr Golden kGolden[] = {
    {"llama", 5e-3, 1.1 * 9.5e-4},
    {"llama-f32", 5e-3, 1.1 * 7.4e-4},
    {"llama-mha-hd32", 5e-3, 1.1 * 7.4e-4},
    {"llama-bf16", 5e-3, 1.1 * 4.6e-3},
    {"llama-q8_0", 3e-2, 1.1 * 1.58e-2},
    {"llama-q6_k", 3e-2, 1.1 * 2.28e-2},
    {"llama-q5_k_m", 3e-2, 1.1 * 2.20e-2},
    {"llama-q4_k_m", 3e-2, 1.1 * 2.13e-2},
    {"llama-q4_0", 3e-2, 1.1 * 1.67e-2},
    {"llama-q4_1", 3e-2, 1.1 * 1.78e-2},
    {"llama-q5_0", 3e-2, 1.1 * 1.59e-2},
    {"llama-q5_1", 3e-2, 1.1 * 1.70e-2},
    {"llama-q3_k_m", 3e-2, 1.1 * 2.09e-2},
    {"llama-q2_k", 3e-2, 1.1 * 2.38e-2},
    {"llama-iq4_nl", 3e-2, 1.1 * 1.67e-2},
    {"llama-iq4_xs", 3e-2, 1.1 * 2.14e-2},
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

using Param = std::tuple<std::string, Golden>;
class GoldenLogits : public testing::TestWithParam<Param> {};

TEST_P(GoldenLogits, AreWithinTheirBounds) {
  RZ_NEED_SHARED_DATA();
  const auto &[kernels, golden] = GetParam();
  const std::filesystem::path folder = shared_data() / "golden";
  const std::filesystem::path base = folder / golden.name;
  std::ifstream ids_file(base.string() + ".ids");
  std::vector<int32_t> ids;
  for (int32_t id; ids_file >> id;) ids.push_back(id);
  Opened opened = open_model(base.string() + ".gguf", kernels);
  Timeline timeline(opened, 0, 4);
  const std::vector<float> logits = timeline.eval(ids);
  const auto compare = [&](const std::string &file, double bound) {
    const std::vector<float> expected = read_floats(base.string() + file);
    ASSERT_EQ(expected.size(), logits.size());
    const double error = relative_error(logits, std::vector<double>(expected.begin(), expected.end()));
    EXPECT_LE(error, bound) << file;
  };
  compare(".logits.f32", golden.logits_bound);
  if (golden.exact_bound != 0) compare(".exact.f32", golden.exact_bound);
}

std::string name_of(const testing::TestParamInfo<Param> &info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
  for (char &c : name) c = c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cpu, GoldenLogits,
                         testing::Combine(testing::ValuesIn(kernel_sets()), testing::ValuesIn(kGolden)),
                         name_of);

}  // namespace
}  // namespace rz::test
