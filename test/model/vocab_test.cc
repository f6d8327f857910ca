#include "model/vocab.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "base/error.h"
#include "text/tokenizer.h"

namespace rz {
namespace {

// Metadata written key by key; keeps what the views point into.
class Keys {
 public:
  Keys &text(const char *key, const char *value) {
    return put(key, {ValueType::String, std::string_view(value)});
  }
  Keys &number(const char *key, uint64_t value) { return put(key, {ValueType::U32, value}); }
  Keys &flag(const char *key, bool value) { return put(key, {ValueType::Bool, value}); }
  Keys &strings(const char *key, const std::vector<std::string> &values) {
    ArrayValue array;
    array.element = ValueType::String;
    array.count = values.size();
    for (const std::string &value : values) array.strings.push_back(texts_.emplace_back(value));
    return put(key, {ValueType::Array, std::move(array)});
  }
  template <class T>
  Keys &scalars(const char *key, ValueType element, const std::vector<T> &values) {
    ArrayValue array;
    array.element = element;
    array.count = values.size();
    array.scalars.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(array.scalars.data(), values.data(), array.scalars.size());
    return put(key, {ValueType::Array, std::move(array)});
  }
  Vocab read() const {
    Metadata metadata;
    for (const auto &[key, value] : entries_) metadata.add(key, value);
    return read_vocab(metadata);
  }

 private:
  Keys &put(const char *key, Value value) {
    std::erase_if(entries_, [&](const auto &entry) { return entry.first == key; });
    entries_.emplace_back(key, std::move(value));
    return *this;
  }
  std::deque<std::string> texts_;
  std::vector<std::pair<std::string, Value>> entries_;
};

std::vector<std::string> many_tokens(size_t n) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back("t" + std::to_string(i));
  return tokens;
}

void write_kind(Keys &keys, const char *model, std::vector<std::string> tokens = many_tokens(200)) {
  keys.text("tokenizer.ggml.model", model).strings("tokenizer.ggml.tokens", tokens);
  if (model == std::string("gpt2")) keys.strings("tokenizer.ggml.merges", {});
}

#define EXPECT_REFUSED(keys, expected_status, part)                                               \
  try {                                                                                           \
    (keys).read();                                                                                \
    ADD_FAILURE() << "read, but expected an error with " << (part);                               \
  } catch (const Error &error) {                                                                  \
    EXPECT_EQ(error.status(), Status::expected_status) << error.what();                           \
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what(); \
  }

TEST(ReadVocab, GivesNoVocabularyWhereTheFileHasNone) {
  EXPECT_EQ(Keys().read().kind, VocabKind::None);
  EXPECT_EQ(Keys().text("tokenizer.ggml.model", "no_vocab").read().kind, VocabKind::None);
}

TEST(ReadVocab, KnowsWhatEachKindLeavesUnsaid) {
  Keys llama, gpt2, bert, t5;
  write_kind(llama, "llama");
  Vocab vocab = llama.read();
  EXPECT_EQ(vocab.kind, VocabKind::Spm);
  EXPECT_EQ((std::vector{vocab.bos, vocab.eos, vocab.unk, vocab.sep, vocab.pad}),
            (std::vector{1, 2, 0, -1, -1}));
  EXPECT_TRUE(vocab.add_bos && !vocab.add_eos && vocab.add_space_prefix);

  write_kind(gpt2, "gpt2");
  vocab = gpt2.read();
  EXPECT_EQ(vocab.kind, VocabKind::Bpe);
  EXPECT_EQ(vocab.pre, "default");
  EXPECT_TRUE(!vocab.add_bos && !vocab.add_eos && !vocab.add_space_prefix);
  EXPECT_TRUE(gpt2.text("tokenizer.ggml.pre", "llama-bpe").read().add_bos);
  EXPECT_FALSE(gpt2.flag("tokenizer.ggml.add_bos_token", false).read().add_bos);

  write_kind(bert, "bert");
  vocab = bert.read();
  EXPECT_EQ(vocab.kind, VocabKind::WordPiece);
  EXPECT_EQ((std::vector{vocab.bos, vocab.eos, vocab.unk, vocab.sep, vocab.pad, vocab.mask}),
            (std::vector{101, -1, 100, 102, 0, 103}));
  EXPECT_TRUE(vocab.add_bos && vocab.add_sep && vocab.lower_case && vocab.strip_accents);
  EXPECT_EQ(bert.number("tokenizer.ggml.cls_token_id", 7).read().bos, 7);

  write_kind(t5, "t5");
  vocab = t5.read();
  EXPECT_EQ(vocab.kind, VocabKind::Unigram);
  EXPECT_EQ((std::vector{vocab.bos, vocab.eos, vocab.unk, vocab.pad}), (std::vector{-1, 1, 2, 0}));
  EXPECT_TRUE(!vocab.add_bos && vocab.add_eos && vocab.add_space_prefix);
}

TEST(ReadVocab, ReadsWhatTheFileSays) {
  Keys keys;
  write_kind(keys, "t5", {"<pad>", "</s>", "<unk>", "▁a"});
  keys.scalars<float>("tokenizer.ggml.scores", ValueType::F32, {0, 0, 0, -1.5f})
      .scalars<int32_t>("tokenizer.ggml.token_type", ValueType::I32, {3, 3, 2, 0})
      .scalars<uint8_t>("tokenizer.ggml.precompiled_charsmap", ValueType::U8, {1, 2, 255})
      .number("tokenizer.ggml.seperator_token_id", 3)
      .flag("tokenizer.ggml.remove_extra_whitespaces", true)
      .flag("tokenizer.ggml.add_space_prefix", false)
      .flag("tokenizer.ggml.add_eos_token", false);
  const Vocab vocab = keys.read();
  EXPECT_EQ(vocab.pieces[3], "▁a");
  EXPECT_EQ(vocab.scores[3], -1.5f);
  EXPECT_EQ(vocab.kinds,
            (std::vector{TokenKind::Control, TokenKind::Control, TokenKind::Unknown, TokenKind::Normal}));
  EXPECT_EQ(vocab.charsmap, "\x01\x02\xff");
  EXPECT_EQ(vocab.sep, 3);
  EXPECT_TRUE(vocab.remove_extra_whitespace && !vocab.add_space_prefix && !vocab.add_eos);
}

TEST(ReadVocab, LeavesDefaultIdsOutOfSmallVocabularies) {
  Keys keys;
  write_kind(keys, "llama", {"<unk>"});
  const Vocab vocab = keys.read();
  EXPECT_EQ((std::vector{vocab.bos, vocab.eos, vocab.unk}), (std::vector{-1, -1, 0}));
  EXPECT_EQ(vocab.kinds[0], TokenKind::Unknown);
}

TEST(ReadVocab, RefusesSpecialIdsPastTheVocabulary) {
  for (const char *name : {"bos", "eos", "unknown", "seperator", "padding", "mask", "cls", "eot", "eom"}) {
    for (const uint64_t id : {200u, 0x7fffffffu, 0xffffffffu}) {
      Keys keys;
      write_kind(keys, "gpt2");
      const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
      keys.number(key.c_str(), id);
      EXPECT_REFUSED(keys, Format, key);
    }
  }
}

TEST(ReadVocab, RefusesListsOfTheWrongLengthOrType) {
  Keys scores, kinds, tokens, merges, map, kind_range, empty;
  for (Keys *keys : {&scores, &kinds, &tokens, &merges, &map, &kind_range}) write_kind(*keys, "gpt2");
  scores.scalars<float>("tokenizer.ggml.scores", ValueType::F32, std::vector<float>(199));
  EXPECT_REFUSED(scores, Format, "tokenizer.ggml.scores: expected 200, one for each token, found 199");
  scores.scalars<int32_t>("tokenizer.ggml.scores", ValueType::I32, std::vector<int32_t>(200));
  EXPECT_REFUSED(scores, Format, "tokenizer.ggml.scores: expected an array of f32, found one of i32");
  kinds.scalars<int32_t>("tokenizer.ggml.token_type", ValueType::I32, std::vector<int32_t>(201, 1));
  EXPECT_REFUSED(kinds, Format, "tokenizer.ggml.token_type: expected 200, one for each token, found 201");
  kinds.strings("tokenizer.ggml.token_type", many_tokens(200));
  EXPECT_REFUSED(kinds, Format, "tokenizer.ggml.token_type: expected an array of i32, found one of string");
  kind_range.scalars<int32_t>("tokenizer.ggml.token_type", ValueType::I32, std::vector<int32_t>(200, 7));
  EXPECT_REFUSED(kind_range, Format, "tokenizer.ggml.token_type[0]: expected 0 to 6, found 7");
  tokens.scalars<int32_t>("tokenizer.ggml.tokens", ValueType::I32, {1, 2});
  EXPECT_REFUSED(tokens, Format, "tokenizer.ggml.tokens: expected an array of strings, found one of i32");
  merges.scalars<int32_t>("tokenizer.ggml.merges", ValueType::I32, {1, 2});
  EXPECT_REFUSED(merges, Format, "tokenizer.ggml.merges: expected an array of strings");
  write_kind(map, "t5");
  map.scalars<uint32_t>("tokenizer.ggml.precompiled_charsmap", ValueType::U32, {1});
  EXPECT_REFUSED(map, Format,
                 "tokenizer.ggml.precompiled_charsmap: expected an array of u8, found one of u32");
  map.scalars<uint8_t>("tokenizer.ggml.precompiled_charsmap", ValueType::U8, {});
  EXPECT_REFUSED(map, Format, "tokenizer.ggml.precompiled_charsmap: expected at least 4 bytes");
  write_kind(empty, "llama", {});
  EXPECT_REFUSED(empty, Format, "tokenizer.ggml.tokens: expected at least one token, found none");
}

TEST(ReadVocab, RefusesAnUnknownKindNamingThoseKnown) {
  Keys keys;
  keys.text("tokenizer.ggml.model", "rwkv");
  EXPECT_REFUSED(keys, Unsupported, "expected one of llama, gpt2, gemma4, bert, t5, found \"rwkv\"");
}

TEST(ReadVocab, NeedsMergesWhereTheyCannotBeToldFromIds) {
  Keys keys;
  keys.text("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a", "b", "ab"});
  EXPECT_REFUSED(keys, Format, "tokenizer.ggml.merges: expected an array of strings, found nothing");
  keys.text("tokenizer.ggml.pre", "kimi-k2");
  EXPECT_TRUE(keys.read().merges.empty());
}

TEST(ReadVocab, FindsTheTokensThatEndAGeneration) {
  Keys keys;
  write_kind(keys, "gpt2", {"a", "<|im_end|>", "<|endoftext|>", "</s>", "x", "y", "<end_of_turn>"});
  keys.number("tokenizer.ggml.eos_token_id", 4).number("tokenizer.ggml.eot_token_id", 5);
  Vocab vocab = keys.read();
  EXPECT_EQ(vocab.end_of_generation,
            (std::vector{1, 2, 4, 5, 6}));  // not "</s>", which is ordinary text here
  for (const int32_t id : vocab.end_of_generation)
    EXPECT_EQ(vocab.kinds[static_cast<size_t>(id)], TokenKind::Control);
  keys.scalars<int32_t>("tokenizer.ggml.token_type", ValueType::I32, {1, 3, 3, 3, 1, 1, 4});
  EXPECT_EQ(keys.read().end_of_generation, (std::vector{1, 2, 3, 4, 5, 6}));
}

TEST(ReadVocab, LetsHarmonysChannelsEndWithoutEndingTheGeneration) {
  Keys keys;
  write_kind(keys, "gpt2", {"<|end|>", "<|return|>", "<|call|>"});
  keys.number("tokenizer.ggml.eos_token_id", 1);
  EXPECT_EQ(keys.read().end_of_generation, (std::vector{1, 2}));
}

TEST(ReadVocab, KnowsByNameWhoseSpecialTokensEatWhiteSpace) {
  Keys keys;
  write_kind(keys, "llama", {"<unk>", "<s>", "</s>", "<|endoftext|>", "<|user|>", "word"});
  keys.scalars<int32_t>("tokenizer.ggml.token_type", ValueType::I32, {2, 3, 4, 3, 3, 1});
  EXPECT_TRUE(keys.read().strips_after.empty());
  EXPECT_EQ(keys.text("general.name", "Phi3").read().strips_after, (std::vector{2, 4}));
  EXPECT_EQ(keys.text("general.name", "Phi-3-mini").read().strips_after, (std::vector{2, 4}));
  Keys jina;
  write_kind(jina, "gpt2", {"a", "<mask>"});
  EXPECT_EQ(jina.text("tokenizer.ggml.pre", "jina-v2-de").read().strips_before, (std::vector{1}));
}

TEST(ReadVocab, KnowsByteTokensByNameWhereTheFileHasNoKinds) {
  Keys keys;
  write_kind(keys, "llama", {"<unk>", "<s>", "</s>", "<0x41>", "b"});
  const auto tokenizer = Tokenizer::create(keys.read());
  std::vector<int32_t> ids;
  tokenizer->encode("Ab", {.add_special = false}, ids);
  EXPECT_EQ(tokenizer->piece(3), "A");
  EXPECT_EQ(ids, (std::vector{0, 3, 4}));  // the space before the text has no token
  EXPECT_TRUE(tokenizer->is_end_of_generation(2));
}

}  // namespace
}  // namespace rz
