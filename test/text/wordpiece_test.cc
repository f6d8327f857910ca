#include <gtest/gtest.h>

#include "text/small_vocab.h"

namespace rz {
namespace {

using test::decode;
using test::encode;
using test::Ids;
using test::SmallVocab;

struct Words {
  SmallVocab small{VocabKind::WordPiece};
  int32_t unk, cls, sep, hello, resume, un, able, comma, dot, quote, middle;

  Words() {
    unk = small.vocab.unk = small.add("[UNK]", TokenKind::Control);
    cls = small.vocab.bos = small.add("[CLS]", TokenKind::Control);
    sep = small.vocab.sep = small.add("[SEP]", TokenKind::Control);
    small.vocab.add_bos = small.vocab.add_sep = true;
    hello = small.add("▁hello");
    resume = small.add("▁resume");
    un = small.add("▁un");
    able = small.add("able");
    comma = small.add("▁,");
    dot = small.add("▁.");
    quote = small.add("▁'");
    middle = small.add("▁中");
  }
};

TEST(WordPiece, TakesTheLongestPieceFromTheFront) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "unable hello"), (Ids{words.un, words.able, words.hello}));
  EXPECT_EQ(encode(*tokenizer, "unablex"), (Ids{words.unk}));  // a part without a piece: all of the word
  EXPECT_EQ(encode(*tokenizer, "able"), (Ids{words.unk}));     // no first piece
  EXPECT_EQ(encode(*tokenizer, "  \n\t "), Ids());
}

TEST(WordPiece, FoldsCaseAndAccents) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "HELLO Résumé re\u0301sume\u0301"),
            (Ids{words.hello, words.resume, words.resume}));
  EXPECT_EQ(encode(*tokenizer, "he\u200dl\u0001lo"),
            (Ids{words.hello}));  // format and control characters vanish
  auto cased = words.small;
  cased.vocab.lower_case = false;
  EXPECT_EQ(encode(*cased.tokenizer(), "Hello hello résumé"), (Ids{words.unk, words.hello, words.resume}));
  cased.vocab.strip_accents = false;
  EXPECT_EQ(encode(*cased.tokenizer(), "résumé resume"), (Ids{words.unk, words.resume}));
}

TEST(WordPiece, SetsPunctuationAndIdeographsApart) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "hello,hello."), (Ids{words.hello, words.comma, words.hello, words.dot}));
  EXPECT_EQ(encode(*tokenizer, "hello中中"), (Ids{words.hello, words.middle, words.middle}));
  EXPECT_EQ(encode(*tokenizer, "$"), (Ids{words.unk}));
}

TEST(WordPiece, PutsClsAndSepAround) {
  const Words words;
  EXPECT_EQ(encode(*words.small.tokenizer(), "hello", {}), (Ids{words.cls, words.hello, words.sep}));
}

TEST(WordPiece, JoinsWordsAndPunctuationWhenDecoding) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(decode(*tokenizer, {words.cls, words.un, words.able, words.hello, words.dot, words.sep}),
            "unable hello.");
  EXPECT_EQ(decode(*tokenizer, {words.cls, words.hello, words.comma, words.hello, words.sep}, true),
            "[CLS] hello, hello [SEP]");
  EXPECT_EQ(decode(*tokenizer, {words.hello, words.quote, words.hello}), "hello ' hello");
}

TEST(WordPiece, TreatsAWordOfMoreThanAHundredCharactersAsUnknown) {
  SmallVocab small(VocabKind::WordPiece);
  small.vocab.unk = small.add("[UNK]", TokenKind::Unknown);
  const int32_t first = small.add("▁é"), more = small.add("é");
  small.vocab.strip_accents = false;
  const auto tokenizer = small.tokenizer();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  Ids expected(100, more);
  expected[0] = first;
  EXPECT_EQ(encode(*tokenizer, text), expected);
  EXPECT_EQ(encode(*tokenizer, text + "é"), (Ids{0}));
}

TEST(WordPiece, TakesAnyBytesAndLongWords) {
  const Words words;
  const auto tokenizer = words.small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "\xff\xfe hello\xc3"), (Ids{words.hello}));
  EXPECT_EQ(encode(*tokenizer, std::string(1 << 20, 'Z')), (Ids{words.unk}));
}

TEST(WordPiece, NeedsAnUnknownTokenOnlyWhenItMeetsTheUnknown) {
  SmallVocab small(VocabKind::WordPiece);
  small.add("▁a");
  const auto tokenizer = small.tokenizer();
  EXPECT_EQ(encode(*tokenizer, "a a"), (Ids{0, 0}));
  EXPECT_ERROR(encode(*tokenizer, "b"), Format, "nor an unknown token");
}

}  // namespace
}  // namespace rz
