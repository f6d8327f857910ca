// Text streams over a vocabulary of given pieces: the same text must come out whatever tokens it was cut
// into.
#include "engine/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/allocation_count.h"
#include "support/error_of.h"

namespace rz {
namespace {

using test::allocation_count;
using test::error_of;
using Strings = std::vector<std::string>;

struct Pieces {
  Strings texts;
};

// Token i stands for the i-th string, whatever bytes it holds.
class PieceTokenizer final : private Pieces, public Tokenizer {
 public:
  explicit PieceTokenizer(Strings texts, std::vector<int32_t> controls = {}, VocabKind kind = VocabKind::Spm)
      : Pieces{std::move(texts)}, Tokenizer(make_vocab(Pieces::texts, controls, kind)) {
    for (const std::string &text : Pieces::texts) add_raw_piece(text);
    decode_strips_space_ = true;
  }

 private:
  static Vocab make_vocab(const Strings &texts, const std::vector<int32_t> &controls, VocabKind kind) {
    Vocab vocab;
    vocab.kind = kind;
    vocab.pieces.assign(texts.begin(), texts.end());
    vocab.kinds.assign(texts.size(), TokenKind::Normal);
    for (const int32_t id : controls) vocab.kinds[static_cast<size_t>(id)] = TokenKind::Control;
    return vocab;
  }
  void encode_text(std::string_view, std::vector<int32_t> &) const override {}
};

// What push() gives for each token, then what finish() gives.
Strings stream(const Strings &pieces, const Strings &stops, bool special = false, bool strip = false) {
  const PieceTokenizer tokenizer(pieces);
  TextStream stream(tokenizer, stops, special, strip);
  Strings result;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const TextStream::Result r = stream.push(static_cast<int32_t>(i));
    result.emplace_back(r.text);
    if (r.stopped) return result;
  }
  result.emplace_back(stream.finish().text);
  return result;
}

std::string join(const Strings &parts) {
  std::string all;
  for (const std::string &part : parts) all += part;
  return all;
}

Strings cut(const std::string &text, std::mt19937 &random, size_t longest) {
  Strings parts;
  for (size_t at = 0; at < text.size();) {
    parts.push_back(text.substr(at, 1 + random() % longest));
    at += parts.back().size();
  }
  return parts;
}

TEST(TextStream, GivesACharacterOnlyWhenItsLastByteHasCome) {
  EXPECT_EQ(stream({"a\xf0", "\x9f\x98", "\x80", "b"}, {}), (Strings{"a", "", "\xf0\x9f\x98\x80", "b", ""}));
}

TEST(TextStream, ReplacesBytesThatCanNeverBecomeACharacter) {
  EXPECT_EQ(stream({"a\xff", "b"}, {}), (Strings{"a\xef\xbf\xbd", "b", ""}));
  EXPECT_EQ(stream({"\xe2\x82", "b"}, {}), (Strings{"",
                                                    "\xef\xbf\xbd\xef\xbf\xbd"
                                                    "b",
                                                    ""}));
  EXPECT_EQ(stream({"\x80", "\xc0", "\xed", "\xa0", "\x80"}, {}).at(0), "\xef\xbf\xbd");
  EXPECT_EQ(stream({"x\xf0\x9f"}, {}), (Strings{"x", "\xef\xbf\xbd\xef\xbf\xbd"}));
  EXPECT_EQ(stream({"\xef\xbf", "\xbd"}, {}), (Strings{"", "\xef\xbf\xbd", ""}));
}

TEST(TextStream, TakesTheSpaceThatEncodingAddedOffTheFirstTokenOnly) {
  EXPECT_EQ(join(stream({" Hello", " world"}, {}, false, true)), "Hello world");
  EXPECT_EQ(join(stream({" ", " world"}, {}, false, true)), " world");
  EXPECT_EQ(join(stream({" Hello", " world"}, {}, false, false)), " Hello world");
}

TEST(TextStream, GivesTheTextOfControlTokensOnlyWhenAsked) {
  const PieceTokenizer tokenizer({"<s>", " hi"}, {0});
  TextStream plain(tokenizer, {}, false, true), special(tokenizer, {}, true, true);
  EXPECT_EQ(plain.push(0).text, "");
  EXPECT_EQ(plain.push(1).text, "hi");
  EXPECT_EQ(special.push(0).text, "<s>");
  EXPECT_EQ(special.push(1).text, " hi");
}

TEST(TextStream, AModelWithoutAVocabularyGivesNoText) {
  const PieceTokenizer tokenizer({}, {}, VocabKind::None);
  TextStream stream(tokenizer, {}, false, true);
  EXPECT_EQ(stream.push(5).text, "");
  EXPECT_EQ(stream.finish().text, "");
}

TEST(TextStream, EndsBeforeAStopStringHoweverItIsCut) {
  const std::string text = "one STOP two", stop = "STOP";
  for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
    Strings pieces(1);
    for (size_t i = 0; i < text.size(); ++i) {
      pieces.back() += text[i];
      if (i + 1 < text.size() && (cuts >> i & 1)) pieces.emplace_back();
    }
    const Strings parts = stream(pieces, {stop});
    ASSERT_EQ(join(parts), "one ");
  }
}

TEST(TextStream, NothingFollowsAStop) {
  const PieceTokenizer tokenizer({"a#b", "c"});
  TextStream stream(tokenizer, {"#"}, false, false);
  const TextStream::Result first = stream.push(0);
  EXPECT_EQ(first.text, "a");
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(stream.push(1).text, "");
  EXPECT_TRUE(stream.push(1).stopped);
  EXPECT_EQ(stream.finish().text, "");
}

TEST(TextStream, GivesBackABeginningThatCameToNothing) {
  EXPECT_EQ(stream({"aab", "aab", "x"}, {"aabaac"}), (Strings{"", "aab", "aabx", ""}));
  EXPECT_EQ(stream({"x\n", "\n"}, {"\n\n\n"}), (Strings{"x", "", "\n\n"}));
}

TEST(TextStream, TheStopStringCompletedFirstEndsTheText) {
  EXPECT_EQ(join(stream({"abcd"}, {"bcd", "c"})), "ab");
  EXPECT_EQ(join(stream({"abcd"}, {"cd", "bcd"})), "a") << "of two complete at one byte the longest";
}

// Small alphabets make near misses and overlaps common; the two-byte letters put borders inside characters.
TEST(TextStream, GivesTheTextUpToTheFirstStopStringAsEarlyAsItCan) {
  const Strings letters = {"a", "b", "\xc3\xa9", "\xc3\xa8"};
  std::mt19937 random(7);
  const auto word = [&](size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += letters[random() % letters.size()];
    return text;
  };
  for (int round = 0; round < 4000; ++round) {
    const std::string text = word(random() % 40);
    Strings stops;
    for (size_t i = random() % 4; i > 0; --i) stops.push_back(word(1 + random() % 5));

    // The occurrence that ends first, and of those the one that begins first.
    size_t begin = text.size(), end = std::string::npos;
    for (const std::string &stop : stops) {
      const size_t at = text.find(stop);
      if (at == std::string::npos) continue;
      if (at + stop.size() < end || (at + stop.size() == end && at < begin)) {
        begin = at;
        end = at + stop.size();
      }
    }

    std::string given, seen;
    const Strings pieces = cut(text, random, 4);
    const Strings parts = stream(pieces, stops);
    for (size_t i = 0; i < parts.size(); ++i) {
      given += parts[i];
      if (i >= pieces.size() || (seen += pieces[i]).size() >= end) break;
      // Nothing but the beginning of a character or of a stop string may be held back.
      const std::string held = seen.substr(given.size());
      const size_t whole = held.size() - (!seen.empty() && seen.back() == '\xc3' ? 1 : 0);
      bool begins = whole == 0;
      for (const std::string &stop : stops) begins |= stop.compare(0, whole, held, 0, whole) == 0;
      ASSERT_TRUE(begins) << "held back \"" << held << "\" of \"" << seen << "\"";
    }
    ASSERT_EQ(given, text.substr(0, begin));
    ASSERT_EQ(join(parts), given);
  }
}

TEST(TextStream, StaysLinearWhenEveryByteMightBeginAStopString) {
  const std::string as(20000, 'a');
  const PieceTokenizer tokenizer({"a"});
  TextStream stream(tokenizer, {as + "b"}, false, false);
  size_t given = 0;
  for (int i = 0; i < 60000; ++i) given += stream.push(0).text.size();
  EXPECT_EQ(given, 40000u);
}

TEST(TextStream, RefusesStopStringsThatCouldNeverMatch) {
  const PieceTokenizer tokenizer({"a"});
  const Error empty = error_of([&] { TextStream(tokenizer, {"x", ""}, false, false); });
  EXPECT_EQ(empty.status(), Status::Argument);
  EXPECT_STREQ(empty.what(), "stop_strings[1]: expected at least one byte, found none");
  EXPECT_EQ(error_of([&] { TextStream(tokenizer, {"\xff"}, false, false); }).status(), Status::Argument);
}

TEST(TextStream, AllocatesNothingPerToken) {
  const PieceTokenizer tokenizer({" a piece longer than a short string", "\xf0\x9f", "\x98\x80", "\n"});
  TextStream stream(tokenizer, {"\n\n\n", "###"}, false, false);
  const size_t before = allocation_count();
  for (int32_t i = 0; i < 400; ++i) stream.push(i % 4);
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace rz
