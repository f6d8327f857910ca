// Reference counts, the list of cached pages and the index by hash. All of it is sized when the pool is made:
// taking and giving pages allocates nothing.
#include "engine/kv_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace rz {
namespace {

constexpr size_t kTokens = kPageTokens;

size_t pages_for(size_t tokens) { return (tokens + kTokens - 1) / kTokens; }

// What identifies a full page: its tokens and all before them. tokens: (kPageTokens)
Hash128 page_hash(const Hash128 &parent, const int32_t *tokens) {
  struct {
    Hash128 parent;
    int32_t tokens[kTokens];
  } identity = {parent, {}};
  static_assert(sizeof identity == sizeof(Hash128) + kTokens * sizeof(int32_t));
  std::memcpy(identity.tokens, tokens, sizeof identity.tokens);
  return hash128(&identity, sizeof identity);
}

// reserve() of a vector asks for exactly what it is told; growing by halves keeps appending linear.
template <class T>
void make_room(std::vector<T> &v, size_t size) {
  if (size > v.capacity()) v.reserve(std::max(size, v.capacity() + v.capacity() / 2));
}

}  // namespace

KvPool::KvPool(Executor &executor, int32_t pages, bool keep_prefixes)
    : executor_(executor),
      keep_prefixes_(keep_prefixes),
      pages_(static_cast<size_t>(pages)),
      buckets_(std::bit_ceil(static_cast<size_t>(pages) + 1), -1) {
  free_.reserve(pages_.size());
  for (int32_t page = pages - 1; page >= 0; --page) free_.push_back(page);
}

int32_t KvPool::match(KvTable &table, std::span<const int32_t> prompt) {
  const size_t most = prompt.empty() ? 0 : (prompt.size() - 1) / kTokens;
  Hash128 parent;
  for (size_t i = 0; i < most; ++i) {
    const Hash128 hash = page_hash(parent, prompt.data() + i * kTokens);
    const int32_t page = find(hash);
    if (page < 0) break;
    make_room(table.pages, i + 1);
    make_room(table.hashes, i + 1);
    make_room(table.tokens, (i + 1) * kTokens);
    const auto tokens = prompt.subspan(i * kTokens, kTokens);
    table.pages.push_back(page);
    table.hashes.push_back(hash);
    table.tokens.insert(table.tokens.end(), tokens.begin(), tokens.end());
    hold(page);
    parent = hash;
  }
  return static_cast<int32_t>(table.tokens.size());
}

bool KvPool::reserve(KvTable &table, int32_t n) {
  if (n <= 0) return true;
  const size_t size = table.tokens.size(), more = static_cast<size_t>(n);
  const size_t needed = pages_for(size + more);
  const size_t last = size / kTokens;  // the page that the next token goes to
  const bool partly_filled = size % kTokens != 0;
  const bool copy = partly_filled && pages_[static_cast<size_t>(table.pages[last])].references > 1;
  const size_t fresh = needed > table.pages.size() ? needed - table.pages.size() : 0;
  if (fresh + (copy ? 1 : 0) > static_cast<size_t>(available())) return false;
  make_room(table.pages, needed);
  make_room(table.tokens, size + more);
  make_room(table.hashes, (size + more) / kTokens);

  if (copy) {
    const int32_t shared = table.pages[last], own = take_page();
    executor_.copy_page(shared, own);
    drop(shared);
    table.pages[last] = own;
  } else if (partly_filled) {
    forget(table.pages[last]);  // it was full once, and is about to hold something else
  }
  for (size_t i = 0; i < fresh; ++i) table.pages.push_back(take_page());
  return true;
}

void KvPool::append(KvTable &table, std::span<const int32_t> tokens) {
  const size_t end = table.tokens.size() + tokens.size();
  if (pages_for(end) > table.pages.size()) {
    fail(Status::Internal, "kv pool: expected pages reserved for %zu tokens, found %zu", end,
         table.pages.size());
  }
  table.tokens.insert(table.tokens.end(), tokens.begin(), tokens.end());
  while (table.hashes.size() < end / kTokens) {
    const size_t i = table.hashes.size();
    const Hash128 hash = page_hash(i ? table.hashes[i - 1] : Hash128{}, table.tokens.data() + i * kTokens);
    table.hashes.push_back(hash);
    if (!keep_prefixes_) continue;
    const int32_t own = table.pages[i], equal = find(hash);
    if (equal < 0) {
      make_findable(own, hash);
    } else if (equal != own) {
      hold(equal);
      table.pages[i] = equal;
      drop(own);
    }
  }
}

void KvPool::rewind(KvTable &table, int32_t n) {
  const size_t keep = std::min(static_cast<size_t>(std::max(n, 0)), table.tokens.size());
  // The deepest first: it is of no use without those before it, so it becomes the first to be given away.
  while (table.pages.size() > pages_for(keep)) {
    drop(table.pages.back());
    table.pages.pop_back();
  }
  table.tokens.resize(keep);
  table.hashes.resize(keep / kTokens);
}

void KvPool::fork(const KvTable &from, KvTable &to) {
  const auto begin = from.pages.begin();
  const std::vector<int32_t> pages(begin, begin + static_cast<std::ptrdiff_t>(pages_for(from.tokens.size())));
  KvTable copy{pages, from.tokens, from.hashes};
  for (const int32_t page : copy.pages) hold(page);
  to = std::move(copy);
}

void KvPool::release(KvTable &table) { rewind(table, 0); }

KvPoolStats KvPool::stats() const {
  KvPoolStats s;
  s.pages = static_cast<int32_t>(pages_.size());
  s.free = static_cast<int32_t>(free_.size());
  s.cached = n_cached_;
  s.used = s.pages - s.free - s.cached;
  return s;
}

int32_t KvPool::available() const { return static_cast<int32_t>(free_.size()) + n_cached_; }

int32_t KvPool::find(const Hash128 &hash) const {
  int32_t page = buckets_[hash.low & (buckets_.size() - 1)];
  while (page >= 0 && !(pages_[static_cast<size_t>(page)].hash == hash)) {
    page = pages_[static_cast<size_t>(page)].next_in_bucket;
  }
  return page;
}

void KvPool::make_findable(int32_t page, const Hash128 &hash) {
  Page &p = pages_[static_cast<size_t>(page)];
  p.findable = true;
  p.hash = hash;
  p.next_in_bucket = bucket(hash);
  bucket(hash) = page;
}

void KvPool::forget(int32_t page) {
  Page &p = pages_[static_cast<size_t>(page)];
  if (!p.findable) return;
  int32_t *link = &bucket(p.hash);
  while (*link != page) link = &pages_[static_cast<size_t>(*link)].next_in_bucket;
  *link = p.next_in_bucket;
  p.findable = false;
}

int32_t KvPool::take_page() {
  int32_t page;
  if (!free_.empty()) {
    page = free_.back();
    free_.pop_back();
  } else {
    page = oldest_;
    unlink(page);
    forget(page);
  }
  pages_[static_cast<size_t>(page)].references = 1;
  return page;
}

void KvPool::hold(int32_t page) {
  if (pages_[static_cast<size_t>(page)].references++ == 0) unlink(page);
}

void KvPool::drop(int32_t page) {
  Page &p = pages_[static_cast<size_t>(page)];
  if (--p.references > 0) return;
  if (!p.findable) {
    free_.push_back(page);
    return;
  }
  p.older = newest_;
  p.newer = -1;
  (newest_ >= 0 ? pages_[static_cast<size_t>(newest_)].newer : oldest_) = page;
  newest_ = page;
  ++n_cached_;
}

void KvPool::unlink(int32_t page) {
  const Page &p = pages_[static_cast<size_t>(page)];
  (p.newer >= 0 ? pages_[static_cast<size_t>(p.newer)].older : newest_) = p.older;
  (p.older >= 0 ? pages_[static_cast<size_t>(p.older)].newer : oldest_) = p.newer;
  --n_cached_;
}

}  // namespace rz
