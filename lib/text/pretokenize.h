// Byte-level BPE never merges across the pieces that a regular expression cuts a text into. Which
// expressions, a file says only by a name (tokenizer.ggml.pre); the table of names is pretokenizer_table.cc,
// the cutting is PCRE2's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rz {

// One pass over the pieces left by the pass before: every match becomes a piece, and so does what lies
// between.
struct PatternStep {
  const char *pattern = nullptr;
  // A match is a number: its digits are cut into threes, counted from the right.
  bool in_threes = false;
};

struct PretokenizerInfo {
  const char *name;
  const PatternStep *steps;  // (n_steps)
  int n_steps;
  bool ignore_merges = false;       // a piece that is a token is that token, whatever the merges say
  bool add_bos = false;             // where the file does not say
  bool byte_level = true;           // else merging begins with characters
  bool escape_whitespaces = false;  // spaces become U+2581 first
  bool drops_gaps = false;          // what lies between matches is no part of the text
  bool merges_by_id = false;        // the file needs no merges: the lower of two ids was merged first
};

// nullptr where the name is not known.
const PretokenizerInfo *find_pretokenizer(std::string_view name);
// All of them, for messages and tests.
std::vector<const PretokenizerInfo *> pretokenizers();

class Pretokenizer {
 public:
  explicit Pretokenizer(const PretokenizerInfo &info);
  ~Pretokenizer();
  Pretokenizer(const Pretokenizer &) = delete;
  Pretokenizer &operator=(const Pretokenizer &) = delete;

  struct Piece {
    uint32_t end;  // it begins where the one before ended
    bool matched;  // by some step; else it lies between matches
  };
  // Cuts `text` into `pieces` without gaps. Invalid UTF-8 is cut out first: a run of such bytes is a piece.
  void split(std::string_view text, std::vector<Piece> &pieces) const;

 private:
  struct Regex;
  struct Step {
    std::unique_ptr<Regex> regex;
    bool in_threes;
  };
  void split_valid(std::string_view text, size_t begin, size_t end, std::vector<Piece> &pieces) const;

  std::vector<Step> steps_;
};

}  // namespace rz
