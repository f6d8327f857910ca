// A fixed team of threads that work on one task together, phase by phase. Between tasks they sleep: a host's
// cores are its own. Inside a task they wait for each other briefly spinning, then parked.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace rz {

class ThreadTeam {
 public:
  // The calling thread of run() is thread 0; n - 1 more are started here.
  explicit ThreadTeam(int32_t n_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  int32_t size() const { return size_; }

  // Runs task(context, thread) on every thread, or on the caller alone while the others sleep on, and returns
  // when all have. One caller at a time. The task throws nothing.
  using Task = void (*)(void *context, int32_t thread);
  enum class Members : uint8_t { All, CallerAlone };
  void run(Members members, Task task, void *context);
  // Threads in the task under way.
  int32_t active() const { return alone_ ? 1 : size_; }

  // Inside a task: the next unit of the current phase, counted from 0; the team shares the count. It begins
  // anew after each barrier.
  int64_t take() { return next_unit_.fetch_add(1, std::memory_order_relaxed); }
  // Inside a task: all threads wait for the last one. Everything written before is seen after.
  void barrier();

 private:
  void work(int32_t thread);
  void wait_past(std::atomic<uint32_t> &value, uint32_t seen);

  int32_t size_;
  int32_t spins_;  // pauses before parking; none when the team is larger than the cores it may use
  std::vector<std::thread> threads_;
  Task task_ = nullptr;
  void *context_ = nullptr;
  bool alone_ = false;
  bool stop_ = false;
  alignas(64) std::atomic<uint32_t> started_{0};  // tasks begun; workers sleep on it
  alignas(64) std::atomic<uint32_t> phase_{0};    // barriers passed
  alignas(64) std::atomic<int32_t> waiting_{0};   // threads at the barrier
  alignas(64) std::atomic<int64_t> next_unit_{0};
};

}  // namespace rz
