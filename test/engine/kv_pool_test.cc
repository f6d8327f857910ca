// The pool against an executor that has no numbers: a page's content is the tokens written to it.
#include "engine/kv_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "engine/allocation_count.h"
#include "support/error_of.h"

namespace rz {
namespace {

using test::allocation_count;
using Tokens = std::vector<int32_t>;

class PageExecutor final : public Executor {
 public:
  explicit PageExecutor(int32_t pages) : slots_(static_cast<size_t>(pages)) {}

  // What run() would do: K and V of tokens at positions from table.tokens.size() on.
  void write(const KvTable &table, const Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const size_t position = table.tokens.size() + i;
      slots_[static_cast<size_t>(table.pages[position / kPageTokens])][position % kPageTokens] = tokens[i];
    }
  }
  Tokens read(const KvTable &table) const {
    Tokens result;
    for (size_t i = 0; i < table.tokens.size(); ++i) {
      result.push_back(slots_[static_cast<size_t>(table.pages[i / kPageTokens])][i % kPageTokens]);
    }
    return result;
  }

  int32_t copies = 0;

  int32_t run(const Batch &, const RunControl &) override { return 0; }
  const KvLayout &kv_layout() const override { return layout_; }
  void copy_page(int32_t from, int32_t to) override {
    slots_[static_cast<size_t>(to)] = slots_[static_cast<size_t>(from)];
    ++copies;
  }
  void read_page(int32_t, std::byte *) const override {}
  void write_page(int32_t, const std::byte *) override {}
  void read_buffer(BufferId, int32_t, float *) const override {}
  void write_buffer(BufferId, int32_t, const float *) override {}
  std::vector<ProfileEntry> profile() const override { return {}; }
  uint64_t compute_bytes() const override { return 0; }

 private:
  KvLayout layout_;
  std::vector<std::array<int32_t, kPageTokens>> slots_;
};

Tokens range(int32_t first, int32_t n) {
  Tokens result;
  for (int32_t i = 0; i < n; ++i) result.push_back(first + i);
  return result;
}

class KvPoolTest : public testing::Test {
 protected:
  void make(int32_t pages, bool keep_prefixes = true) {
    executor.emplace(pages);
    pool.emplace(*executor, pages, keep_prefixes);
  }
  bool extend(KvTable &table, const Tokens &tokens) {
    if (!pool->reserve(table, static_cast<int32_t>(tokens.size()))) return false;
    executor->write(table, tokens);
    pool->append(table, tokens);
    return true;
  }
  // As the engine begins a prompt; returns the tokens that were found.
  int32_t begin(KvTable &table, const Tokens &prompt) {
    const int32_t found = pool->match(table, prompt);
    EXPECT_TRUE(extend(table, Tokens(prompt.begin() + found, prompt.end())));
    return found;
  }

  std::optional<PageExecutor> executor;
  std::optional<KvPool> pool;
};

TEST_F(KvPoolTest, FindsTheFullPagesOfAnEqualPrefixAgain) {
  make(16);
  KvTable a, b, c;
  EXPECT_EQ(begin(a, range(0, 100)), 0);
  EXPECT_EQ(begin(b, range(0, 100)), 96);
  EXPECT_EQ(executor->read(b), range(0, 100));
  EXPECT_EQ(pool->stats().used, 5);  // three shared, and a last one each
  pool->release(a);
  pool->release(b);
  EXPECT_EQ(pool->stats().cached, 3);
  EXPECT_EQ(pool->stats().used, 0);
  Tokens prompt = range(0, 64);
  prompt.push_back(7);
  EXPECT_EQ(begin(c, prompt), 64);
  EXPECT_EQ(executor->read(c), prompt);
}

TEST_F(KvPoolTest, FindsNothingAfterTheFirstTokenThatDiffers) {
  make(16);
  KvTable a, b, c;
  begin(a, range(0, 100));
  Tokens other = range(0, 100);
  other[40] = 9999;
  EXPECT_EQ(begin(b, other), 32);
  other[0] = 9999;
  EXPECT_EQ(begin(c, other), 0);
}

TEST_F(KvPoolTest, LeavesAtLeastOneTokenOfThePromptToCompute) {
  make(16);
  KvTable a, b, c, d;
  begin(a, range(0, 64));
  EXPECT_EQ(pool->match(b, range(0, 64)), 32);
  EXPECT_EQ(pool->match(c, range(0, 32)), 0);
  EXPECT_EQ(pool->match(d, {}), 0);
}

TEST_F(KvPoolTest, FindsNothingWhenPrefixesAreNotKept) {
  make(16, false);
  KvTable a, b;
  begin(a, range(0, 100));
  EXPECT_EQ(begin(b, range(0, 100)), 0);
  pool->release(a);
  pool->release(b);
  EXPECT_EQ(pool->stats().free, 16);
}

TEST_F(KvPoolTest, SharesAllPagesOfAForkUntilOneWrites) {
  make(16);
  KvTable a, b;
  begin(a, range(0, 40));
  pool->fork(a, b);
  EXPECT_EQ(pool->stats().used, 2);
  EXPECT_EQ(executor->copies, 0);
  EXPECT_TRUE(extend(b, {1000}));
  EXPECT_EQ(executor->copies, 1);
  EXPECT_TRUE(extend(a, {2000}));
  EXPECT_EQ(executor->copies, 1) << "the last holder writes in place";
  Tokens expected_a = range(0, 40), expected_b = range(0, 40);
  expected_a.push_back(2000);
  expected_b.push_back(1000);
  EXPECT_EQ(executor->read(a), expected_a);
  EXPECT_EQ(executor->read(b), expected_b);
}

TEST_F(KvPoolTest, ForksNoPageThatIsOnlyReserved) {
  make(16);
  KvTable a, b;
  begin(a, range(0, 32));
  EXPECT_TRUE(pool->reserve(a, 40));
  pool->fork(a, b);
  EXPECT_EQ(b.pages.size(), 1u);
  EXPECT_EQ(pool->stats().used, 3);
}

TEST_F(KvPoolTest, GivesAwayThePageUnusedLongestAndOfATimelineTheDeepest) {
  make(4);
  KvTable a, b, c;
  begin(a, range(0, 64));
  begin(b, range(1000, 64));
  pool->release(a);
  pool->release(b);
  EXPECT_EQ(pool->stats().cached, 4);
  EXPECT_TRUE(extend(c, range(5000, 32)));  // takes a's second page
  KvTable probe;
  EXPECT_EQ(pool->match(probe, range(0, 65)), 32);
  pool->release(probe);  // a's first page is used now more lately than b's
  EXPECT_TRUE(extend(c, range(6000, 32)));
  EXPECT_EQ(pool->match(probe, range(1000, 65)), 32);
  pool->release(probe);
  EXPECT_EQ(pool->match(probe, range(0, 65)), 32);
}

TEST_F(KvPoolTest, ReservesNothingWhenNotAllOfItIsThere) {
  make(4);
  KvTable a, b;
  begin(a, range(0, 40));
  begin(b, range(100, 20));
  EXPECT_EQ(pool->available(), 1);
  EXPECT_FALSE(pool->reserve(b, 64));
  EXPECT_EQ(pool->available(), 1);
  EXPECT_EQ(b.pages.size(), 1u);
  EXPECT_TRUE(pool->reserve(b, 44));
  EXPECT_EQ(pool->available(), 0);
  KvTable c;
  pool->fork(a, c);
  EXPECT_FALSE(pool->reserve(c, 1)) << "a copy needs a page too";
  EXPECT_EQ(executor->read(c), range(0, 40));
}

TEST_F(KvPoolTest, RewindsOverPageBordersAndGivesReservedPagesBack) {
  make(8);
  KvTable a;
  begin(a, range(0, 100));
  EXPECT_TRUE(pool->reserve(a, 60));
  EXPECT_EQ(pool->stats().used, 5);
  pool->rewind(a, 100);
  EXPECT_EQ(pool->stats().used, 4);
  pool->rewind(a, 33);
  EXPECT_EQ(a.pages.size(), 2u);
  EXPECT_EQ(a.hashes.size(), 1u);
  pool->rewind(a, 32);
  EXPECT_EQ(a.pages.size(), 1u);
  EXPECT_TRUE(extend(a, range(32, 68)));
  EXPECT_EQ(executor->read(a), range(0, 100));
  pool->rewind(a, 0);
  EXPECT_EQ(pool->stats().used, 0);
}

TEST_F(KvPoolTest, APageWrittenAgainIsFoundByItsNewContentOnly) {
  make(8);
  KvTable a, b;
  begin(a, range(0, 64));
  pool->rewind(a, 40);
  EXPECT_EQ(pool->match(b, range(0, 65)), 64) << "until it is written, the old content is still there";
  pool->release(b);
  EXPECT_TRUE(extend(a, range(5000, 24)));
  EXPECT_EQ(executor->copies, 0);
  EXPECT_EQ(pool->match(b, range(0, 65)), 32);
  pool->release(b);
  Tokens prompt = range(0, 40);
  for (const int32_t t : range(5000, 25)) prompt.push_back(t);
  EXPECT_EQ(pool->match(b, prompt), 64);
  EXPECT_EQ(executor->read(b), Tokens(prompt.begin(), prompt.begin() + 64));
}

TEST_F(KvPoolTest, ARewoundPageThatAnotherTimelineSharesIsCopiedBeforeWriting) {
  make(8);
  KvTable a, b;
  begin(a, range(0, 65));
  begin(b, range(0, 65));
  pool->rewind(a, 40);
  EXPECT_TRUE(extend(a, {7777}));
  EXPECT_EQ(executor->copies, 1);
  EXPECT_EQ(executor->read(b), range(0, 65));
}

TEST_F(KvPoolTest, EqualPagesComputedSideBySideBecomeOne) {
  make(8);
  KvTable a, b;
  EXPECT_TRUE(pool->reserve(a, 64));
  EXPECT_TRUE(pool->reserve(b, 64));
  EXPECT_EQ(pool->stats().used, 4);
  executor->write(a, range(0, 64));
  pool->append(a, range(0, 64));
  executor->write(b, range(0, 64));
  pool->append(b, range(0, 64));
  EXPECT_EQ(pool->stats().used, 2);
  EXPECT_EQ(executor->read(b), range(0, 64));
}

TEST_F(KvPoolTest, RefusesTokensThatNoPageWasReservedFor) {
  make(8);
  KvTable a;
  begin(a, range(0, 32));
  EXPECT_EQ(test::error_of([&] { pool->append(a, range(32, 1)); }).status(), Status::Internal);
}

TEST_F(KvPoolTest, AllocatesNothingPerToken) {
  make(64);
  KvTable a;
  ASSERT_TRUE(pool->reserve(a, 2000));
  pool->rewind(a, 0);
  const Tokens token = {5};
  const size_t before = allocation_count();
  for (int32_t round = 0; round < 3; ++round) {
    for (int32_t i = 0; i < 2000; ++i) {
      ASSERT_TRUE(pool->reserve(a, 1));
      pool->append(a, token);
    }
    pool->rewind(a, 0);
  }
  EXPECT_EQ(allocation_count(), before);
}

// Random operations on several timelines over a pool that is too small for them, with prompts that often
// agree: after each of them every timeline still reads what it wrote, and in the end no page is lost.
TEST_F(KvPoolTest, EveryTimelineReadsWhatItWroteWhateverTheOthersDo) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<int32_t>(random() % n); };
    make(24, seed % 4 != 3);
    std::array<KvTable, 6> tables;
    std::array<Tokens, 6> expected;
    for (int32_t step = 0; step < 2000; ++step) {
      const size_t i = random() % tables.size(), j = random() % tables.size();
      KvTable &table = tables[i];
      switch (below(6)) {
        case 0: {
          if (!table.tokens.empty()) break;
          pool->release(table);
          Tokens prompt(static_cast<size_t>(1 + below(150)),
                        below(2));  // few kinds of prompt, so prefixes agree
          if (below(2)) prompt[static_cast<size_t>(below(prompt.size()))] = 2;
          const auto found = static_cast<size_t>(pool->match(table, prompt));
          ASSERT_LT(found, prompt.size());
          expected[i].assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(found));
          const Tokens rest(prompt.begin() + static_cast<std::ptrdiff_t>(found), prompt.end());
          if (extend(table, rest)) expected[i] = prompt;
          break;
        }
        case 1:
        case 2: {
          const Tokens more(static_cast<size_t>(1 + below(40)), below(2));
          if (extend(table, more)) expected[i].insert(expected[i].end(), more.begin(), more.end());
          break;
        }
        case 3: {
          const int32_t keep = below(expected[i].size() + 1);
          pool->rewind(table, keep);
          expected[i].resize(static_cast<size_t>(keep));
          break;
        }
        case 4:
          if (i == j || !tables[j].tokens.empty()) break;
          pool->release(tables[j]);
          pool->fork(table, tables[j]);
          expected[j] = expected[i];
          break;
        default:
          if (below(2)) pool->reserve(table, below(50));
          if (below(3)) break;
          pool->release(table);
          expected[i].clear();
      }
      for (size_t k = 0; k < tables.size(); ++k) {
        ASSERT_EQ(tables[k].tokens, expected[k]) << "seed " << seed << " step " << step;
        ASSERT_EQ(executor->read(tables[k]), expected[k]) << "seed " << seed << " step " << step;
      }
      const KvPoolStats stats = pool->stats();
      std::vector<int32_t> held;
      for (const KvTable &t : tables) held.insert(held.end(), t.pages.begin(), t.pages.end());
      std::sort(held.begin(), held.end());
      const auto distinct = std::unique(held.begin(), held.end()) - held.begin();
      ASSERT_EQ(stats.used, distinct);
      ASSERT_EQ(stats.free + stats.used + stats.cached, 24);
    }
    for (KvTable &table : tables) pool->release(table);
    EXPECT_EQ(pool->stats().used, 0);
    EXPECT_EQ(pool->available(), 24);
  }
}

}  // namespace
}  // namespace rz
