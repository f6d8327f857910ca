#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "text/small_vocab.h"

namespace rz {
namespace {

using test::decode;
using test::encode;
using test::Ids;
using test::SmallVocab;

// Bytes are tokens 0 to 255; rules make 256 "ab", 257 " ab", 258 "abc", 259 "bc", best first.
SmallVocab alphabet_and_rules(const char *pre) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = pre;
  small.add_byte_alphabet();
  small.add_merge("a", "b");
  small.add_merge(" ", "ab");
  small.add_merge("ab", "c");
  small.add_merge("b", "c");
  return small;
}

TEST(Bpe, MergesByRankAndNotByLength) {
  const auto small = alphabet_and_rules("gpt-2");
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{258}));
  EXPECT_EQ(encode(*tokenizer, "bcab"), (Ids{259, 256}));
  EXPECT_EQ(encode(*tokenizer, "ab ab abc"), (Ids{256, 257, 257, 'c'}));  // " ab" outranks "abc"
  EXPECT_EQ(encode(*tokenizer, ""), Ids());
  EXPECT_EQ(encode(*tokenizer, "é"), (Ids{0xc3, 0xa9}));
}

TEST(Bpe, NeverMergesAcrossPieces) {
  const auto small = alphabet_and_rules("starcoder");
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "a1b"), (Ids{'a', '1', 'b'}));
  EXPECT_EQ(encode(*tokenizer, "a\nb"), (Ids{'a', '\n', 'b'}));
}

TEST(Bpe, TakesAWholePieceThatIsATokenOnlyWhereThePretokenizerSaysSo) {
  for (const bool whole : {false, true}) {
    auto small = alphabet_and_rules(whole ? "llama-bpe" : "dbrx");
    const int32_t xyz = small.add("xyz");
    const auto tokenizer = small.tokenizer();
    EXPECT_EQ(encode(*tokenizer, "xyz"), whole ? Ids{xyz} : (Ids{'x', 'y', 'z'}));
  }
}

TEST(Bpe, MergesThroughSymbolsThatAreNoTokens) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = "gpt-2";
  small.add_byte_alphabet();
  small.add_rule("x y");
  small.add_rule("xy z");
  const int32_t xyz = small.add("xyz");
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "xyz"), (Ids{xyz}));
  EXPECT_EQ(encode(*tokenizer, "xyw"), (Ids{'x', 'y', 'w'}));
}

TEST(Bpe, GivesRanksByIdWhereTheFileHasNoMerges) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = "kimi-k2";
  small.add_byte_alphabet();
  const int32_t bc = small.add("bc"), ab = small.add("ab"), abc = small.add("abc");
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{abc}));  // bc first, then a + bc
  EXPECT_EQ(encode(*tokenizer, "abd"), (Ids{ab, 'd'}));
  EXPECT_EQ(encode(*tokenizer, "bc"), (Ids{bc}));
}

TEST(Bpe, MergesCharactersWhereThePretokenizerIsNotByteLevel) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = "gemma4";
  const int32_t unk = small.add("<unk>", TokenKind::Unknown);
  small.vocab.unk = unk;
  const int32_t space = small.add("▁"), h = small.add("é"), i = small.add("i");
  small.add_rule("▁ é");
  small.add_rule("▁é i");
  const int32_t joined = small.add("▁éi");
  {
    const auto tokenizer = small.tokenizer();
    EXPECT_EQ(encode(*tokenizer, " éi é"), (Ids{joined, space, h}));
    EXPECT_EQ(encode(*tokenizer, "i中"), (Ids{i, unk}));
    EXPECT_EQ(decode(*tokenizer, {joined, i}), " éii");
  }
  const int32_t bytes = small.add_byte_tokens();
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "i中"), (Ids{i, bytes + 0xe4, bytes + 0xb8, bytes + 0xad}));
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "i中 é")), "i中 é");
}

TEST(Bpe, DropsWhiteSpaceWhereThePretokenizerDoes) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = "whitespace";
  const int32_t a = small.add("a"), b = small.add("b");
  EXPECT_EQ(encode(*small.tokenizer(), " a \n b"), (Ids{a, b}));
}

TEST(Bpe, GivesBackAnyBytes) {
  std::mt19937 random(3);
  for (const char *pre : {"gpt-2", "llama-bpe", "deepseek-coder", "kimi-k2", "chameleon"}) {
    const auto small = alphabet_and_rules(pre);
    const auto tokenizer = small.tokenizer();
    for (int round = 0; round < 50; ++round) {
      const std::string text =
          test::random_text(random, random() % 200, round % 2 ? "" : " abc\n\xe4\xb8\xad");
      EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, text)), text);
    }
  }
}

// BPE as its definition reads: join the pair of lowest rank, leftmost first, until there is none.
Ids merge_slowly(const std::map<std::pair<int32_t, int32_t>, std::pair<int, int32_t>> &rules, Ids ids) {
  for (;;) {
    int best = std::numeric_limits<int>::max();
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto rule = rules.find({ids[i], ids[i + 1]});
      if (rule != rules.end() && rule->second.first < best) {
        best = rule->second.first;
        at = i;
      }
    }
    if (best == std::numeric_limits<int>::max()) return ids;
    ids[at] = rules.at({ids[at], ids[at + 1]}).second;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, MergesAsTheDefinitionDoesForRandomRules) {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    SmallVocab small(VocabKind::Bpe);
    small.vocab.pre = "gpt-2";
    small.add_byte_alphabet();
    std::map<std::pair<int32_t, int32_t>, std::pair<int, int32_t>> rules;
    std::map<std::string, int32_t> tokens = {{"a", 'a'}, {"b", 'b'}, {"c", 'c'}};
    for (int rank = 0; rank < 40; ++rank) {
      auto left = tokens.begin(), right = tokens.begin();
      std::advance(left, random() % tokens.size());
      std::advance(right, random() % tokens.size());
      const std::string joined = left->first + right->first;
      if (tokens.contains(joined)) continue;
      rules[{left->second, right->second}] = {rank, small.add_merge(left->first, right->first)};
      tokens[joined] = small.vocab.size() - 1;
    }
    const auto tokenizer = small.tokenizer();
    for (int n = 0; n < 20; ++n) {
      std::string text(1 + random() % 60, '\0');
      Ids bytes;
      for (char &c : text) bytes.push_back(c = static_cast<char>('a' + random() % 3));
      EXPECT_EQ(encode(*tokenizer, text), merge_slowly(rules, bytes)) << text;
    }
  }
}

TEST(Bpe, RefusesBadRulesNamingThem) {
  for (const char *rule : {"ab", "a ", "", " "}) {
    auto small = alphabet_and_rules("gpt-2");
    small.add_rule(rule);
    EXPECT_ERROR(small.tokenizer(), Format,
                 "tokenizer.ggml.merges[4]: expected \"a b\", found \"" + std::string(rule) + "\"");
  }
}

TEST(Bpe, RefusesAnUnknownPretokenizerNamingIt) {
  const auto small = alphabet_and_rules("no-such");
  EXPECT_ERROR(small.tokenizer(), Unsupported, "found \"no-such\"");
}

TEST(Bpe, SaysWhereABytesTokenIsMissing) {
  SmallVocab small(VocabKind::Bpe);
  small.add("a");
  const auto without = small.tokenizer();
  EXPECT_EQ(encode(*without, "aa"), (Ids{0, 0}));
  EXPECT_ERROR(encode(*without, "ab"), Format, "byte 0x62");
  small.vocab.unk = small.add("<unk>", TokenKind::Unknown);
  EXPECT_EQ(encode(*small.tokenizer(), "ab"), (Ids{0, 1}));
}

TEST(Bpe, WritesTheReplacementForBytesThatTheVocabularyLeftOut) {
  SmallVocab small(VocabKind::Bpe);
  small.vocab.pre = "gpt-2";
  small.add_byte_alphabet();
  small.vocab.pieces[0xff] = "no byte";
  small.vocab.pieces[0x03] = "nor this";
  const int32_t unk = small.add("<unk>", TokenKind::Unknown);
  EXPECT_EQ(encode(*small.tokenizer(), "a\xff\x03"), (Ids{'a', 0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd}));
  small.vocab.unk = unk;  // stands for characters only: 0xff is no part of any
  EXPECT_EQ(encode(*small.tokenizer(), "a\xff\x03"), (Ids{'a', 0xef, 0xbf, 0xbd, unk}));
}

}  // namespace
}  // namespace rz
