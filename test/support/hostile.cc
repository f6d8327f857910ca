#include "support/hostile.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace rz::test {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr uint64_t kMemory = 64 << 20;
constexpr size_t kStack = kSanitized ? 1 << 20 : 64 << 10;

uint64_t address_space() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Bounds what this process may map from here on, until destroyed.
class MemoryBound {
 public:
  explicit MemoryBound(uint64_t more) {
    getrlimit(RLIMIT_AS, &before_);
    if (kSanitized) return;
    rlimit bounded = before_;
    bounded.rlim_cur = address_space() + more;
    setrlimit(RLIMIT_AS, &bounded);
  }
  ~MemoryBound() { setrlimit(RLIMIT_AS, &before_); }
  MemoryBound(const MemoryBound &) = delete;
  MemoryBound &operator=(const MemoryBound &) = delete;

 private:
  rlimit before_{};
};

struct Job {
  const std::function<void()> &work;
  Outcome outcome;
};

void *run_job(void *argument) {
  auto &[work, outcome] = *static_cast<Job *>(argument);
  const auto begin = std::chrono::steady_clock::now();
  try {
    work();
  } catch (const Error &error) {
    outcome.status = error.status();
    outcome.message = error.what();
  } catch (const std::exception &error) {
    outcome.foreign = true;
    outcome.message = error.what();
  }
  outcome.seconds = std::chrono::steady_clock::now() - begin;
  return nullptr;
}

}  // namespace

Outcome run_hostile(uint64_t file_bytes, const std::function<void()> &work) {
  // One arena for all threads: the room that glibc sets aside for a thread's own would count as used.
  mallopt(M_ARENA_MAX, 1);
  Job job{work, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  {
    const MemoryBound bound(file_bytes + kMemory + kStack);
    const int failed = pthread_create(&thread, &attributes, run_job, &job);
    pthread_attr_destroy(&attributes);
    if (failed) throw std::runtime_error("cannot start a thread");
    pthread_join(thread, nullptr);
  }
  return job.outcome;
}

}  // namespace rz::test
