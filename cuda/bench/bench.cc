#include "cuda/bench/bench.h"

#include <algorithm>
#include <cstdio>

#include "cuda/ceilings.h"

namespace rz::cuda {

namespace {

constexpr double kRoundUs = 5000;   // long beside the microsecond that a mark is off by
constexpr int kMostLaunches = 256;  // of a recording, unless it takes more copies
constexpr int kFirstLaunches = 8;   // by which the length of a round is chosen

int up_to_multiple(int n, int of) { return (n + of - 1) / of * of; }

}  // namespace

Bench::Bench(const BenchOptions &options)
    : options_(options),
      facts_(device_facts(options.device)),
      queue_(options.device),
      before_(queue_.make_mark()),
      after_(queue_.make_mark()),
      ceilings_(measure_ceilings(options.device)) {
  if (options_.tiny) options_.rounds = 1;
}

int Bench::copies_of(uint64_t size_bytes) const {
  if (options_.tiny) return 2;
  const uint64_t rotated = 4 * facts_.l2_bytes;
  return static_cast<int>(std::max<uint64_t>(1, (rotated + size_bytes - 1) / size_bytes));
}

bool Bench::has_room(const std::string &name, uint64_t size_bytes) const {
  const uint64_t free = free_bytes(options_.device);
  if (size_bytes <= free) return true;
  std::fprintf(stderr, "cuda-bench: %s: left out, it takes %.1f GB and %.1f are free\n", name.c_str(),
               static_cast<double>(size_bytes) / 1e9, static_cast<double>(free) / 1e9);
  return false;
}

// Microseconds of a launch in the last round; every round's in `samples`, behind one that does not count.
double Bench::give_all(int launches, int copies, const Give &give, Way way, std::vector<double> *samples) {
  std::unique_ptr<Queue::Recording> recording;
  const auto give_each = [&] {
    for (int i = 0; i < launches; ++i) give(i % copies);
  };
  if (way == Way::Recorded) {
    queue_.begin_recording();
    give_each();
    recording = queue_.end_recording();
  }
  const int rounds = samples ? options_.rounds : 1;
  double us = 0;
  for (int round = 0; round <= rounds; ++round) {
    queue_.reach(*before_);
    recording ? queue_.replay(*recording) : give_each();
    queue_.reach(*after_);
    us = queue_.microseconds(*before_, *after_) / launches;
    queue_.wait();
    if (samples && round > 0) samples->push_back(us);
  }
  return us;
}

void Bench::time(const std::string &name, const Cost &cost, int copies, const Give &give, Way way) {
  give(0);  // the kernel is loaded, and its faults are told, before anything is recorded
  queue_.wait();
  int launches = copies;
  if (!options_.tiny) {
    const double us = give_all(up_to_multiple(kFirstLaunches, copies), copies, give, way, nullptr);
    const double wanted = std::min(kRoundUs / std::max(us, 0.1), double{kMostLaunches});
    launches = up_to_multiple(std::max(static_cast<int>(wanted), 1), copies);
  }
  std::vector<double> us;
  give_all(launches, copies, give, way, &us);
  std::ranges::sort(us);
  const size_t n = us.size();
  const double median = (us[(n - 1) / 2] + us[n / 2]) / 2;
  print_row(name, cost, median, (us.back() - us.front()) / median, launches);
  ++rows_printed_;
}

// ---- telling ------------------------------------------------------------------------------------------------------------
void Bench::print_head() const {
  if (options_.csv) {
    std::puts("kernel,us,spread,launches,bytes,operations,gb_s,tflop_s,ceiling,share");
    return;
  }
  std::printf(
      "%s, %d multiprocessors, %.1f MB of second-level cache; ceilings: read %.1f GB/s, float %.2f "
      "TFLOP/s\n\n",
      facts_.name.c_str(), facts_.multiprocessors, static_cast<double>(facts_.l2_bytes) / 1e6,
      ceilings_.read_bytes_per_s / 1e9, ceilings_.float_ops_per_s / 1e12);
  std::puts(
      "| kernel                         |         us | spread |     GB/s |  TFLOP/s |          share |");
  std::puts(
      "|--------------------------------|-----------:|-------:|---------:|---------:|---------------:|");
}

void Bench::print_row(const std::string &name, const Cost &cost, double us, double spread,
                      int launches) const {
  const double gb_s = cost.bytes / us / 1e3, tflop_s = cost.operations / us / 1e6;
  const double of_read = gb_s * 1e9 / ceilings_.read_bytes_per_s;
  const double of_float = tflop_s * 1e12 / ceilings_.float_ops_per_s;
  const double share = std::max(of_read, of_float);
  const char *ceiling = share == 0 ? "" : of_float > of_read ? "float" : "read";
  if (options_.csv) {
    std::printf("%s,%.3f,%.4f,%d,%.0f,%.0f,%.2f,%.4f,%s,%.4f\n", name.c_str(), us, spread, launches,
                cost.bytes, cost.operations, gb_s, tflop_s, ceiling, share);
  } else if (share == 0) {
    std::printf("| %-30s | %10.2f | %4.1f %% | %8s | %8s | %14s |\n", name.c_str(), us, 100 * spread, "-",
                "-", "-");
  } else {
    std::printf("| %-30s | %10.2f | %4.1f %% | %8.5g | %8.4g | %3.0f %% of %-5s |\n", name.c_str(), us,
                100 * spread, gb_s, tflop_s, 100 * share, ceiling);
  }
  std::fflush(stdout);
}

}  // namespace rz::cuda
