// Byte-level BPE: pretokenized pieces are merged from bytes by the rank of the merge rules. In files every
// byte of a piece is written as a printable character; here merging works on token ids, so that text is never
// written that way except to look up a whole piece.
#include <array>
#include <bit>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"
#include "text/merge.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"

namespace rz {

namespace {

// GPT-2's alphabet: printable Latin-1 stands for itself, the other 68 bytes follow from U+0100 on in byte
// order.
struct ByteAlphabet {
  std::array<uint32_t, 256> code_points{};
  std::array<int, 324> bytes{};  // of a code point, -1 where it is no byte

  constexpr ByteAlphabet() {
    bytes.fill(-1);
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      code_points[byte] = printable ? byte : next++;
      bytes[code_points[byte]] = static_cast<int>(byte);
    }
  }
};
constexpr ByteAlphabet kAlphabet;

void append_as_stored(std::string_view bytes, std::string &out) {
  for (const char c : bytes) utf8_append(out, kAlphabet.code_points[static_cast<uint8_t>(c)]);
}

// Characters outside the alphabet stay as they are: such a piece was never made from bytes.
void append_as_bytes(std::string_view stored, std::string &out) {
  for (size_t at = 0; at < stored.size();) {
    const size_t begin = at;
    const uint32_t code_point = utf8_next(stored, at);
    const int byte = code_point < kAlphabet.bytes.size() ? kAlphabet.bytes[code_point] : -1;
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
    } else {
      out += stored.substr(begin, at - begin);
    }
  }
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
bool never_in_utf8(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte == 0xc0 || byte == 0xc1 || byte >= 0xf5;
}

// From a pair of symbols to the rank of its rule and the symbol it makes.
class MergeTable {
 public:
  void reserve(size_t n_rules) {
    slots_.assign(std::bit_ceil(std::max<size_t>(16, n_rules + n_rules / 2)), Slot{});
    shift_ = 64 - std::countr_zero(slots_.size());
  }
  // The first rule for a pair is the one that counts.
  void add(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
    Slot &slot = slots_[place(left, right)];
    if (slot.rank == kNoRank) slot = {left, right, rank, merged};
  }
  uint32_t find(int32_t left, int32_t right, int32_t &merged) const {
    const Slot &slot = slots_[place(left, right)];
    merged = slot.merged;
    return slot.rank;
  }

 private:
  struct Slot {
    int32_t left = -1, right = -1;
    uint32_t rank = kNoRank;
    int32_t merged = -1;
  };
  size_t place(int32_t left, int32_t right) const {
    const uint64_t key =
        static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    const uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio
    size_t at = mixed >> shift_;
    while (slots_[at].rank != kNoRank && !(slots_[at].left == left && slots_[at].right == right)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  int shift_ = 0;
};

const PretokenizerInfo &known_pretokenizer(const std::string &name) {
  const PretokenizerInfo *info = find_pretokenizer(name.empty() ? "default" : name);
  if (!info) {
    fail(Status::Unsupported,
         "tokenizer.ggml.pre: expected one of the %zu pre-tokenizers known here, found \"%.64s\"",
         pretokenizers().size(), name.c_str());
  }
  return *info;
}

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(Vocab vocab)
      : Tokenizer(std::move(vocab)), info_(known_pretokenizer(vocab_.pre)), pretokenizer_(info_) {
    if (info_.byte_level) {
      find_alphabet();
    } else {
      find_byte_tokens();
    }
    add_raw_pieces();
    for (const std::string_view piece : vocab_.pieces) longest_ = std::max(longest_, piece.size());
    if (info_.merges_by_id && vocab_.merges.empty()) {
      rank_by_id();
    } else {
      read_merges();
    }
    MergeWork work;
    if (info_.byte_level && has_bytes(kReplacement)) encode_piece(kReplacement, work, replacement_);
  }

 private:
  void find_alphabet() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      std::string character;
      utf8_append(character, kAlphabet.code_points[byte]);
      byte_ids_[byte] = find(character);
    }
  }

  void add_raw_pieces() {
    if (!info_.byte_level) return add_sentencepiece_pieces();
    std::string text;
    for (int32_t id = 0; id < vocab_.size(); ++id) {
      const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
      text.clear();
      if (is_control(id) || kind_of(id) == TokenKind::UserDefined) {
        text = piece;
      } else {
        append_as_bytes(piece, text);
      }
      add_raw_piece(text);
    }
  }

  // A rule may name a symbol that is no token, as a step on the way to one; such symbols get ids past the
  // tokens'.
  int32_t symbol_of(std::string_view stored) {
    const int32_t id = find(stored);
    if (id >= 0) return id;
    const auto next = static_cast<int32_t>(vocab_.pieces.size() + steps_.size());
    return steps_.try_emplace(std::string(stored), next).first->second;
  }

  void read_merges() {
    merges_.reserve(vocab_.merges.size());
    std::string joined;
    for (size_t rank = 0; rank < vocab_.merges.size(); ++rank) {
      const std::string_view rule = vocab_.merges[rank];
      const size_t space = rule.find(' ', 1);  // a symbol may begin with a space, but is never empty
      if (space == std::string_view::npos || space + 1 == rule.size()) {
        fail(Status::Format, "tokenizer.ggml.merges[%zu]: expected \"a b\", found \"%.*s\"", rank,
             static_cast<int>(std::min<size_t>(rule.size(), 64)), rule.data());
      }
      const std::string_view left = rule.substr(0, space), right = rule.substr(space + 1);
      joined.assign(left).append(right);
      merges_.add(symbol_of(left), symbol_of(right), static_cast<uint32_t>(rank), symbol_of(joined));
    }
  }

  // Where ids follow the order of merging, every way to put a token together from two others is a rule.
  void rank_by_id() {
    struct Rule {
      int32_t left, right, id;
    };
    std::vector<Rule> rules;
    for (int32_t id = 0; id < vocab_.size(); ++id) {
      const std::string_view piece = vocab_.pieces[static_cast<size_t>(id)];
      if (kind_of(id) != TokenKind::Normal || piece.empty()) continue;
      size_t cut = 0;
      for (utf8_next(piece, cut); cut < piece.size(); utf8_next(piece, cut)) {
        const int32_t left = find(piece.substr(0, cut)), right = find(piece.substr(cut));
        if (left >= 0 && right >= 0) rules.push_back({left, right, id});
      }
    }
    merges_.reserve(rules.size());
    for (const Rule &rule : rules)
      merges_.add(rule.left, rule.right, static_cast<uint32_t>(rule.id), rule.id);
  }

  void encode_text(std::string_view text, std::vector<int32_t> &out) const override {
    std::string escaped;
    if (info_.escape_whitespaces) {
      append_escaped(text, escaped);
      text = escaped;
    }
    std::vector<Pretokenizer::Piece> pieces;
    pretokenizer_.split(text, pieces);
    MergeWork work;
    size_t begin = 0;
    for (const auto [end, matched] : pieces) {
      if (matched || !info_.drops_gaps) encode_piece(text.substr(begin, end - begin), work, out);
      begin = end;
    }
  }

  void encode_piece(std::string_view piece, MergeWork &work, std::vector<int32_t> &out) const {
    if (info_.ignore_merges) {
      const int32_t id = find_whole(piece);
      if (id >= 0) return out.push_back(id);
    }
    work.symbols.clear();
    for (size_t at = 0; at < piece.size();) {
      const size_t begin = at;
      int32_t id;
      if (info_.byte_level) {
        id = byte_ids_[static_cast<uint8_t>(piece[at++])];
      } else {
        utf8_next(piece, at);
        id = find_character(piece.substr(begin, at - begin));
      }
      work.add(id, static_cast<uint32_t>(begin), static_cast<uint32_t>(at - begin));
    }
    merge_symbols(work, [this](const MergeSymbol &left, const MergeSymbol &right, int32_t &merged) {
      return merges_.find(left.id, right.id, merged);
    });
    for (uint32_t at = 0; at != kNoSymbol; at = work.symbols[at].next) {
      const MergeSymbol &symbol = work.symbols[at];
      if (symbol.id >= 0 && symbol.id < vocab_.size()) {
        out.push_back(symbol.id);
      } else {
        append_parts(piece.substr(symbol.begin, symbol.size), out);
      }
    }
  }

  // A symbol that is no token: what it was merged from.
  void append_parts(std::string_view symbol, std::vector<int32_t> &out) const {
    const bool replaceable = info_.byte_level && symbol.size() == 1 && !replacement_.empty();
    if (replaceable && (vocab_.unk < 0 || never_in_utf8(symbol[0]))) {
      out.insert(out.end(), replacement_.begin(), replacement_.end());
      return;
    }
    if (info_.byte_level) return append_unknown(symbol, out);
    for (size_t at = 0; at < symbol.size();) {
      const size_t begin = at;
      utf8_next(symbol, at);
      const std::string_view character = symbol.substr(begin, at - begin);
      const int32_t id = find(character);
      if (id >= 0) {
        out.push_back(id);
      } else {
        append_unknown(character, out);
      }
    }
  }

  bool has_bytes(std::string_view bytes) const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [this](char c) { return byte_ids_[static_cast<uint8_t>(c)] >= 0; });
  }

  int32_t find_whole(std::string_view piece) const {
    if (piece.size() > longest_) return -1;
    if (!info_.byte_level) return find(piece);
    std::string stored;
    append_as_stored(piece, stored);
    return find(stored);
  }

  int32_t find_character(std::string_view character) const {
    const int32_t id = find(character);
    if (id >= 0 || steps_.empty()) return id;
    const auto step = steps_.find(std::string(character));
    return step == steps_.end() ? -1 : step->second;
  }

  const PretokenizerInfo &info_;
  Pretokenizer pretokenizer_;
  MergeTable merges_;
  std::unordered_map<std::string, int32_t> steps_;
  std::vector<int32_t> replacement_;  // U+FFFD, for bytes that the vocabulary left out
  size_t longest_ = 0;                // bytes of the longest stored piece
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(Vocab vocab) {
  return std::make_unique<BpeTokenizer>(std::move(vocab));
}

}  // namespace rz
