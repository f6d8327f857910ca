// One thread block of the emulator: its threads are fibers that run until they have to wait for each other.
// Which goes first is shuffled by a seed, so that a kernel that depends on the order fails. Lanes that wait
// for different things, and blocks in which nobody can go on, are errors with a message, not a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cuda/types.h"

namespace rz::cuda::emulator {

// A launch: the kernel with its arguments bound, and its sizes.
struct Job {
  std::function<void()> body;
  const char *name = "";
  Grid grid;
  uint32_t threads = 1;
  size_t shared_bytes = 0;
  bool dependent = false;  // may begin before the one ahead has ended
};

// What lanes of a warp may be meeting for; all have to agree.
enum class Meeting : uint8_t { None, Sync, Shuffle, Ballot, Multiply };

class Block {
 public:
  Block();
  ~Block();
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  // Prepares block (x, y, z) of a job. Its shared memory is filled with NaN.
  void begin(const Job &job, Grid index, uint64_t seed);
  enum class Until : uint8_t { PdlWait, End };
  // PdlWait: until every thread has ended or waits for the launch ahead. Throws std::logic_error with the
  // kernel's name where threads can never go on.
  void run(Until until);

  // ---- for the threads
  static Block &current();
  int thread() const { return static_cast<int>(fiber_); }
  const Job &job() const { return *job_; }
  Grid index() const { return index_; }
  std::byte *shared() { return shared_.get(); }
  void sync();
  void pdl_wait();
  static constexpr size_t kSlotBytes = 48;
  // Leaves `bytes` for the other lanes and waits for theirs: (kWarp) slots of kSlotBytes, good until the
  // lanes meet twice more. Slots of lanes that have ended hold what they held.
  const std::byte (*meet(Meeting meeting, const void *mine, size_t bytes))[kSlotBytes];
  uint32_t live_lanes() const;  // of the caller's warp, a bit each

 private:
  struct Fiber;
  struct Warp {
    uint32_t live = 0, here = 0;  // lanes, a bit each
    uint32_t round = 0;           // how often they have met
    Meeting meeting = Meeting::None;
    alignas(16) std::byte slots[2][kWarp][kSlotBytes];
  };

  static void enter(Block *block);  // a fiber's first function
  bool run_warp(std::span<const uint32_t> lanes);
  void shuffle_order(uint32_t threads);
  void thread_main();
  void yield();
  void wait_for(const uint32_t &round, uint32_t seen);
  void arrive(Warp &warp, int lane);
  void arrive_block();
  void finish();
  [[noreturn]] void stuck();
  Warp &warp_of(size_t fiber) { return warps_[fiber / kWarp]; }

  const Job *job_ = nullptr;
  Grid index_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  std::vector<uint32_t> order_;  // of the threads, warp by warp
  std::vector<uint32_t> warp_order_;
  size_t fiber_ = 0;                          // that runs
  uint32_t live_ = 0, here_ = 0, round_ = 0;  // threads of the block, and of sync()
  bool released_ = false;                     // the launch ahead has ended
  std::unique_ptr<std::byte[]> shared_;
  std::string trouble_;
  std::mt19937_64 random_;
  void *scheduler_ = nullptr;              // its stack pointer while a fiber runs
  void *scheduler_tsan_ = nullptr;         // likewise, as ThreadSanitizer knows it
  const void *scheduler_stack_ = nullptr;  // and AddressSanitizer
  size_t scheduler_bytes_ = 0;
};

}  // namespace rz::cuda::emulator
