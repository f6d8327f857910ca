// The blob: a 32-bit size in bytes, a trie of that size, then the strings; all numbers little endian. A unit
// of the trie is darts-clone's: bits 0-7 the label, bit 8 "a value follows", bits 10-30 the offset to the
// children (shifted by 8 where bit 9 is set), bit 31 set where the unit is itself a value of 31 bits. The
// children of the node at `at` lie at (at ^ offset) ^ label, its value at (at ^ offset) ^ 0.
#include "text/charsmap.h"

#include "base/error.h"
#include "base/utf8.h"

namespace rz {

namespace {

constexpr char kSubject[] = "tokenizer.ggml.precompiled_charsmap";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }  // a value's top bit makes it match no byte
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return number;
}

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  if (blob.empty()) return;
  if (blob.size() < 4)
    fail(Status::Format, "%s: expected at least 4 bytes, found %zu", kSubject, blob.size());
  const uint32_t trie_bytes = read_u32(blob, 0);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > blob.size() - 4) {
    fail(Status::Format, "%s: expected a trie of whole units within %zu bytes, found %u bytes", kSubject,
         blob.size() - 4, trie_bytes);
  }
  units_.resize(trie_bytes / 4);
  for (size_t i = 0; i < units_.size(); ++i) units_[i] = read_u32(blob, 4 + 4 * i);
  strings_ = blob.substr(4 + size_t{trie_bytes});
  if (strings_.empty() || strings_.back() != '\0') {
    fail(Status::Format, "%s: expected its strings to end with a NUL, found none at byte %zu", kSubject,
         blob.size());
  }
  check();
}

// Walks every path of the trie once. Nodes can be shared, so one that was seen is fine unless it lies on the
// path that led here.
void Charsmap::check() {
  enum : uint8_t { New, OnPath, Done };
  struct Step {
    uint32_t base;   // the node's children lie at base ^ label
    uint32_t label;  // the next one to try
    uint32_t node;
  };
  std::vector<uint8_t> state(units_.size(), New);
  std::vector<Step> path;
  const auto enter = [&](uint32_t node) {
    const uint32_t base = node ^ offset_of(units_[node]);
    // A block of 256 units is addressed as a whole, so a base inside the array may still lead out of it.
    if (base >= units_.size()) {
      fail(Status::Format, "%s: trie unit %u leads to unit %u of %zu", kSubject, node, base, units_.size());
    }
    if (has_value(units_[node]) && value_of(units_[base]) >= strings_.size()) {
      fail(Status::Format, "%s: trie unit %u has string %u of %zu bytes", kSubject, node,
           value_of(units_[base]), strings_.size());
    }
    state[node] = OnPath;
    path.push_back({base, 1, node});
  };
  enter(0);
  while (!path.empty()) {
    Step &step = path.back();
    if (step.label == 256) {
      state[step.node] = Done;
      path.pop_back();
      continue;
    }
    const uint32_t label = step.label++, child = step.base ^ label;
    if (child >= units_.size() || label_of(units_[child]) != label) continue;
    if (state[child] == OnPath)
      fail(Status::Format, "%s: trie unit %u leads back to itself", kSubject, child);
    if (state[child] == New) enter(child);
  }
}

std::string_view Charsmap::next(std::string_view &text) const {
  size_t longest = 0;
  uint32_t value = 0, node = 0;
  for (size_t at = 0; at < text.size() && !units_.empty(); ++at) {
    const uint32_t label = static_cast<uint8_t>(text[at]);
    node ^= offset_of(units_[node]) ^ label;
    if (label == 0 || node >= units_.size() || label_of(units_[node]) != label) break;
    if (has_value(units_[node])) {
      longest = at + 1;
      value = value_of(units_[node ^ offset_of(units_[node])]);
    }
  }
  if (longest > 0) {
    text.remove_prefix(longest);
    return strings_.data() + value;
  }
  size_t length = 0;
  const bool invalid = utf8_next(text, length) == 0xfffd && length == 1;
  const std::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return invalid ? kReplacement : character;
}

}  // namespace rz
