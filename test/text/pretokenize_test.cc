#include "text/pretokenize.h"

#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "support/shared_data.h"
#include "text/small_vocab.h"

namespace rz {
namespace {

using Strings = std::vector<std::string>;

Strings split(const PretokenizerInfo &info, std::string_view text) {
  std::vector<Pretokenizer::Piece> pieces;
  Pretokenizer(info).split(text, pieces);
  Strings parts;
  size_t begin = 0;
  for (const auto &piece : pieces) {
    parts.emplace_back(text.substr(begin, piece.end - begin));
    begin = piece.end;
  }
  EXPECT_EQ(begin, text.size());
  return parts;
}

Strings split(const char *name, std::string_view text) {
  const PretokenizerInfo *info = find_pretokenizer(name);
  EXPECT_NE(info, nullptr) << name;
  return info ? split(*info, text) : Strings();
}

TEST(Pretokenizer, KnowsEightySevenNamesOnceEach) {
  std::set<std::string> names;
  for (const PretokenizerInfo *info : pretokenizers()) names.insert(info->name);
  EXPECT_EQ(pretokenizers().size(), 87u);
  EXPECT_EQ(names.size(), 87u);
  EXPECT_EQ(find_pretokenizer("llama-bpe")->name, std::string("llama-bpe"));
  EXPECT_EQ(find_pretokenizer("llama"), nullptr);
  EXPECT_EQ(find_pretokenizer(""), nullptr);
}

TEST(Pretokenizer, KeepsASpaceWithTheWordBehindIt) {
  EXPECT_EQ(split("gpt-2", "Hello  world's 123!\n x"),
            (Strings{"Hello", " ", " world", "'s", " 123", "!", "\n", " x"}));
  EXPECT_EQ(split("starcoder", "a 12"), (Strings{"a", " ", "1", "2"}));
}

TEST(Pretokenizer, CutsNumbersAsTheModelDoes) {
  EXPECT_EQ(split("llama-bpe", "1234567"), (Strings{"123", "456", "7"}));
  EXPECT_EQ(split("qwen2", "123"), (Strings{"1", "2", "3"}));
  EXPECT_EQ(split("gpt-2", "1234567"), (Strings{"1234567"}));
  EXPECT_EQ(split("falcon", "1234567"), (Strings{"123", "456", "7"}));
  EXPECT_EQ(split("tiny_aya", "1234567 x"), (Strings{"1", "234", "567", " x"}));
  EXPECT_EQ(split("tiny_aya", "1234x"), (Strings{"123", "4", "x"}));  // no word boundary: from the left
  EXPECT_EQ(split("superbpe", "ab12345"), (Strings{"ab", "12", "345"}));
  EXPECT_EQ(split("afmoe", "1234567"), (Strings{"1", "234", "567"}));
}

TEST(Pretokenizer, TreatsNewlinesAsTheModelDoes) {
  EXPECT_EQ(split("llama-bpe", "a  \n\n b"), (Strings{"a", "  \n\n", " b"}));
  EXPECT_EQ(split("deepseek-coder", "a\n\nb"), (Strings{"a", "\n", "\n", "b"}));
  EXPECT_EQ(split("gemma4", "a b\n\nc"), (Strings{"a b", "\n\n", "c"}));
  EXPECT_EQ(split("laguna", "a.\n\nb"), (Strings{"a", ".", "\n\n", "b"}));
  EXPECT_EQ(split("qwen2", "a.\n\nb"), (Strings{"a", ".\n\n", "b"}));
}

TEST(Pretokenizer, PartsCapitalsAndScripts) {
  EXPECT_EQ(split("gpt-4o", "HELLOWorld it's"), (Strings{"HELLOWorld", " it's"}));
  EXPECT_EQ(split("gpt-4o", "helloWorld"), (Strings{"hello", "World"}));
  EXPECT_EQ(split("tekken", "isn't 12"), (Strings{"isn", "'t", " ", "1", "2"}));
  EXPECT_EQ(split("kimi-k2", "abc中文Def"), (Strings{"abc", "中文", "Def"}));
  EXPECT_EQ(split("deepseek-v3", "中文abc.def"), (Strings{"中文", "abc", ".def"}));
  EXPECT_EQ(split("qwen35", "a\u0301b"), (Strings{"a\u0301b"}));
  EXPECT_EQ(split("qwen2", "a\u0301b"), (Strings{"a", "\u0301b"}));
  EXPECT_EQ(split("exaone-moe", "가 나 다 1"), (Strings{"가 나 다", " ", "1"}));
}

TEST(Pretokenizer, AppliesStepsOneAfterAnother) {
  EXPECT_EQ(split("chameleon", "IMGIMGABZ a1"), (Strings{"IMGIMGABZ", " a", "1"}));
  EXPECT_EQ(split("deepseek-llm", "ab  中  "), (Strings{"ab", "  ", "中", "  "}));
  EXPECT_EQ(split("default", "a, 1234"), (Strings{"a", ",", " ", "123", "4"}));
  EXPECT_EQ(split("whitespace", "ab  c"), (Strings{"ab", "  ", "c"}));
}

TEST(Pretokenizer, HalvesLongSpacesWhereTheModelDoes) {
  EXPECT_EQ(split("jais-2", std::string(7, ' ') + "x"),
            (Strings{std::string(4, ' '), std::string(2, ' '), " x"}));
  EXPECT_EQ(split("jais-2", "a \n  \n b"), (Strings{"a", " \n  \n", " b"}));
}

TEST(Pretokenizer, SetsInvalidBytesApart) {
  EXPECT_EQ(split("gpt-2", "ab\xff\xfe\xc3 cd\xe4\xb8"), (Strings{"ab", "\xff\xfe\xc3", " cd", "\xe4\xb8"}));
  EXPECT_EQ(split("gpt-2", "\xef\xbf\xbd\xff"), (Strings{"\xef\xbf\xbd", "\xff"}));
  EXPECT_EQ(split("gpt-2", ""), Strings());
}

// The texts on which patterns that look ahead or back from every place take quadratic time.
std::vector<std::string> long_texts(size_t n) {
  std::vector<std::string> texts;
  for (const char c : {'Z', 'a', ' ', '\n', '7', '!', '\t', '\xff'}) texts.push_back(std::string(n, c));
  texts.push_back(std::string(n, ' ') + "x");
  texts.push_back(std::string(n, ' ') + "1");
  texts.push_back(std::string(n, ' ') + "中");
  texts.push_back(std::string(n, '7') + "x");
  texts.push_back(std::string(n, 'Z') + "a" + std::string(n, 'Z'));
  for (const std::string unit :
       {"aB", "中", "中Z", "e\u0301", " \n", "a ", "가 ", "\u0301", "'s", "IMGIMG", "½7"}) {
    std::string text;
    while (text.size() < n) text += unit;
    texts.push_back(text);
  }
  return texts;
}

TEST(Pretokenizer, NeedsLinearTimeForEveryName) {
  auto texts = long_texts(1 << 16);
  texts.push_back(std::string(1 << 20, ' ') + "x");
  std::set<const PatternStep *> seen;
  for (const PretokenizerInfo *info : pretokenizers()) {
    if (!seen.insert(info->steps).second) continue;
    const Pretokenizer pretokenizer(*info);
    std::vector<Pretokenizer::Piece> pieces;
    for (const std::string &text : texts) {
      const std::clock_t start = std::clock();
      pretokenizer.split(text, pieces);
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      // Linear time takes a few hundredths of this; quadratic time three times as much and far more.
      EXPECT_LT(seconds, 1.0) << info->name << ": " << text.substr(0, 8) << "...";
      ASSERT_FALSE(pieces.empty());
      EXPECT_EQ(pieces.back().end, text.size());
    }
  }
}

TEST(Pretokenizer, CutsAnyBytesWithoutGaps) {
  std::mt19937 random(7);
  for (const PretokenizerInfo *info : pretokenizers()) {
    const Pretokenizer pretokenizer(*info);
    for (int round = 0; round < 5; ++round) {
      const std::string text = test::random_text(random, 500, round % 2 ? "" : " \n1aZ\xc3\xa9'.");
      std::vector<Pretokenizer::Piece> pieces;
      pretokenizer.split(text, pieces);
      uint32_t before = 0;
      for (const auto &piece : pieces) {
        ASSERT_GT(piece.end, before) << info->name;
        before = piece.end;
      }
      EXPECT_EQ(before, text.size()) << info->name;
    }
  }
}

// Our patterns are rewritten for linear time; on real texts they must cut as the published ones do.
TEST(Pretokenizer, CutsAsThePublishedPatternsDo) {
  RZ_NEED_SHARED_DATA();
  const auto table =
      nlohmann::json::parse(test::read_file(test::shared_data() / "pretokenizers.json")).at("pre");
  Strings texts = {test::read_file(test::shared_data() / "vocab" / "ggml-vocab-qwen35.gguf.inp"),
                   "12345 1234x ½12 a  \n\n \t b   ", "   \n  x", "DON'T don't I'LL",
                   "ǅungla ʰa ªb 中文ABC가나 다"};
  const std::set<std::string> own_splitting = {"kimi-k2", "afmoe",
                                               "superbpe"};  // no list of regexes to compare
  // llama.cpp's stand-ins for these know no capitals outside ASCII; the models were made with the originals.
  const std::set<std::string> originals = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "tekken"};
  for (const auto &[name, entry] : table.items()) {
    SCOPED_TRACE(name);
    const PretokenizerInfo *info = find_pretokenizer(name);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->ignore_merges, entry.value("ignore_merges", false));
    EXPECT_EQ(info->add_bos, entry.value("add_bos", false));
    EXPECT_EQ(info->byte_level, entry.value("byte_level", true));
    EXPECT_EQ(info->escape_whitespaces, entry.value("escape_whitespaces", false));
    if (own_splitting.contains(name) || name == "granite-embed-multi-97m") continue;
    const Strings patterns = entry.at(originals.contains(name) ? "huggingface_original" : "regexes");
    std::vector<PatternStep> steps;
    for (const std::string &pattern : patterns) steps.push_back({.pattern = pattern.c_str()});
    const PretokenizerInfo published{
        .name = "published", .steps = steps.data(), .n_steps = static_cast<int>(steps.size())};
    for (const std::string &text : texts) EXPECT_EQ(split(*info, text), split(published, text));
  }
}

}  // namespace
}  // namespace rz
