#include "base/threads.h"

#include <system_error>

#include "base/cores.h"

namespace rz {

namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(int32_t n_threads) : size_(n_threads < 1 ? 1 : n_threads) {
  spins_ = size_ <= usable_cores() ? 2000 : 0;  // some 20 to 80 microseconds
  try {
    for (int32_t i = 1; i < size_; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error &) {
    size_ = static_cast<int32_t>(threads_.size()) + 1;  // the system gives no more threads: fewer will do
  }
}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  started_.fetch_add(1, std::memory_order_release);
  started_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

void ThreadTeam::wait_past(std::atomic<uint32_t> &value, uint32_t seen) {
  for (int32_t i = 0; i < spins_; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
    pause();
  }
  value.wait(seen, std::memory_order_acquire);
}

void ThreadTeam::work(int32_t thread) {
  uint32_t seen = 0;
  for (;;) {
    // Tasks follow each other closely while a model computes, so a worker looks a moment before it sleeps.
    while (started_.load(std::memory_order_acquire) == seen) wait_past(started_, seen);
    seen = started_.load(std::memory_order_acquire);
    if (stop_) return;
    task_(context_, thread);
    barrier();
  }
}

void ThreadTeam::run(Members members, Task task, void *context) {
  alone_ = members == Members::CallerAlone || size_ == 1;
  next_unit_.store(0, std::memory_order_relaxed);
  if (!alone_) {
    task_ = task;
    context_ = context;
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
  }
  task(context, 0);
  barrier();
}

void ThreadTeam::barrier() {
  if (alone_) {
    next_unit_.store(0, std::memory_order_relaxed);
    return;
  }
  const uint32_t seen = phase_.load(std::memory_order_acquire);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    waiting_.store(0, std::memory_order_relaxed);
    next_unit_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  while (phase_.load(std::memory_order_acquire) == seen) wait_past(phase_, seen);
}

}  // namespace rz
