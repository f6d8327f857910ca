#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rz {
namespace {

std::vector<uint32_t> code_points(std::string_view text) {
  std::vector<uint32_t> all;
  for (size_t pos = 0; pos < text.size();) all.push_back(utf8_next(text, pos));
  return all;
}

TEST(Utf8, ReadsBackEveryScalarValue) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    utf8_append(text, c);
    size_t pos = 0;
    ASSERT_EQ(utf8_next(text, pos), c);
    ASSERT_EQ(pos, text.size());
    ASSERT_TRUE(utf8_valid(text));
    ASSERT_EQ(utf8_complete_prefix(text), text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_FALSE(utf8_valid(text.substr(0, cut)));
      ASSERT_EQ(utf8_complete_prefix(text.substr(0, cut)), 0u);
    }
  }
}

TEST(Utf8, WritesTheReplacementForWhatIsNoScalarValue) {
  for (const uint32_t c : {0xd800u, 0xdfffu, 0x110000u, UINT32_MAX}) {
    std::string text;
    utf8_append(text, c);
    EXPECT_EQ(text, "\xef\xbf\xbd");
  }
}

TEST(Utf8, MovesByOneByteOverWhatIsInvalid) {
  const std::vector<std::string> invalid = {
      "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xff",         "\xe2\x82"};
  for (const std::string &bytes : invalid) {
    EXPECT_FALSE(utf8_valid(bytes));
    EXPECT_EQ(code_points(bytes), std::vector<uint32_t>(bytes.size(), 0xfffd));
    auto with_letter = std::vector<uint32_t>(bytes.size(), 0xfffd);
    with_letter.push_back('a');
    EXPECT_EQ(code_points(bytes + "a"), with_letter);
  }
}

TEST(Utf8, KeepsBackOnlyAnUnfinishedCharacter) {
  const std::string euro = "\xe2\x82\xac", face = "\xf0\x9f\x98\x80";
  EXPECT_EQ(utf8_complete_prefix(""), 0u);
  EXPECT_EQ(utf8_complete_prefix("abc"), 3u);
  EXPECT_EQ(utf8_complete_prefix("ab" + euro), 5u);
  EXPECT_EQ(utf8_complete_prefix("ab" + euro.substr(0, 2)), 2u);
  EXPECT_EQ(utf8_complete_prefix("ab" + euro.substr(0, 1)), 2u);
  EXPECT_EQ(utf8_complete_prefix(euro + face.substr(0, 3)), 3u);
  EXPECT_EQ(utf8_complete_prefix(face), 4u);
}

TEST(Utf8, CountsHopelessBytesAsWhole) {
  for (const std::string bytes : {"\xff", "\x80", "\xc0", "\xe0\x80", "\xed\xa0", "\xf4\x90", "\xf0\x80\x80",
                                  "a\x80\x80", "\xe2\x82\xac\x80", "\xf0\x9f\x41"}) {
    EXPECT_EQ(utf8_complete_prefix(bytes), bytes.size());
  }
}

}  // namespace
}  // namespace rz
