// Paged KV cache. A page holds 32 tokens of every layer. A sequence owns a table of page numbers; pages are
// counted, so a fork shares them, and a full page carries the hash of everything that led to it, so that an
// equal prefix finds it again: the prefix cache is the pool itself, least recently used out first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/hash.h"

namespace rz {

// A timeline's pages and the tokens in them. Movable; KvPool::release() must see it before it goes.
struct KvTable {
  std::vector<int32_t> pages;   // page of tokens 32 i .. 32 i + 31; the last one may be partly filled
  std::vector<int32_t> tokens;  // those whose K and V are in the pages
  std::vector<Hash128> hashes;  // of the full pages
};

struct KvPoolStats {
  int32_t pages = 0, free = 0, used = 0, cached = 0;  // cached: full pages that no table holds
};

// Not thread-safe: the engine's lock guards it.
class KvPool {
 public:
  // `executor` copies pages; it outlives the pool. `keep_prefixes` false: no page is ever found by its
  // content.
  KvPool(Executor &executor, int32_t pages, bool keep_prefixes);

  // Takes the longest run of cached full pages that begins `prompt` into the empty table; at least one token
  // of the prompt is left over, so that there is something to compute. Returns the number of tokens found.
  int32_t match(KvTable &table, std::span<const int32_t> prompt);

  // Makes the pages for `n` more tokens ready to be written: new pages, and a copy of the last one when it is
  // shared. False, with nothing changed, when not enough pages can be freed. Also makes room in the table, so
  // that append() of these tokens allocates nothing.
  bool reserve(KvTable &table, int32_t n);

  // Tokens whose K and V have been computed into reserved pages; full pages become findable. Where an equal
  // page can be found already, the table shares that one and gives its own back.
  void append(KvTable &table, std::span<const int32_t> tokens);

  // Keeps the first n tokens, and no page that was only reserved.
  void rewind(KvTable &table, int32_t n);
  // `to` (empty) shares the pages of all tokens of `from`; whoever writes first copies the partly filled one.
  void fork(const KvTable &from, KvTable &to);
  void release(KvTable &table);

  KvPoolStats stats() const;
  // Pages that reserve() could hand out now: free ones and cached ones.
  int32_t available() const;

 private:
  struct Page {
    int32_t references = 0;
    bool findable = false;
    Hash128 hash;                    // of a findable page
    int32_t next_in_bucket = -1;     // of a findable page
    int32_t newer = -1, older = -1;  // neighbours in the list of cached pages
  };
  int32_t find(const Hash128 &hash) const;  // -1 where no findable page has it
  void make_findable(int32_t page, const Hash128 &hash);
  void forget(int32_t page);  // no longer findable
  int32_t take_page();        // a free one, or the cached one unused longest; one must be available
  void hold(int32_t page);    // one more reference
  void drop(int32_t page);    // one less; the last makes it cached or free
  void unlink(int32_t page);  // from the cached pages
  int32_t &bucket(const Hash128 &hash) { return buckets_[hash.low & (buckets_.size() - 1)]; }

  Executor &executor_;
  bool keep_prefixes_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_;
  int32_t newest_ = -1, oldest_ = -1;  // cached pages by last use
  int32_t n_cached_ = 0;
  std::vector<int32_t> buckets_;  // (power of two) first findable page of each, -1 = none
};

}  // namespace rz
