// How many threads are worth starting, on processors that a test can take away.
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "base/cores.h"

namespace rz {
namespace {

// Calls `check` on a thread that may run on `n` of this process's processors, where it has so many.
template <class Check>
void with_processors(int n, Check check) {
  std::thread([&] {
    cpu_set_t all, some;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < n) return;
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) < n; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &some);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof some, &some), 0);
    check();
  }).join();
}

TEST(Cores, AreThoseOfTheAffinityMask) {
  with_processors(1, [] {
    EXPECT_EQ(usable_cores(), 1);
    EXPECT_EQ(physical_cores(), 1);
    EXPECT_EQ(worthwhile_threads(8), 1);
  });
  with_processors(2, [] {
    EXPECT_LE(usable_cores(), 2);
    EXPECT_LE(physical_cores(), usable_cores());
    EXPECT_EQ(worthwhile_threads(8), usable_cores());
  });
}

TEST(Cores, GiveAHostTheThreadsItAsksForUpToTheirNumber) {
  EXPECT_EQ(worthwhile_threads(0), physical_cores());
  EXPECT_EQ(worthwhile_threads(1), 1);
  EXPECT_EQ(worthwhile_threads(usable_cores()), usable_cores());
  EXPECT_EQ(worthwhile_threads(usable_cores() + 1), usable_cores());
  EXPECT_GE(usable_cores(), physical_cores());
  EXPECT_GE(physical_cores(), 1);
}

}  // namespace
}  // namespace rz
