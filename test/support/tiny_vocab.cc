// Vocabularies grown from a list of words: each word is spelled by merging its letters left to right, and
// every step of that is a token, until there are as many tokens as asked for.
#include "support/tiny_vocab.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "base/utf8.h"

namespace rz::test {
namespace {

constexpr const char *kWords[] = {
    " the",   " and",   " a",       " to",     " he",      " she",    " was",    " it",    " in",
    " of",    " said",  " day",     " little", " once",    " upon",   " time",   " there", " they",
    " with",  " very",  " happy",   " big",    " ball",    " play",   " friend", " house", " garden",
    " river", " stone", " light",   " night",  " morning", "ing",     "ed",      "er",     "est",
    " under", " over",  " because", " looked", " found",   " wanted", " would",  " could"};

constexpr const char *kBlank = "\xe2\x96\x81";  // U+2581, SentencePiece's space

// What is added per word: pairs (left, right), each piece of them known before.
struct Step {
  std::string left, right;
};

std::vector<Step> steps_of(const std::vector<std::string> &letters) {
  std::vector<Step> steps;
  std::string left = letters[0];
  for (size_t i = 1; i < letters.size(); ++i) {
    steps.push_back({left, letters[i]});
    left += letters[i];
  }
  return steps;
}

// The first `n` new pieces that the words lead to, in the order in which merges may use them.
std::vector<Step> grow(int32_t n, std::string (*letter_of)(char)) {
  std::vector<Step> grown;
  std::unordered_set<std::string> known;
  for (const char *word : kWords) {
    std::vector<std::string> letters;
    for (const char *c = word; *c; ++c) letters.push_back(letter_of(*c));
    for (Step &step : steps_of(letters)) {
      if (static_cast<int32_t>(grown.size()) == n) return grown;
      if (known.insert(step.left + step.right).second) grown.push_back(std::move(step));
    }
  }
  return grown;
}

// GPT-2's way to write any byte as a visible character: printable Latin-1 as itself, the rest from U+0100 on.
std::string byte_letter(char c) {
  static const auto table = [] {
    std::vector<std::string> letters(256);
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      utf8_append(letters[b], visible ? b : next++);
    }
    return letters;
  }();
  return table[static_cast<unsigned char>(c)];
}

std::string spm_letter(char c) { return c == ' ' ? kBlank : std::string(1, c); }

void check_size(int32_t n_tokens) {
  if (n_tokens < 300) throw std::runtime_error("a tiny vocabulary has at least 300 tokens");
}

}  // namespace

void add_spm_vocab(TinyFile &file, int32_t n_tokens) {
  check_size(n_tokens);
  constexpr int32_t kUnknown = 2, kControl = 3, kByte = 6, kNormal = 1, kUnused = 5;
  std::vector<std::string> pieces = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> kinds = {kUnknown, kControl, kControl};
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    pieces.push_back(name);
    kinds.push_back(kByte);
  }
  std::vector<float> scores(pieces.size(), 0);
  float score = 0;
  auto add = [&](std::string piece, int32_t kind) {
    pieces.push_back(std::move(piece));
    kinds.push_back(kind);
    scores.push_back(score--);
  };
  for (const Step &step : grow(n_tokens - static_cast<int32_t>(pieces.size()) - 28, spm_letter)) {
    add(step.left + step.right, kNormal);
  }
  add(kBlank, kNormal);
  for (char c = 'a'; c <= 'z'; ++c) add(std::string(1, c), kNormal);
  add(".", kNormal);
  while (static_cast<int32_t>(pieces.size()) < n_tokens) {
    add("<unused" + std::to_string(pieces.size()) + ">", kUnused);
  }
  file.set("tokenizer.ggml.model", std::string("llama"));
  file.set("tokenizer.ggml.tokens", std::move(pieces));
  file.set("tokenizer.ggml.scores", std::move(scores));
  file.set("tokenizer.ggml.token_type", std::move(kinds));
  file.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  file.set("tokenizer.ggml.eos_token_id", uint32_t{2});
  file.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
}

void add_bpe_vocab(TinyFile &file, int32_t n_tokens) {
  check_size(n_tokens);
  constexpr int32_t kNormal = 1, kControl = 3, kUnused = 5;
  std::vector<std::string> pieces, merges;
  for (int b = 0; b < 256; ++b) pieces.push_back(byte_letter(static_cast<char>(b)));
  for (const Step &step : grow(n_tokens - 257, byte_letter)) {
    merges.push_back(step.left + " " + step.right);
    pieces.push_back(step.left + step.right);
  }
  std::vector<int32_t> kinds(pieces.size(), kNormal);
  while (static_cast<int32_t>(pieces.size()) < n_tokens - 1) {
    pieces.push_back("<|unused" + std::to_string(pieces.size()) + "|>");
    kinds.push_back(kUnused);
  }
  pieces.push_back("<|endoftext|>");
  kinds.push_back(kControl);
  const auto last = static_cast<uint32_t>(n_tokens - 1);
  file.set("tokenizer.ggml.model", std::string("gpt2"));
  file.set("tokenizer.ggml.pre", std::string("gpt-2"));
  file.set("tokenizer.ggml.tokens", std::move(pieces));
  file.set("tokenizer.ggml.token_type", std::move(kinds));
  file.set("tokenizer.ggml.merges", std::move(merges));
  file.set("tokenizer.ggml.bos_token_id", last);
  file.set("tokenizer.ggml.eos_token_id", last);
}

}  // namespace rz::test
