// Weights that are no numbers: refused at load when the host asks for the check, told when they reach a
// sampled token otherwise, and never a wrong text without a word. Every kernel set carries them to the
// logits.
#include <cstring>

#include "api/host.h"
#include "support/kernel_sets.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

using Param = std::tuple<std::string, Type>;
class BadWeights : public testing::TestWithParam<Param> {};

// A model whose tensor `name` has one scale (or weight) that is NaN or infinite.
std::string poisoned(Type type, const char *name, uint16_t half) {
  TinyFile file = make_tiny_model(tiny_model("llama", type));
  TinyTensor &tensor = file.tensor(name);
  EXPECT_EQ(tensor.type, type);
  const size_t at = type == Type::Q6_K ? 208 : type == Type::Q4_K ? 0 : 2 * traits(type).block_bytes;
  std::memcpy(tensor.bytes.data() + at, &half, sizeof half);
  const std::filesystem::path path = scratch_folder() / "poisoned.gguf";
  file.write(path);
  return path.string();
}

TEST_P(BadWeights, AreToldAtLoadWhenAskedForAndElseWhenTheyReachAToken) {
  const auto &[kernels, type] = GetParam();
  const std::string device = "cpu:" + kernels;
  for (const uint16_t half : std::initializer_list<uint16_t>{0x7e00, 0x7c00}) {  // NaN, infinity
    const std::string path = poisoned(type, "blk.0.ffn_up.weight", half);
    rz_model_options checked = model_options(RZ_MODEL_CHECK_TENSORS);
    checked.device = device.c_str();
    ModelHandle model;
    rz_error err = RZ_INIT(rz_error);
    EXPECT_EQ(rz_model_load(path.c_str(), &checked, model.out(), &err), RZ_E_NUMERIC);
    EXPECT_NE(std::string(err.message).find("blk.0.ffn_up.weight"), std::string::npos) << err.message;

    rz_model_options unchecked = model_options();
    unchecked.device = device.c_str();
    model = load(&unchecked, path);
    const Result found = stream(model, token_prompt(some_tokens(9, 1)), generate_options(5));
    EXPECT_EQ(found.status, RZ_E_NUMERIC) << found.text;
    EXPECT_TRUE(found.tokens.empty());
    EXPECT_NE(found.message.find("logit"), std::string::npos) << found.message;
    EXPECT_EQ(stream(model, token_prompt(some_tokens(3, 1)), generate_options(5)).status, RZ_E_NUMERIC)
        << "again";
  }
  EXPECT_EQ(stream(load(), token_prompt(some_tokens(9, 1)), generate_options(5)).status, RZ_OK)
      << "another model";
}

// Routers whose probabilities are no numbers, in the largest batch: experts are still chosen once a row.
class BadRouter : public testing::TestWithParam<std::string> {};

TEST_P(BadRouter, IsToldWhenItReachesAToken) {
  TinyFile file = make_tiny_model(tiny_model("qwen3moe"));
  std::vector<std::byte> &router = file.tensor("blk.0.ffn_gate_inp.weight").bytes;
  std::memset(router.data(), 0xff, router.size());  // NaN
  const std::filesystem::path path = scratch_folder() / "router.gguf";
  file.write(path);
  const std::string device = "cpu:" + GetParam();
  rz_model_options options = model_options();
  options.device = device.c_str();
  options.max_batch = 64;
  const ModelHandle model = load(&options, path.string());
  const Result found = stream(model, token_prompt(some_tokens(64, 1)), generate_options(5));
  EXPECT_EQ(found.status, RZ_E_NUMERIC) << found.text;
  EXPECT_TRUE(found.tokens.empty());
}
INSTANTIATE_TEST_SUITE_P(Cpu, BadRouter, testing::ValuesIn(kernel_sets()));

std::string name_of(const testing::TestParamInfo<Param> &info) {
  return std::get<0>(info.param) + "_" + traits(std::get<1>(info.param)).name;
}
INSTANTIATE_TEST_SUITE_P(Cpu, BadWeights,
                         testing::Combine(testing::ValuesIn(kernel_sets()),
                                          testing::Values(Type::F16, Type::Q8_0, Type::Q4_0, Type::Q4_K,
                                                          Type::Q6_K)),
                         name_of);

}  // namespace
}  // namespace rz::test
