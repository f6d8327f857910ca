// What all kinds of vocabulary share: the checks, special tokens found in text, BOS and EOS around it, and
// decoding.
#include "text/tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace rz {

namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581, SentencePiece's visible space

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void check_ids(const char *name, const std::vector<int32_t> &ids, int32_t size) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= size) {
      fail(Status::Format, "%s: expected token ids below %d, found %d", name, size, id);
    }
  }
}

void check_vocab(const Vocab &vocab) {
  if (vocab.pieces.size() > std::numeric_limits<int32_t>::max()) {
    fail(Status::Limit, "tokenizer.ggml.tokens: expected fewer than 2^31 tokens, found %zu",
         vocab.pieces.size());
  }
  const int32_t size = vocab.size();
  if (size == 0 && vocab.kind != VocabKind::None) {
    fail(Status::Format, "tokenizer.ggml.tokens: expected at least one token, found none");
  }
  if (!vocab.scores.empty() && vocab.scores.size() != vocab.pieces.size()) {
    fail(Status::Format, "tokenizer.ggml.scores: expected %d, one for each token, found %zu", size,
         vocab.scores.size());
  }
  if (!vocab.kinds.empty() && vocab.kinds.size() != vocab.pieces.size()) {
    fail(Status::Format, "tokenizer.ggml.token_type: expected %d, one for each token, found %zu", size,
         vocab.kinds.size());
  }
  const std::pair<const char *, int32_t> specials[] = {{"bos", vocab.bos},     {"eos", vocab.eos},
                                                       {"unknown", vocab.unk}, {"seperator", vocab.sep},
                                                       {"padding", vocab.pad}, {"mask", vocab.mask}};
  for (const auto &[name, id] : specials) {
    if (id < -1 || id >= size) {
      fail(Status::Format, "tokenizer.ggml.%s_token_id: expected an id below %d, found %d", name, size, id);
    }
  }
  check_ids("end of generation", vocab.end_of_generation, size);
  check_ids("tokens that strip white space", vocab.strips_before, size);
  check_ids("tokens that strip white space", vocab.strips_after, size);
}

bool contains(const std::vector<int32_t> &ascending, int32_t id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

void replace_all(std::string &text, std::string_view from, std::string_view to) {
  size_t kept = 0, at = 0;
  for (size_t hit; (hit = text.find(from, at)) != std::string::npos; at = hit + from.size()) {
    kept = static_cast<size_t>(std::copy(text.begin() + static_cast<std::ptrdiff_t>(at),
                                         text.begin() + static_cast<std::ptrdiff_t>(hit),
                                         text.begin() + static_cast<std::ptrdiff_t>(kept)) -
                               text.begin());
    std::copy(to.begin(), to.end(), text.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += to.size();
  }
  text.erase(kept, at - kept);
}

// WordPiece forgets where spaces stood; punctuation and contractions are joined again as BERT's decoder does
// it. Each replacement is shorter than what it replaces, as replace_all() needs.
void join_punctuation(std::string &text) {
  const std::pair<const char *, const char *> joins[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[from, to] : joins) replace_all(text, from, to);
}

// A model without a vocabulary: it speaks in token ids.
class NoTokenizer final : public Tokenizer {
 public:
  explicit NoTokenizer(Vocab vocab) : Tokenizer(std::move(vocab)) {}

 private:
  void encode_text(std::string_view, std::vector<int32_t> &) const override {
    fail(Status::Unsupported, "text: this model has no vocabulary, it takes token ids only");
  }
};

}  // namespace

Tokenizer::Tokenizer(Vocab vocab) : vocab_(std::move(vocab)), index_(vocab_.pieces) {
  byte_ids_.fill(-1);
  raw_begin_.reserve(vocab_.pieces.size() + 1);
  raw_begin_.push_back(0);
  size_t bytes = 0;
  for (const std::string_view piece : vocab_.pieces) bytes += piece.size();
  if (bytes > std::numeric_limits<uint32_t>::max()) {
    fail(Status::Limit, "tokenizer.ggml.tokens: expected pieces of less than 2^32 bytes, found %zu", bytes);
  }
  raw_text_.reserve(bytes);

  std::vector<std::pair<std::string_view, int32_t>> specials;
  for (int32_t id = 0; id < vocab_.size(); ++id) {
    if (is_control(id) || kind_of(id) == TokenKind::UserDefined) {
      specials.emplace_back(vocab_.pieces[static_cast<size_t>(id)], id);
    }
  }
  specials_ = Trie(std::move(specials));
}

std::unique_ptr<Tokenizer> Tokenizer::create(Vocab vocab) {
  check_vocab(vocab);
  switch (vocab.kind) {
    case VocabKind::Spm:
      return make_spm_tokenizer(std::move(vocab));
    case VocabKind::Bpe:
      return make_bpe_tokenizer(std::move(vocab));
    case VocabKind::WordPiece:
      return make_wordpiece_tokenizer(std::move(vocab));
    case VocabKind::Unigram:
      return make_unigram_tokenizer(std::move(vocab));
    case VocabKind::None:
      break;
  }
  return std::make_unique<NoTokenizer>(std::move(vocab));
}

void Tokenizer::encode(std::string_view text, EncodeOptions options, std::vector<int32_t> &out) const {
  if (text.size() > std::numeric_limits<int32_t>::max()) {
    fail(Status::Limit, "text: expected fewer than 2^31 bytes, found %zu", text.size());
  }
  if (options.add_special && vocab_.add_bos && vocab_.bos >= 0) out.push_back(vocab_.bos);
  for (size_t at = 0; at < text.size();) {
    const Special special = next_special(text, at, options.parse_special);
    std::string_view before = text.substr(at, special.begin - at);
    if (special.id >= 0 && contains(vocab_.strips_before, special.id)) {
      while (!before.empty() && is_ascii_space(before.back())) before.remove_suffix(1);
    }
    if (!before.empty()) encode_text(before, out);
    if (special.id < 0) break;
    out.push_back(special.id);
    at = special.begin + special.length;
    if (contains(vocab_.strips_after, special.id)) {
      while (at < text.size() && is_ascii_space(text[at])) ++at;
    }
  }
  if (!options.add_special) return;
  if (vocab_.add_eos && vocab_.eos >= 0) out.push_back(vocab_.eos);
  if (vocab_.kind == VocabKind::WordPiece && vocab_.add_sep && vocab_.sep >= 0) out.push_back(vocab_.sep);
}

// The leftmost special token from `from` on, and of those beginning there the longest.
Tokenizer::Special Tokenizer::next_special(std::string_view text, size_t from, bool parse_control) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (!specials_.begins(text[at])) continue;
    Special found{at, 0, -1};
    specials_.prefixes(text, at, [&](size_t length, int32_t id) {
      if (parse_control || kind_of(id) == TokenKind::UserDefined) found = {at, length, id};
    });
    if (found.id >= 0) return found;
  }
  return {text.size(), 0, -1};
}

void Tokenizer::decode(const int32_t *tokens, size_t n_tokens, bool special, bool strip_leading_space,
                       std::string &out) const {
  if (vocab_.kind == VocabKind::None && n_tokens > 0) {
    fail(Status::Unsupported, "token %d: this model has no vocabulary, its tokens have no text", tokens[0]);
  }
  std::string text;
  bool first = true;
  for (size_t i = 0; i < n_tokens; ++i) {
    const int32_t token = tokens[i];
    if (token < 0 || token >= vocab_.size()) {
      fail(Status::Argument, "tokens[%zu]: expected an id of 0 to %d, found %d", i, vocab_.size() - 1, token);
    }
    if (is_control(token) && !special) continue;
    std::string_view bytes = piece(token);
    // The name of a WordPiece control token stands as a word of its own.
    if (vocab_.kind == VocabKind::WordPiece && is_control(token) && !first) text += ' ';
    // A user-defined token is never given the space that encoding adds: one at its front is its own.
    if (first && strip_leading_space && decode_strips_space_ && kind_of(token) != TokenKind::UserDefined &&
        bytes.starts_with(' ')) {
      bytes.remove_prefix(1);
    }
    text += bytes;
    first = false;
  }
  if (vocab_.kind == VocabKind::WordPiece) join_punctuation(text);
  out += text;
}

std::string_view Tokenizer::piece(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) + 1 >= raw_begin_.size()) return {};
  const uint32_t begin = raw_begin_[static_cast<size_t>(token)];
  return std::string_view(raw_text_).substr(begin, raw_begin_[static_cast<size_t>(token) + 1] - begin);
}

bool Tokenizer::is_control(int32_t token) const {
  if (token < 0 || token >= vocab_.size()) return false;
  return kind_of(token) == TokenKind::Control || kind_of(token) == TokenKind::Unknown;
}

bool Tokenizer::is_end_of_generation(int32_t token) const {
  return contains(vocab_.end_of_generation, token);
}

void Tokenizer::add_raw_piece(std::string_view bytes) {
  raw_text_ += bytes;
  raw_begin_.push_back(static_cast<uint32_t>(raw_text_.size()));
}

void Tokenizer::add_sentencepiece_pieces() {
  std::string text;
  for (int32_t id = 0; id < vocab_.size(); ++id) {
    const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
    const TokenKind kind = kind_of(id);
    text.clear();
    if (kind == TokenKind::Byte || (vocab_.kinds.empty() && byte_of_piece(piece) >= 0)) {
      text.push_back(static_cast<char>(byte_of_piece(piece)));
    } else if (kind == TokenKind::Normal || kind == TokenKind::Unused) {
      append_unescaped(piece, text);
    } else {
      text = piece;
    }
    add_raw_piece(text);
  }
}

void Tokenizer::find_byte_tokens() {
  for (int32_t id = 0; id < vocab_.size(); ++id) {
    const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
    const bool named = kind_of(id) == TokenKind::Byte;
    if (!named && !vocab_.kinds.empty()) continue;
    const int byte = byte_of_piece(piece);
    if (byte >= 0) byte_ids_[static_cast<size_t>(byte)] = id;
    if (named && byte < 0) {
      fail(Status::Format,
           "tokenizer.ggml.tokens[%d]: expected a byte token \"<0x00>\" to \"<0xFF>\", found \"%.*s\"", id,
           static_cast<int>(std::min<size_t>(piece.size(), 64)), piece.data());
    }
  }
}

void Tokenizer::append_unknown(std::string_view bytes, std::vector<int32_t> &out) const {
  const size_t before = out.size();
  for (const char c : bytes) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) {
      out.push_back(id);
      continue;
    }
    if (vocab_.unk < 0) {
      fail(Status::Format, "text: the vocabulary has neither a token for byte 0x%02x nor an unknown token",
           static_cast<unsigned>(static_cast<uint8_t>(c)));
    }
    out.resize(before);
    out.push_back(vocab_.unk);
    return;
  }
}

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int byte = 0;
  for (const char c : piece.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

void append_unescaped(std::string_view text, std::string &out) {
  for (size_t at = 0; at < text.size();) {
    const size_t mark = std::min(text.find(kSpaceMark, at), text.size());
    out += text.substr(at, mark - at);
    if (mark < text.size()) out += ' ';
    at = mark + kSpaceMark.size();
  }
}

void append_escaped(std::string_view text, std::string &out) {
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    out += text.substr(at, space - at);
    if (space < text.size()) out += kSpaceMark;
    at = space + 1;
  }
}

}  // namespace rz
