// The shared llama models hold the same weights in many mixes: what we decode is close to the original, and
// the types are those that our mixes would have given.
#include <gtest/gtest.h>

#include <cmath>

#include "format/model_file.h"
#include "quant/mix.h"
#include "support/relative_error.h"
#include "support/shared_data.h"
#include "support/tensor_values.h"

namespace rz::test {
namespace {

std::unique_ptr<ModelFile> open_golden(const std::string &name) {
  return open_model_file(open_path((shared_data() / "golden" / (name + ".gguf")).string(), true));
}

struct Case {
  const char *file, *scheme;
};
constexpr Case kCases[] = {
    {"llama-q8_0", "Q8_0"},     {"llama-q4_0", "Q4_0"},     {"llama-q4_1", "Q4_1"},
    {"llama-q5_0", "Q5_0"},     {"llama-q5_1", "Q5_1"},     {"llama-q2_k", "Q2_K"},
    {"llama-q3_k_m", "Q3_K_M"}, {"llama-q4_k_m", "Q4_K_M"}, {"llama-q5_k_m", "Q5_K_M"},
    {"llama-q6_k", "Q6_K"},     {"llama-iq4_nl", "IQ4_NL"}, {"llama-iq4_xs", "IQ4_XS"},
};

// What a format leaves of gaussian weights, half again.
double tolerance(Type type) {
  switch (type) {
    case Type::Q2_K:
      return 0.45;
    case Type::Q3_K:
      return 0.23;
    case Type::Q4_0:
    case Type::Q4_1:
    case Type::Q4_K:
    case Type::IQ4_NL:
    case Type::IQ4_XS:
      return 0.13;
    case Type::Q5_0:
    case Type::Q5_1:
    case Type::Q5_K:
      return 0.065;
    case Type::Q6_K:
      return 0.03;
    case Type::Q8_0:
      return 0.009;
    default:
      return 0;
  }
}

TEST(GoldenTypes, DecodeCloseToTheOriginalWeights) {
  RZ_NEED_SHARED_DATA();
  const auto original = open_golden("llama-bf16");
  for (const Case &c : kCases) {
    const auto file = open_golden(c.file);
    for (const TensorInfo &tensor : file->tensors) {
      const TensorInfo *same = original->find(tensor.name);
      ASSERT_NE(same, nullptr) << tensor.name;
      EXPECT_LE(relative_error(weights_of(*file, tensor), weights_of(*original, *same)),
                tolerance(tensor.type))
          << c.file << " " << tensor.name << " " << traits(tensor.type).name;
    }
  }
}

TEST(GoldenTypes, OurEncodersComeAsClose) {
  RZ_NEED_SHARED_DATA();
  const auto original = open_golden("llama-bf16");
  for (const Case &c : kCases) {
    const auto file = open_golden(c.file);
    double ours = 0, theirs = 0;
    for (const TensorInfo &tensor : file->tensors) {
      const std::vector<float> expected = weights_of(*original, *original->find(tensor.name));
      std::vector<float> back(expected.size());
      std::vector<std::byte> blocks(tensor.size_bytes);
      traits(tensor.type).encode(expected.data(), blocks.data(), static_cast<int64_t>(expected.size()));
      traits(tensor.type).decode(blocks.data(), back.data(), static_cast<int64_t>(back.size()));
      ours += std::pow(relative_error(back, expected), 2);
      theirs += std::pow(relative_error(weights_of(*file, tensor), expected), 2);
    }
    EXPECT_LE(std::sqrt(ours), 1.02 * std::sqrt(theirs)) << c.file;
  }
}

TEST(GoldenTypes, OurMixesChooseTheSameTypes) {
  RZ_NEED_SHARED_DATA();
  for (const Case &c : kCases) {
    const auto file = open_golden(c.file);
    const Mix *mix = find_mix(c.scheme);
    ASSERT_NE(mix, nullptr);
    EXPECT_EQ(file->metadata.integer("general.file_type", 0, 1024), mix->file_type) << c.scheme;
    MixModel model;
    const auto number = [&](const char *key) {
      return static_cast<int>(file->metadata.integer(key, 1, 1024));
    };
    model.n_layers = number("llama.block_count");
    model.n_heads = number("llama.attention.head_count");
    model.n_kv_heads = number("llama.attention.head_count_kv");
    std::vector<std::string_view> names;
    for (const TensorInfo &tensor : file->tensors) names.push_back(tensor.name);
    model.survey(names);
    for (const TensorInfo &tensor : file->tensors) {
      const std::span<const int64_t> dims(tensor.dims.data(), static_cast<size_t>(tensor.n_dims));
      EXPECT_STREQ(traits(type_for(*mix, model, tensor.name, dims, tensor.type)).name,
                   traits(tensor.type).name)
          << c.scheme << " " << tensor.name;
    }
  }
}

}  // namespace
}  // namespace rz::test
