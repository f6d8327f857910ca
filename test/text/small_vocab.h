// Vocabularies small enough to work out by hand. The Vocab's views point into this object: keep it, or
// a copy of it, while the tokenizer lives.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace rz::test {

using Ids = std::vector<int32_t>;

class SmallVocab {
 public:
  Vocab vocab;

  explicit SmallVocab(VocabKind kind) { vocab.kind = kind; }

  int32_t add(std::string piece, float score = 0.0f, TokenKind kind = TokenKind::Normal) {
    vocab.pieces.push_back(texts_->emplace_back(std::move(piece)));
    vocab.scores.push_back(score);
    vocab.kinds.push_back(kind);
    return vocab.size() - 1;
  }
  int32_t add(std::string piece, TokenKind kind) { return add(std::move(piece), 0.0f, kind); }

  // <0x00> to <0xFF>; returns the first id.
  int32_t add_byte_tokens() {
    const int32_t first = vocab.size();
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      add(name, TokenKind::Byte);
    }
    return first;
  }

  // The 256 characters that byte-level BPE writes bytes with, in byte order; returns the first id.
  int32_t add_byte_alphabet() {
    const int32_t first = vocab.size();
    for (int byte = 0; byte < 256; ++byte) add(as_stored(std::string(1, static_cast<char>(byte))));
    return first;
  }

  // A rule and the token it makes; bytes, not their stored form.
  int32_t add_merge(const std::string &left, const std::string &right) {
    vocab.merges.push_back(texts_->emplace_back(as_stored(left) + " " + as_stored(right)));
    return add(as_stored(left + right));
  }
  void add_rule(std::string rule) { vocab.merges.push_back(texts_->emplace_back(std::move(rule))); }

  std::unique_ptr<Tokenizer> tokenizer() const { return Tokenizer::create(vocab); }

  static std::string as_stored(const std::string &bytes) {
    std::string stored;
    for (const char c : bytes) {
      const auto byte = static_cast<uint32_t>(static_cast<uint8_t>(c));
      uint32_t code_point =
          byte;  // GPT-2's rule, written as it is told: the unprintable ones in order from 256
      if (byte <= 32) code_point = 256 + byte;
      if (byte >= 127 && byte <= 160) code_point = 256 + 33 + byte - 127;
      if (byte == 173) code_point = 256 + 67;
      utf8_append(stored, code_point);
    }
    return stored;
  }

 private:
  std::shared_ptr<std::deque<std::string>> texts_ =
      std::make_shared<std::deque<std::string>>();  // copies share it
};

inline Ids encode(const Tokenizer &tokenizer, std::string_view text,
                  EncodeOptions options = {.add_special = false}) {
  Ids ids;
  tokenizer.encode(text, options, ids);
  return ids;
}

inline std::string decode(const Tokenizer &tokenizer, const Ids &ids, bool special = false,
                          bool strip = true) {
  std::string text;
  tokenizer.decode(ids.data(), ids.size(), special, strip, text);
  return text;
}

// Characters of `alphabet`, or any bytes where it is empty.
inline std::string random_text(std::mt19937 &random, size_t size, std::string_view alphabet) {
  std::string text(size, '\0');
  for (char &c : text) {
    c = alphabet.empty() ? static_cast<char>(random() & 0xff) : alphabet[random() % alphabet.size()];
  }
  return text;
}

// The status and message of the Error that `action` throws; Ok where it throws none.
template <class Action>
Error error_of(const Action &action) {
  try {
    action();
  } catch (const Error &error) {
    return error;
  }
  return Error(Status::Ok, "");
}

}  // namespace rz::test

// `action` throws Error with this status and a message that has all of `part` in it.
#define EXPECT_ERROR(action, expected_status, part)                                                 \
  do {                                                                                              \
    const rz::Error caught = rz::test::error_of([&] { (void)(action); });                           \
    EXPECT_EQ(caught.status(), rz::Status::expected_status) << caught.what();                       \
    EXPECT_NE(std::string_view(caught.what()).find(part), std::string_view::npos) << caught.what(); \
  } while (false)
