#include "base/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

namespace rz {

namespace {

// The beginning of a small file of the system, as text; empty where it cannot be read.
struct SystemFile {
  char text[64] = "";
  explicit SystemFile(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t n = read(fd, text, sizeof text - 1);
    text[std::max<ssize_t>(n, 0)] = 0;
    close(fd);
  }
};

long topology(int cpu, const char *what) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
  const SystemFile file(path);
  return *file.text ? std::strtol(file.text, nullptr, 10) : -1;
}

// Processors this thread may run on; none where the system does not say.
cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

int32_t allowed_processors() {
  const cpu_set_t set = allowed();
  const int32_t n = CPU_COUNT(&set);
  return n > 0 ? n : static_cast<int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int32_t allowed_physical_cores() {
  const cpu_set_t set = allowed();
  std::set<std::pair<long, long>> cores;  // (package, core)
  int32_t unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    const long core = topology(cpu, "core_id");
    if (core < 0) {
      ++unknown;
    } else {
      cores.emplace(topology(cpu, "physical_package_id"), core);
    }
  }
  const int32_t n = static_cast<int32_t>(cores.size()) + unknown;
  return n > 0 ? n : allowed_processors();
}

int32_t rounded_up(long quota, long period) {
  return quota > 0 && period > 0 ? static_cast<int32_t>((quota + period - 1) / period) : 0;
}

// Cores' worth of time that the control group has; 0 = no limit.
int32_t group_limit() {
  const SystemFile both("/sys/fs/cgroup/cpu.max");  // "max 100000" or "<quota> <period>"
  if (*both.text) {
    char *end = nullptr;
    const long quota = std::strtol(both.text, &end, 10);
    return rounded_up(quota, std::strtol(end, nullptr, 10));
  }
  const SystemFile quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const SystemFile period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return rounded_up(std::strtol(quota.text, nullptr, 10), std::strtol(period.text, nullptr, 10));
}

}  // namespace

int32_t usable_cores() {
  const int32_t processors = allowed_processors(), limit = group_limit();
  return limit > 0 ? std::min(processors, limit) : processors;
}

int32_t physical_cores() { return std::min(allowed_physical_cores(), usable_cores()); }

int32_t worthwhile_threads(int32_t asked) {
  return asked > 0 ? std::min(asked, usable_cores()) : physical_cores();
}

}  // namespace rz
