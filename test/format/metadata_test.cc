// Metadata gives what is asked for with its type and range, or says what it expected and what it found.
#include <gtest/gtest.h>

#include <limits>

#include "format/model_file.h"
#include "support/error_of.h"
#include "support/gguf_bytes.h"

namespace rz {
namespace {

using test::error_of;

class MetadataTest : public testing::Test {
 protected:
  std::unique_ptr<ModelFile> opened_ = [] {
    test::GgufBytes file;
    file.set("u8", test::u8(200)).set("i8", test::i8(-100)).set("u64", test::u64(UINT64_MAX));
    file.set("i64", test::i64(INT64_MIN)).set("zero", test::u32(0)).set("f32", test::f32(1.5f));
    file.set("f64", test::f64(-2.5)).set("nan", test::f32(std::numeric_limits<float>::quiet_NaN()));
    file.set("infinite", test::f64(std::numeric_limits<double>::infinity())).set("yes", test::boolean(true));
    file.set("text", test::string("llama"))
        .set("texts", test::strings({"x", "y"}))
        .set("i32s", test::i32s({-5, 6}));
    file.set("f32s", test::f32s({0.5f})).set("u64s", test::array(10, 1, test::raw(UINT64_MAX)));
    file.set("evil", test::string(std::string("a\x1b\n\xff", 4) + std::string(1000, 'z')));
    return open_gguf(file.source());
  }();
  const Metadata &metadata_ = opened_->metadata;
};

TEST_F(MetadataTest, TakesIntegersOfAnyWidthAndSignInRange) {
  EXPECT_EQ(metadata_.integer("u8", 0, 200), 200);
  EXPECT_EQ(metadata_.integer("i8", -100, 0), -100);
  EXPECT_EQ(metadata_.integer("i64", INT64_MIN, 0), INT64_MIN);
  EXPECT_EQ(metadata_.integer("zero", 0, 0), 0);
  EXPECT_EQ(metadata_.integer_or("absent", 0, 10, 99), 99);
  EXPECT_EQ(metadata_.integer_or("u8", 0, 255, 99), 200);
}

TEST_F(MetadataTest, NamesTheRangeAndWhatItFound) {
  const auto message = [&](const char *key, int64_t low, int64_t high) {
    const Error error = error_of([&] { metadata_.integer(key, low, high); });
    EXPECT_EQ(error.status(), Status::Format);
    return std::string(error.what());
  };
  EXPECT_EQ(message("zero", 1, 512), "zero: expected an integer in [1, 512], found u32 0");
  EXPECT_EQ(message("u8", 1, 199), "u8: expected an integer in [1, 199], found u8 200");
  EXPECT_EQ(message("i8", 0, 5), "i8: expected an integer in [0, 5], found i8 -100");
  EXPECT_EQ(message("u64", INT64_MIN, INT64_MAX),
            "u64: expected an integer in [-9223372036854775808, 9223372036854775807], found u64 "
            "18446744073709551615");
  EXPECT_EQ(message("absent", 1, 2), "absent: expected an integer in [1, 2], found nothing");
  EXPECT_EQ(message("f32", 1, 2), "f32: expected an integer in [1, 2], found f32 1.5");
  EXPECT_EQ(message("yes", 0, 2), "yes: expected an integer in [0, 2], found bool true");
  EXPECT_EQ(message("text", 1, 2), "text: expected an integer in [1, 2], found string \"llama\"");
  EXPECT_EQ(message("i32s", 1, 2), "i32s: expected an integer in [1, 2], found array [i32 x 2]");
  EXPECT_EQ(message("u8", 7, 7), "u8: expected 7, found u8 200");
  EXPECT_EQ(error_of([&] { metadata_.integer_or("u8", 0, 1, 0); }).status(), Status::Format);
}

TEST_F(MetadataTest, ShowsForeignTextHarmlesslyAndInShort) {
  const std::string message = error_of([&] { metadata_.integer("evil", 0, 1); }).what();
  EXPECT_EQ(message.find("evil: expected an integer in [0, 1], found string \"a??\xef\xbf\xbdzzz"), 0u)
      << message;
  EXPECT_LT(message.size(), 150u);
}

TEST_F(MetadataTest, TakesFiniteNumbersOnly) {
  EXPECT_EQ(metadata_.number("f32"), 1.5);
  EXPECT_EQ(metadata_.number("f64"), -2.5);
  EXPECT_EQ(metadata_.number("i8"), -100);
  EXPECT_EQ(metadata_.number_or("absent", 0.25), 0.25);
  for (const char *key : {"nan", "infinite"}) {
    for (const bool needed : {true, false}) {
      const Error error = error_of([&] { needed ? metadata_.number(key) : metadata_.number_or(key, 1); });
      EXPECT_EQ(error.status(), Status::Format);
      EXPECT_NE(std::string(error.what()).find("expected a finite number, found f"), std::string::npos);
    }
  }
  EXPECT_STREQ(error_of([&] { metadata_.number("text"); }).what(),
               "text: expected a finite number, found string \"llama\"");
  EXPECT_STREQ(error_of([&] { metadata_.number("absent"); }).what(),
               "absent: expected a finite number, found nothing");
}

TEST_F(MetadataTest, TakesStringsBoolsAndArraysOfTheirOwnTypeOnly) {
  EXPECT_EQ(metadata_.string("text"), "llama");
  EXPECT_EQ(metadata_.string_or("absent", "other"), "other");
  EXPECT_TRUE(metadata_.boolean_or("yes", false));
  EXPECT_TRUE(metadata_.boolean_or("absent", true));
  EXPECT_EQ(metadata_.array("texts").strings, (std::vector<std::string_view>{"x", "y"}));
  EXPECT_EQ(metadata_.find_array("absent"), nullptr);
  EXPECT_EQ(metadata_.find("absent"), nullptr);
  EXPECT_STREQ(error_of([&] { metadata_.string("u8"); }).what(), "u8: expected a string, found u8 200");
  EXPECT_STREQ(error_of([&] { metadata_.string_or("u8", ""); }).what(),
               "u8: expected a string, found u8 200");
  EXPECT_STREQ(error_of([&] { metadata_.boolean_or("zero", true); }).what(),
               "zero: expected a bool, found u32 0");
  EXPECT_STREQ(error_of([&] { metadata_.array("text"); }).what(),
               "text: expected an array, found string \"llama\"");
  EXPECT_STREQ(error_of([&] { metadata_.find_array("yes"); }).what(),
               "yes: expected an array, found bool true");
}

TEST_F(MetadataTest, ReadsElementsOfArraysByNumber) {
  EXPECT_EQ(metadata_.array("i32s").integer(0), -5);
  EXPECT_EQ(metadata_.array("i32s").number(1), 6.0);
  EXPECT_EQ(metadata_.array("f32s").number(0), 0.5);
  EXPECT_EQ(metadata_.array("u64s").number(0), 18446744073709551615.0);
  EXPECT_EQ(error_of([&] { metadata_.array("u64s").integer(0); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { metadata_.array("f32s").integer(0); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { metadata_.array("texts").number(0); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { metadata_.array("i32s").integer(2); }).status(), Status::Internal);
}

}  // namespace
}  // namespace rz
