// What 8 bits cost: a trained model's perplexity on held-out stories with float weights, and with Q8_0
// weights, which are multiplied with activations of 8 bits as well.
#include "api/likelihood.h"
#include "support/kernel_sets.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

std::filesystem::path quantize(const std::filesystem::path &in, const char *scheme) {
  const std::filesystem::path out = scratch_folder() / (std::string(scheme) + ".gguf");
  const std::string in_name = in.string();
  rz_source source = RZ_INIT(rz_source);
  source.kind = RZ_SOURCE_PATH;
  source.path = in_name.c_str();
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_quantize(&source, out.string().c_str(), scheme, 1, nullptr, nullptr, &err), RZ_OK)
      << err.message;
  return out;
}

class Perplexity : public testing::TestWithParam<std::string> {
 protected:
  double of(const std::filesystem::path &path) const {
    const ModelHandle model = load_on(path, "cpu:" + GetParam());
    // The plain kernels are slow, and a story has hundreds of tokens.
    return perplexity(model, held_out_stories(model, GetParam() == "plain" ? 2 : 6));
  }

  void expect_kept_by_8_bits(const std::filesystem::path &f32) const {
    const double with_floats = of(f32), with_8_bits = of(quantize(f32, "Q8_0"));
    EXPECT_NEAR(with_8_bits, with_floats, 0.005 * with_floats);
  }
};

TEST_P(Perplexity, OfTheStoryModelIsKeptByEightBits) {
  expect_kept_by_8_bits(quantize(kStoryFolder / "stories.gguf", "F32"));
}

TEST_P(Perplexity, Of260ThousandParametersIsKeptByEightBits) {
  RZ_NEED_SHARED_DATA();
  expect_kept_by_8_bits(shared_data() / "models" / "stories260K" / "stories260K-f32.gguf");
}

INSTANTIATE_TEST_SUITE_P(Cpu, Perplexity, testing::ValuesIn(kernel_sets()));

}  // namespace
}  // namespace rz::test
