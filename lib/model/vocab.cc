// The keys of tokenizer.ggml.* in the order they build on each other: pieces first, since every count and id
// is checked against them.
#include "model/vocab.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"

namespace rz {

namespace {

constexpr int32_t kNoToken = -1;

// What a kind of vocabulary means where the file is silent: the special ids of the models it was made for.
struct Defaults {
  const char *model;  // tokenizer.ggml.model
  VocabKind kind;
  int32_t bos, eos, unk, sep, pad, mask;
  bool add_bos, add_eos, add_sep, add_space_prefix;
  const char *pre;
};
constexpr Defaults kKinds[] = {
    {"llama", VocabKind::Spm, 1, 2, 0, -1, -1, -1, true, false, false, true, ""},
    {"gpt2", VocabKind::Bpe, 11, 11, -1, -1, -1, -1, false, false, false, false, "default"},
    {"gemma4", VocabKind::Bpe, -1, -1, -1, -1, -1, -1, true, false, false, false, "gemma4"},
    {"bert", VocabKind::WordPiece, 101, -1, 100, 102, 0, 103, true, false, true, false, ""},
    {"t5", VocabKind::Unigram, -1, 1, 2, -1, 0, -1, false, true, false, true, ""},
};

// Texts of tokens that end a turn, a message or a file whatever the metadata calls them.
constexpr std::string_view kEndNames[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<turn|>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]",
    "[EOS]", "<eos>", "<end_of_utterance>", "<|EOT|>", "<｜end▁of▁sentence｜>",
    // The marks between the files of a repository: a completion that reaches one is over.
    "<|fim_pad|>", "<fim-pad>", "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<|file_sep|>"};

const Defaults &kind_named(std::string_view model) {
  std::string known;
  for (const Defaults &kind : kKinds) {
    if (model == kind.model) return kind;
    known += known.empty() ? "" : ", ";
    known += kind.model;
  }
  fail(Status::Unsupported, "tokenizer.ggml.model: expected one of %s, found \"%.*s\"", known.c_str(),
       static_cast<int>(std::min<size_t>(model.size(), 64)), model.data());
}

const std::vector<std::string_view> &strings(const ArrayValue &array, const char *key) {
  if (array.element != ValueType::String) {
    fail(Status::Format, "%s: expected an array of strings, found one of %s", key,
         value_type_name(array.element));
  }
  return array.strings;
}

void check_count(const ArrayValue &array, const Vocab &vocab, const char *key) {
  if (array.count != vocab.pieces.size()) {
    fail(Status::Format, "%s: expected %d, one for each token, found %llu", key, vocab.size(),
         static_cast<unsigned long long>(array.count));
  }
}

void read_scores(const Metadata &metadata, Vocab &vocab) {
  constexpr char kKey[] = "tokenizer.ggml.scores";
  const ArrayValue *scores = metadata.find_array(kKey);
  if (!scores) return;
  if (scores->element != ValueType::F32 && scores->element != ValueType::F64) {
    fail(Status::Format, "%s: expected an array of f32, found one of %s", kKey,
         value_type_name(scores->element));
  }
  check_count(*scores, vocab, kKey);
  vocab.scores.resize(vocab.pieces.size());
  for (size_t i = 0; i < vocab.scores.size(); ++i) vocab.scores[i] = static_cast<float>(scores->number(i));
}

// A file without kinds leaves byte tokens to be known by their names.
void guess_kinds(Vocab &vocab) {
  if (vocab.kind != VocabKind::Spm && vocab.kind != VocabKind::Unigram) return;
  for (size_t i = 0; i < vocab.kinds.size(); ++i) {
    if (byte_of_piece(vocab.pieces[i]) >= 0) vocab.kinds[i] = TokenKind::Byte;
  }
}

void read_kinds(const Metadata &metadata, Vocab &vocab) {
  constexpr char kKey[] = "tokenizer.ggml.token_type";
  vocab.kinds.assign(vocab.pieces.size(), TokenKind::Normal);
  const ArrayValue *kinds = metadata.find_array(kKey);
  if (!kinds) return guess_kinds(vocab);
  const bool integers = kinds->element != ValueType::F32 && kinds->element != ValueType::F64 &&
                        kinds->element != ValueType::String && kinds->element != ValueType::Array &&
                        kinds->element != ValueType::Bool;
  if (!integers) {
    fail(Status::Format, "%s: expected an array of i32, found one of %s", kKey,
         value_type_name(kinds->element));
  }
  check_count(*kinds, vocab, kKey);
  for (size_t i = 0; i < vocab.kinds.size(); ++i) {
    const int64_t kind = kinds->integer(i);
    if (kind < 0 || kind > 6) {
      fail(Status::Format, "%s[%zu]: expected 0 to 6, found %lld", kKey, i, static_cast<long long>(kind));
    }
    if (kind > 0) vocab.kinds[i] = static_cast<TokenKind>(kind);  // 0: undefined, an ordinary token
  }
}

void read_merges(const Metadata &metadata, Vocab &vocab) {
  constexpr char kKey[] = "tokenizer.ggml.merges";
  const ArrayValue *merges = metadata.find_array(kKey);
  const PretokenizerInfo *pre = find_pretokenizer(vocab.pre);
  if (merges) {
    vocab.merges = strings(*merges, kKey);
  } else if (!pre || !pre->merges_by_id) {
    fail(Status::Format, "%s: expected an array of strings, found nothing", kKey);
  }
}

void read_charsmap(const Metadata &metadata, Vocab &vocab) {
  constexpr char kKey[] = "tokenizer.ggml.precompiled_charsmap";
  const ArrayValue *map = metadata.find_array(kKey);
  if (!map) return;
  if (map->element != ValueType::U8 && map->element != ValueType::I8) {
    fail(Status::Format, "%s: expected an array of u8, found one of %s", kKey, value_type_name(map->element));
  }
  if (map->count == 0) fail(Status::Format, "%s: expected at least 4 bytes, found 0", kKey);
  vocab.charsmap = map->scalars;
}

// An id the file names; where it does not, the kind's own, if the vocabulary is large enough to have it.
int32_t read_id(const Metadata &metadata, const char *key, const Vocab &vocab, int32_t absent) {
  if (absent >= vocab.size()) absent = kNoToken;
  return static_cast<int32_t>(metadata.integer_or(key, 0, vocab.size() - 1, absent));
}

void read_special_ids(const Metadata &metadata, const Defaults &kind, Vocab &vocab) {
  const int32_t cls = read_id(metadata, "tokenizer.ggml.cls_token_id", vocab, kind.bos);
  vocab.bos = read_id(metadata, "tokenizer.ggml.bos_token_id", vocab,
                      kind.kind == VocabKind::WordPiece ? cls : kind.bos);
  vocab.eos = read_id(metadata, "tokenizer.ggml.eos_token_id", vocab, kind.eos);
  vocab.unk = read_id(metadata, "tokenizer.ggml.unknown_token_id", vocab, kind.unk);
  // The key's spelling is GGUF's.
  vocab.sep = read_id(metadata, "tokenizer.ggml.seperator_token_id", vocab, kind.sep);
  vocab.pad = read_id(metadata, "tokenizer.ggml.padding_token_id", vocab, kind.pad);
  vocab.mask = read_id(metadata, "tokenizer.ggml.mask_token_id", vocab, kind.mask);
  if (metadata.find("tokenizer.ggml.token_type")) return;
  for (const int32_t id : {vocab.bos, vocab.eos, vocab.sep, vocab.pad, vocab.mask}) {
    if (id != kNoToken) vocab.kinds[static_cast<size_t>(id)] = TokenKind::Control;
  }
  if (vocab.unk != kNoToken) vocab.kinds[static_cast<size_t>(vocab.unk)] = TokenKind::Unknown;
}

void read_switches(const Metadata &metadata, const Defaults &kind, Vocab &vocab) {
  const PretokenizerInfo *pre = kind.kind == VocabKind::Bpe ? find_pretokenizer(vocab.pre) : nullptr;
  vocab.add_bos = metadata.boolean_or("tokenizer.ggml.add_bos_token", kind.add_bos || (pre && pre->add_bos));
  vocab.add_eos = metadata.boolean_or("tokenizer.ggml.add_eos_token", kind.add_eos);
  vocab.add_sep = metadata.boolean_or("tokenizer.ggml.add_sep_token", kind.add_sep);
  vocab.add_space_prefix = metadata.boolean_or("tokenizer.ggml.add_space_prefix", kind.add_space_prefix);
  vocab.remove_extra_whitespace = metadata.boolean_or("tokenizer.ggml.remove_extra_whitespaces", false);
  vocab.lower_case = metadata.boolean_or("tokenizer.ggml.normalizer.lowercase", true);
  vocab.strip_accents = metadata.boolean_or("tokenizer.ggml.normalizer.strip_accents", vocab.lower_case);
}

int32_t token_named(const Vocab &vocab, std::string_view name) {
  const auto found = std::find(vocab.pieces.begin(), vocab.pieces.end(), name);
  return found == vocab.pieces.end() ? kNoToken : static_cast<int32_t>(found - vocab.pieces.begin());
}

// Tokens at which generation ends; they become control tokens whatever the file calls them, so that their
// text is not handed out.
void find_ends(const Metadata &metadata, Vocab &vocab) {
  auto &ends = vocab.end_of_generation;
  const auto add = [&](int32_t id) {
    if (id != kNoToken) ends.push_back(id);
  };
  add(vocab.eos);
  for (const char *key :
       {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id", "tokenizer.ggml.fim_pad_token_id",
        "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"}) {
    add(read_id(metadata, key, vocab, kNoToken));
  }
  for (int32_t id = 0; id < vocab.size(); ++id) {
    const std::string_view piece = vocab.pieces[static_cast<size_t>(id)];
    if (piece.empty() || (piece[0] != '<' && piece[0] != '[' && piece[0] != '_')) continue;
    const bool named = std::find(std::begin(kEndNames), std::end(kEndNames), piece) != std::end(kEndNames);
    // An HTML tag to many vocabularies: it ends a text only where the file says that it is a control token.
    if (named || (piece == "</s>" && vocab.kinds[static_cast<size_t>(id)] == TokenKind::Control)) add(id);
  }
  // In the harmony format <|end|> only closes a channel; the answer goes on after it.
  if (token_named(vocab, "<|return|>") != kNoToken && token_named(vocab, "<|call|>") != kNoToken) {
    std::erase(ends, token_named(vocab, "<|end|>"));
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const int32_t id : ends) vocab.kinds[static_cast<size_t>(id)] = TokenKind::Control;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char &c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return result;
}

// GGUF has no key for special tokens that eat white space around them, so the models that need it are known
// by name.
void find_stripping(const Metadata &metadata, Vocab &vocab) {
  const std::string name = lower(metadata.string_or("general.name", ""));
  if (vocab.kind == VocabKind::Bpe && vocab.pre.starts_with("jina-v2-")) {
    const int32_t mask = token_named(vocab, "<mask>");
    if (mask != kNoToken) vocab.strips_before.push_back(mask);
  } else if (vocab.kind == VocabKind::Bpe && vocab.pre == "modern-bert") {
    const int32_t mask = token_named(vocab, "[MASK]");
    if (mask != kNoToken) vocab.strips_before.push_back(mask);
  } else if (vocab.kind == VocabKind::Spm &&
             (name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos)) {
    for (int32_t id = 0; id < vocab.size(); ++id) {
      const TokenKind kind = vocab.kinds[static_cast<size_t>(id)];
      const std::string_view piece = vocab.pieces[static_cast<size_t>(id)];
      const bool keeps = piece == "<unk>" || piece == "<s>" || piece == "<|endoftext|>";
      if (!keeps &&
          (kind == TokenKind::Control || kind == TokenKind::UserDefined || kind == TokenKind::Unknown)) {
        vocab.strips_after.push_back(id);
      }
    }
  }
}

}  // namespace

Vocab read_vocab(const Metadata &metadata) {
  Vocab vocab;
  const std::string_view model = metadata.string_or("tokenizer.ggml.model", "no_vocab");
  if (model == "no_vocab" || model == "none") return vocab;
  const Defaults &kind = kind_named(model);
  vocab.kind = kind.kind;
  vocab.pieces = strings(metadata.array("tokenizer.ggml.tokens"), "tokenizer.ggml.tokens");
  if (vocab.pieces.empty()) {
    fail(Status::Format, "tokenizer.ggml.tokens: expected at least one token, found none");
  }
  if (vocab.pieces.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(Status::Limit, "tokenizer.ggml.tokens: expected fewer than 2^31 tokens, found %zu",
         vocab.pieces.size());
  }
  read_scores(metadata, vocab);
  read_kinds(metadata, vocab);
  if (kind.kind == VocabKind::Bpe) {
    vocab.pre = metadata.string_or("tokenizer.ggml.pre", kind.pre);
    read_merges(metadata, vocab);
  }
  if (kind.kind == VocabKind::Unigram) read_charsmap(metadata, vocab);
  read_special_ids(metadata, kind, vocab);
  read_switches(metadata, kind, vocab);
  find_ends(metadata, vocab);
  find_stripping(metadata, vocab);
  return vocab;
}

}  // namespace rz
