#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "text/charsmap.h"
#include "text/small_vocab.h"

namespace rz {
namespace {

using test::decode;
using test::encode;
using test::Ids;
using test::SmallVocab;

void put_u32(std::string &out, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xff));
}

using Entries = std::map<std::string, std::string>;

// A charsmap blob: each node of the trie gets a block of 256 units for its children, which wastes space but
// is a valid double array.
class CharsmapMaker {
 public:
  std::vector<uint32_t> units;
  std::string strings;

  explicit CharsmapMaker(const Entries &entries) : units(256) { fill(0, entries); }

  std::string blob() const {
    std::string out;
    put_u32(out, static_cast<uint32_t>(units.size() * 4));
    for (const uint32_t unit : units) put_u32(out, unit);
    return out + strings;
  }

 private:
  void fill(uint32_t node, const Entries &entries) {
    const auto base = static_cast<uint32_t>(units.size());
    units.resize(units.size() + 256, 0x80000000u);  // a value unit matches no label
    units[node] = (units[node] & 0xff) | (node ^ base) << 10;
    std::map<char, Entries> children;
    for (const auto &[key, value] : entries) {
      if (key.empty()) {
        units[node] |= 0x100;
        units[base] = 0x80000000u | static_cast<uint32_t>(strings.size());
        strings += value + '\0';
      } else {
        children[key[0]][key.substr(1)] = value;
      }
    }
    for (const auto &[first, rest] : children) {
      const uint32_t label = static_cast<uint8_t>(first);
      units[base ^ label] = label;
      fill(base ^ label, rest);
    }
  }
};

std::string mapped(const Charsmap &map, std::string_view text) {
  std::string out;
  while (!text.empty()) out += map.next(text);
  return out;
}

TEST(Charsmap, ReplacesTheLongestEntry) {
  const Charsmap map(
      CharsmapMaker(Entries{{"a", "1"}, {"ab", "2"}, {"abcd", "3"}, {"é", "e"}, {"\n", " "}, {"x", ""}})
          .blob());
  EXPECT_EQ(mapped(map, "aab abc abcd"), "12 2c 3");
  EXPECT_EQ(mapped(map, "é\nxyé"), "e ye");
  EXPECT_EQ(mapped(map, "中"), "中");
  EXPECT_EQ(mapped(map, std::string_view("\0z", 2)), std::string("\0z", 2));
}

TEST(Charsmap, WritesTheReplacementForInvalidBytes) {
  EXPECT_EQ(mapped(Charsmap(), "a\xff\xe4\xb8z"), "a\uFFFD\uFFFD\uFFFDz");
}

TEST(Charsmap, RefusesCutBlobs) {
  const std::string blob = CharsmapMaker(Entries{{"ab", "2"}}).blob();
  for (const size_t size : {1u, 2u, 3u, 4u, 5u, 100u})
    EXPECT_ERROR(Charsmap(blob.substr(0, size)), Format, "charsmap");
  EXPECT_ERROR(Charsmap(blob.substr(0, blob.size() - 1)), Format, "NUL");
  EXPECT_ERROR(Charsmap(std::string("\3\0\0\0abc\0", 8)), Format, "whole units");
  EXPECT_ERROR(Charsmap(std::string("\xff\xff\xff\xff\0\0\0\0\0", 9)), Format, "whole units");
}

TEST(Charsmap, RefusesATrieThatLeadsOutOfItself) {
  CharsmapMaker maker(Entries{{"ab", "2"}});
  maker.units[0] = 0x1fffffu << 10;
  EXPECT_ERROR(Charsmap(maker.blob()), Format, "leads to unit");
}

TEST(Charsmap, RefusesATrieThatLeadsInCircles) {
  CharsmapMaker maker(Entries{{"ab", "2"}});
  // The children of "a" are the root's: "a" lies below itself.
  const uint32_t base = maker.units[0] >> 10, a = base ^ 'a';
  maker.units[a] = 'a' | (a ^ base) << 10;
  EXPECT_ERROR(Charsmap(maker.blob()), Format, "back to itself");
}

TEST(Charsmap, RefusesValuesPastTheStrings) {
  CharsmapMaker maker(Entries{{"a", "2"}});
  const uint32_t base = maker.units[0] >> 10, a = base ^ 'a', below = a ^ (maker.units[a] >> 10);
  maker.units[below] = 0x80000002u;
  EXPECT_ERROR(Charsmap(maker.blob()), Format, "has string 2 of 2 bytes");
}

TEST(Charsmap, SurvivesAnyFlippedBit) {
  const std::string good = CharsmapMaker(Entries{{"ab", "xy"}, {"a", "z"}, {"é", "e"}}).blob();
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string blob = good;
    const size_t at = round < 200 ? static_cast<size_t>(round) / 8 : random() % blob.size();
    blob[at] = static_cast<char>(blob[at] ^ (1 << round % 8));
    const Error error = test::error_of([&] { mapped(Charsmap(blob), "ab a é\xff abab"); });
    EXPECT_TRUE(error.status() == Status::Ok || error.status() == Status::Format) << error.what();
  }
}

struct Words {
  SmallVocab small{VocabKind::Unigram};
  int32_t unk, space, a, b, ab, space_ab, mark;

  Words() {
    unk = small.vocab.unk = small.add("<unk>", TokenKind::Unknown);
    space = small.add("▁", -2.0f);
    a = small.add("a", -3.0f);
    b = small.add("b", -3.5f);
    ab = small.add("ab", -6.0f);
    space_ab = small.add("▁ab", -8.25f);
    mark = small.add("<mark>", TokenKind::UserDefined);
    small.vocab.remove_extra_whitespace = true;
  }
};

TEST(Unigram, FindsTheMostProbableCut) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "ab"), (Ids{words.space, words.ab}));  // -8, better than -8.25 and -8.5
  EXPECT_EQ(encode(*tokenizer, "ba"), (Ids{words.space, words.b, words.a}));
}

TEST(Unigram, JoinsUnknownCharactersIntoOneToken) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "aé中x b"), (Ids{words.space, words.a, words.unk, words.space, words.b}));
  EXPECT_EQ(encode(*tokenizer, "\xff\xfe"), (Ids{words.space, words.unk}));
  auto without = words.small;
  without.vocab.unk = -1;
  EXPECT_ERROR(encode(*without.tokenizer(), "é"), Format, "nor an unknown token");
}

TEST(Unigram, WritesBytesWhereTheVocabularyHasThem) {
  Words words;
  const int32_t bytes = words.small.add_byte_tokens();
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "é"), (Ids{words.space, bytes + 0xc3, bytes + 0xa9}));
  EXPECT_EQ(decode(*tokenizer, {words.space, bytes + 0xc3, bytes + 0xa9}), "é");
}

TEST(Unigram, MakesSpacesOneWhereAskedTo) {
  Words words;
  EXPECT_EQ(encode(*words.small.tokenizer(), "  a   b  "), (Ids{words.space, words.a, words.space, words.b}));
  EXPECT_EQ(encode(*words.small.tokenizer(), "   "), Ids());
  words.small.vocab.remove_extra_whitespace = false;
  EXPECT_EQ(encode(*words.small.tokenizer(), " a "), (Ids{words.space, words.space, words.a, words.space}));
  words.small.vocab.add_space_prefix = false;
  EXPECT_EQ(encode(*words.small.tokenizer(), "a b"), (Ids{words.a, words.space, words.b}));
}

TEST(Unigram, NormalizesByItsCharsmap) {
  Words words;
  words.small.vocab.charsmap = CharsmapMaker(Entries{{"\n", " "}, {"Ａ", "a"}, {"ß", "bb"}}).blob();
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "\nＡ\n\nß\n"), (Ids{words.space, words.a, words.space, words.b, words.b}));
}

TEST(Unigram, PrefixesASpaceAfterEverySpecialToken) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "a<mark>b"), (Ids{words.space, words.a, words.mark, words.space, words.b}));
}

TEST(Unigram, CutsAsWellAsAnyCut) {
  std::mt19937 random(9);
  for (int round = 0; round < 40; ++round) {
    SmallVocab small(VocabKind::Unigram);
    small.vocab.add_space_prefix = false;
    std::map<std::string, float> scores;
    for (const char *piece : {"a", "b"}) scores[piece] = -static_cast<float>(random() % 100) / 7.0f;
    for (int i = 0; i < 8; ++i) {
      std::string piece;
      for (size_t n = 2 + random() % 3; n > 0; --n) piece += "ab"[random() % 2];
      scores[piece] = -static_cast<float>(random() % 100) / 7.0f;
    }
    for (const auto &[piece, score] : scores) small.add(piece, score);
    const auto tokenizer = small.tokenizer();
    std::string text;
    for (size_t n = random() % 14; n > 0; --n) text += "ab"[random() % 2];
    double best = -std::numeric_limits<double>::infinity();  // over all 2^(n - 1) cuts
    for (uint32_t cuts = 0; cuts < 1u << (text.empty() ? 0 : text.size() - 1); ++cuts) {
      double sum = 0.0;
      std::string piece;
      for (size_t i = 0; i < text.size(); ++i) {
        piece += text[i];
        if (i + 1 < text.size() && !(cuts >> i & 1)) continue;
        const auto found = scores.find(piece);
        sum += found == scores.end() ? -std::numeric_limits<double>::infinity() : found->second;
        piece.clear();
      }
      best = std::max(best, sum);
    }
    double sum = 0.0;
    const Ids ids = encode(*tokenizer, text);
    for (const int32_t id : ids) sum += small.vocab.scores[static_cast<size_t>(id)];
    EXPECT_EQ(decode(*tokenizer, ids), text);
    EXPECT_NEAR(sum, best, 1e-6) << text;
  }
}

TEST(Unigram, NeedsFiniteScores) {
  Words words;
  words.small.vocab.scores[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(words.small.tokenizer(), Format, "tokenizer.ggml.scores[2]");
  words.small.vocab.scores.clear();
  EXPECT_ERROR(words.small.tokenizer(), Format,
               "tokenizer.ggml.scores: expected one for each token, found none");
}

}  // namespace
}  // namespace rz
