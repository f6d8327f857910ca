#include "cpu/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/arena.h"
#include "base/cores.h"
#include "base/threads.h"

namespace rz::cpu {

namespace {

using Clock = std::chrono::steady_clock;

// Read anew in every pass, so far larger than the caches: 8 threads that share one of 32 MB read 8 times
// that.
constexpr uint64_t kSmallestBuffer = uint64_t{256} << 20;
constexpr uint64_t kBytesPerThread = uint64_t{32} << 20;
// The median of many short rounds is what the machine keeps up: the best one of a virtual machine's memory is
// a quarter above that. A round is long compared with the waiting for each other at its ends.
constexpr double kSecondsPerCeiling = 0.15, kSecondsPerRound = 0.01;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Measurement {
 public:
  Measurement(const Kernels &kernels, int32_t threads) : kernels_(kernels), team_(threads) {}

  Ceilings run() {
    Ceilings result;
    result.threads = team_.size();
    result.read_bytes_per_s = read_rate();
    result.int8_ops_per_s = multiply_rate(kernels_.multiply_int8);
    result.float_ops_per_s = multiply_rate(kernels_.multiply_float);
    return result;
  }

 private:
  // Seconds that all threads together take for work(thread), from the first one's start to the last one's
  // end.
  template <class Work>
  double time(const Work &work) {
    struct Context {
      ThreadTeam &team;
      const Work &work;
      double seconds;
    } context{team_, work, 0};
    team_.run(
        ThreadTeam::Members::All,
        [](void *raw, int32_t thread) {
          Context &c = *static_cast<Context *>(raw);
          c.team.barrier();  // everyone is awake
          const Clock::time_point start = Clock::now();
          c.work(thread);
          c.team.barrier();
          if (thread == 0) c.seconds = seconds_since(start);
        },
        &context);
    return context.seconds;
  }

  template <class Work>
  double median_time(const Work &work) {
    std::vector<double> times;
    const Clock::time_point start = Clock::now();
    do times.push_back(time(work));
    while (seconds_since(start) < kSecondsPerCeiling);
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

  double read_rate() {
    const auto n = static_cast<uint64_t>(team_.size());
    const uint64_t cores = std::min(n, static_cast<uint64_t>(usable_cores()));
    const uint64_t part = std::max(kSmallestBuffer, cores * kBytesPerThread) / n / 4096 * 4096;
    const Memory buffer(part * n);
    buffer.use_large_pages();
    const auto mine = [&](int32_t thread) { return buffer.data() + static_cast<uint64_t>(thread) * part; };
    // Each thread touches what it will read, which puts the pages near it.
    time([&](int32_t thread) { std::memset(mine(thread), 1, part); });
    const double seconds = median_time([&](int32_t thread) { kernels_.read_memory(mine(thread), part); });
    return static_cast<double>(part * n) / seconds;
  }

  double multiply_rate(uint64_t (*multiply)(uint64_t steps)) {
    uint64_t steps = 1024;
    uint64_t operations = 0;  // of one thread in a round
    const auto work = [&](int32_t thread) {
      const uint64_t done = multiply(steps);
      if (thread == 0) operations = done;
    };
    while (time(work) < kSecondsPerRound) steps *= 2;
    const double seconds = median_time(work);
    return static_cast<double>(operations) * team_.size() / seconds;
  }

  const Kernels &kernels_;
  ThreadTeam team_;
};

}  // namespace

Ceilings measure_ceilings(const Kernels &kernels, int32_t threads) {
  return Measurement(kernels, threads).run();
}

}  // namespace rz::cpu
