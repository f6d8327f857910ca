// What a launch costs, of a block for each multiprocessor: given one by one or in a replayed recording, and
// with or without leave to begin before the one ahead has ended.
#include "cuda/bench/bench.h"
#include "cuda/bench/empty.h"
#include "cuda/overlap.h"

namespace rz::cuda {

void bench_launches(Bench &bench) {
  const struct {
    const char *name;
    Bench::Way way;
    bool overlap;
  } cases[] = {{"launch/plain", Bench::Way::OneByOne, false},
               {"launch/dependent", Bench::Way::OneByOne, true},
               {"launch/recorded", Bench::Way::Recorded, false},
               {"launch/recorded-dependent", Bench::Way::Recorded, true}};
  for (const auto &c : cases) {
    if (!bench.wants(c.name)) continue;
    let_overlap(bench.queue(), c.overlap);
    bench.time(
        c.name, {}, 1, [&](int) { empty(bench.queue(), bench.multiprocessors()); }, c.way);
    let_overlap(bench.queue(), true);
  }
}

}  // namespace rz::cuda
