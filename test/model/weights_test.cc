// Tensors by name: what is bound, what is copied, what is refused and with which words.
#include "model/weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"
#include "support/shared_data.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

TinyFile two_tensors() {
  TinyFile file;
  file.set("general.architecture", std::string("llama"));
  file.add_tensor("a.weight", Type::F32, {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  file.add_tensor("a.bias", Type::F16, {3}, {0.5f, -1, 2});
  file.add_tensor("e.weight", Type::F16, {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  file.add_tensor("h.weight", Type::BF16, {3, 2}, {1, 2, 3, 4, 5, 6});
  file.tensors.push_back({"i.weight", Type::I32, {4, 1}, std::vector<std::byte>(16)});
  return file;
}

struct Opened {
  std::unique_ptr<ModelFile> file;
  Progress progress;
  Weights weights;

  explicit Opened(bool map = true, Weights::Read read = Weights::Read::All)
      : file(open(map)), weights(*file, read, progress) {}
  static std::unique_ptr<ModelFile> open(bool map) {
    const auto path = scratch_folder() / "model.gguf";
    two_tensors().write(path);
    return open_model_file(open_path(path.string(), map));
  }
};

const float *floats(const Matrix &matrix) { return reinterpret_cast<const float *>(matrix.data); }

TEST(Weights, BindsAMappedMatrixWhereItLies) {
  Opened opened;
  const Matrix a = opened.weights.matrix("a", 3, 4);
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.type, Type::F32);
  EXPECT_EQ(a.data, opened.file->mapped(*opened.file->find("a.weight")));
  EXPECT_EQ(floats(a.slice(1, 2))[0], 5);
  EXPECT_EQ(a.slice(1, 2).rows, 2);
  EXPECT_EQ(opened.weights.owned_bytes(), 0u);
}

TEST(Weights, ReadsIntoItsOwnMemoryWhatIsNotMapped) {
  Opened opened(false);
  const Matrix a = opened.weights.matrix("a", 3, 4);
  EXPECT_EQ(floats(a)[11], 12);
  EXPECT_EQ(opened.weights.owned_bytes(), 48u);
}

TEST(Weights, ConvertsVectorsToFloat) {
  Opened opened;
  const Vector bias = opened.weights.bias("a", 3);
  ASSERT_EQ(bias.size, 3);
  EXPECT_EQ(bias.data[0], 0.5f);
  EXPECT_EQ(bias.slice(1, 2).data[1], 2);
}

TEST(Weights, ConvertsAMatrixToFloatWhereTheOpWantsThat) {
  Opened opened;
  const Matrix converted = opened.weights.float_matrix("h", 2, 3);
  EXPECT_EQ(converted.type, Type::F32);
  EXPECT_EQ(floats(converted)[5], 6);
  EXPECT_EQ(opened.weights.float_matrix("a", 3, 4).data, opened.weights.matrix("a", 3, 4).data);
}

TEST(Weights, BindsExpertsAsMatricesOneAfterAnother) {
  const Matrix e = Opened().weights.experts("e", 3, 1, 2);
  EXPECT_EQ(e.experts, 3);
  EXPECT_EQ(e.bytes(), 12u);
}

TEST(Weights, TouchesNoDataWhenOnlyHeadersAreRead) {
  Opened opened(true, Weights::Read::HeadersOnly);
  EXPECT_EQ(opened.weights.matrix("a", 3, 4).data, nullptr);
  EXPECT_TRUE(opened.weights.matrix("a", 3, 4));
  EXPECT_EQ(opened.weights.matrix("a", 3, 4).slice(1, 1).data, nullptr);
  EXPECT_EQ(opened.weights.bias("a", 3).data, nullptr);
  EXPECT_TRUE(opened.weights.bias("a", 3));
}

TEST(Weights, GivesEmptyForOptionalTensorsThatAreNotThere) {
  Opened opened;
  EXPECT_FALSE(opened.weights.optional_matrix("b", 3, 4));
  EXPECT_FALSE(opened.weights.optional_vector("b", 3));
  EXPECT_FALSE(opened.weights.optional_bias("b", 3));
  EXPECT_TRUE(opened.weights.optional_bias("a", 3));
  EXPECT_TRUE(opened.weights.has("a"));
  EXPECT_FALSE(opened.weights.has("b"));
}

TEST(Weights, SaysWhatItExpectedAndWhatItFound) {
  Opened opened;
  const auto message = [&](auto call) {
    const Error error = error_of([&] { call(opened.weights); });
    EXPECT_EQ(error.status(), Status::Format);
    return std::string(error.what());
  };
  EXPECT_EQ(message([](Weights &w) { w.matrix("a", 4, 3); }), "a.weight: expected 3x4, found 4x3");
  EXPECT_EQ(message([](Weights &w) { w.vector("a", 4); }), "a.weight: expected 4, found 4x3");
  EXPECT_EQ(message([](Weights &w) { w.bias("a", 4); }), "a.bias: expected 4, found 3");
  EXPECT_EQ(message([](Weights &w) { w.experts("e", 2, 1, 2); }), "e.weight: expected 2x1x2, found 2x1x3");
  EXPECT_EQ(message([](Weights &w) { w.optional_matrix("a", 3, 3); }), "a.weight: expected 3x3, found 4x3");
  EXPECT_EQ(message([](Weights &w) { w.matrix("b", 3, 4); }), "b.weight: expected the tensor, found nothing");
}

TEST(Weights, RefusesTypesThatAreNoWeights) {
  Opened opened;
  const Error error = error_of([&] { opened.weights.matrix("i", 1, 4); });
  EXPECT_EQ(error.status(), Status::Unsupported);
  EXPECT_STREQ(error.what(), "i.weight: expected a type of weights, found I32");
}

TEST(Weights, ReportProgressAndStopWhenTold) {
  std::vector<float> seen;
  const Progress progress{[](void *user, float fraction) {
                            static_cast<std::vector<float> *>(user)->push_back(fraction);
                            return int32_t{fraction > 0.7f};
                          },
                          &seen};
  const auto file = Opened::open(true);
  Weights weights(*file, Weights::Read::All, progress);
  weights.matrix("a", 3, 4);
  weights.bias("a", 3);
  const Error error = error_of([&] { weights.experts("e", 3, 1, 2); });
  EXPECT_EQ(error.status(), Status::Cancelled);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

}  // namespace
}  // namespace rz::test
