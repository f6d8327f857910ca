// How a team shares the rows of a matrix: every thread takes long runs of neighbouring rows first, so that
// what it asked the memory for ahead is its own, and shorter ones towards the end, so that all finish
// together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace rz::cpu {

constexpr int64_t kTileCols = 64;    // rows that a thread computes in one go, at most
constexpr int64_t kLeastShare = 32;  // and that it takes from the others, at least

struct RowRange {
  int64_t first, count;
};

// Rows that a thread multiplies now, and how many more of the same matrix follow that are its own too.
struct RowPart {
  int64_t first, count, after;
};

// The run of rows that whoever comes as number `turn` takes, when `threads` threads share `total` rows: each
// turn of all threads together takes half of what is left. No rows past the end.
inline RowRange share_of(int64_t turn, int64_t threads, int64_t total) {
  int64_t first = 0;
  for (; first < total; turn -= threads) {
    const int64_t rest = total - first, whole = threads == 1 ? rest : rest * 3 / (4 * threads);
    const int64_t size = (whole + kLeastShare - 1) / kLeastShare * kLeastShare;
    const int64_t run = std::max(size, kLeastShare);
    if (turn < threads) return {first + turn * run, std::clamp<int64_t>(total - first - turn * run, 0, run)};
    first += threads * run;
  }
  return {total, 0};
}

// One thread's walk over its rows of a phase. The first run is its own by number, later ones are taken as
// they come.
class RowWork {
 public:
  // `total` rows of matrices of `matrix` rows each, one after another; 0: one matrix.
  RowWork(ThreadTeam &team, int32_t thread, int64_t total, int64_t matrix = 0)
      : team_(team),
        total_(total),
        matrix_(matrix == 0 ? total : matrix),
        share_(share_of(thread, team.active(), total)) {}

  // The next rows, at most kTileCols of them and of one matrix; false when all are taken.
  bool next(RowPart &part) {
    if (share_.count == 0) share_ = share_of(team_.active() + team_.take(), team_.active(), total_);
    const int64_t rest = matrix_ - share_.first % matrix_;
    const int64_t own = std::min(share_.count, rest), count = std::min(own, kTileCols);
    part = {share_.first, count, own - count};
    share_.first += count;
    share_.count -= count;
    return count != 0;
  }

 private:
  ThreadTeam &team_;
  int64_t total_, matrix_;
  RowRange share_;
};

}  // namespace rz::cpu
