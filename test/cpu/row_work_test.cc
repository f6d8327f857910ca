// How rows are shared: every row once, whoever comes when, and long runs first.
#include "cpu/row_work.h"

#include <gtest/gtest.h>

#include <vector>

namespace rz::cpu {
namespace {

TEST(RowWork, GivesEveryRowToOneTurn) {
  for (const int64_t threads : {1, 2, 3, 8, 64}) {
    for (const int64_t total : {0, 1, 31, 32, 33, 100, 389, 1024, 4096, 151936}) {
      int64_t next = 0;
      for (int64_t turn = 0; next < total || turn < 3 * threads; ++turn) {
        const RowRange share = share_of(turn, threads, total);
        if (share.count == 0) continue;
        ASSERT_EQ(share.first, next) << turn << " of " << threads << ", " << total << " rows";
        ASSERT_GT(share.count, 0);
        next += share.count;
      }
      EXPECT_EQ(next, total) << threads << " threads";
    }
  }
}

TEST(RowWork, BeginsWithLongRunsAndEndsWithShortOnes) {
  EXPECT_EQ(share_of(0, 2, 4096).count, 1536);
  EXPECT_EQ(share_of(1, 2, 4096).first, 1536);
  EXPECT_EQ(share_of(2, 2, 4096).count, 384);
  int64_t shortest = 4096;
  for (int64_t turn = 0; share_of(turn, 2, 4096).count != 0; ++turn)
    shortest = std::min(shortest, share_of(turn, 2, 4096).count);
  EXPECT_EQ(shortest, kLeastShare);
  EXPECT_EQ(share_of(0, 1, 4096).count, 4096) << "one thread does not share";
}

TEST(RowWork, CutsAtTheEndOfAMatrixAndAtTheSizeOfATile) {
  ThreadTeam team(1);
  team.run(
      ThreadTeam::Members::All,
      [](void *context, int32_t thread) {
        RowWork work(*static_cast<ThreadTeam *>(context), thread, 300, 100);
        std::vector<int64_t> firsts, counts;
        for (RowPart part; work.next(part);) {
          firsts.push_back(part.first);
          counts.push_back(part.count);
        }
        EXPECT_EQ(firsts, (std::vector<int64_t>{0, 64, 100, 164, 200, 264}));
        EXPECT_EQ(counts, (std::vector<int64_t>{64, 36, 64, 36, 64, 36}));
      },
      &team);
}

}  // namespace
}  // namespace rz::cpu
