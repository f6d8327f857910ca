#include "cuda/emulator/block.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define RZ_FIBERS_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define RZ_FIBERS_TSAN
// The emulator's own state: fibers of one thread, of which ThreadSanitizer shall see the kernels' alone.
#define RZ_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define RZ_UNSEEN
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace rz::cuda::emulator {

namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr unsigned char kPoison = 0xff;  // a NaN in every format

thread_local Block *current_block = nullptr;

// What happens before what, for ThreadSanitizer: a launch before its threads, they before what follows it,
// and the threads that meet before each other's next steps. Nothing else orders two threads of a block.
void happened([[maybe_unused]] const void *before) {
#if defined(RZ_FIBERS_TSAN)
  __tsan_release(const_cast<void *>(before));
#endif
}
void happens([[maybe_unused]] const void *after) {
#if defined(RZ_FIBERS_TSAN)
  __tsan_acquire(const_cast<void *>(after));
#endif
}

}  // namespace

// ---- switching stacks -----------------------------------------------------------------------------------------------
#if defined(__x86_64__)
// Saves the registers that a function must keep on the stack in use, and takes up those of another stack.
extern "C" void rz_emulator_switch(void **save, void *load);
asm(R"(
  .text
  .p2align 4
  .globl rz_emulator_switch
  .hidden rz_emulator_switch
  .type rz_emulator_switch, @function
rz_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size rz_emulator_switch, .-rz_emulator_switch
)");
#else
namespace {
void rz_emulator_switch(void **save, void *load) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, static_cast<ucontext_t *>(load));
}
}  // namespace
#endif

struct Block::Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  void *at = nullptr;               // its stack pointer (or context) while it does not run
  const uint32_t *round = nullptr;  // it waits until this is no longer `seen`
  uint32_t seen = 0;
  bool done = false, waits_for_launch = false;
  void *tsan = nullptr;
#if !defined(__x86_64__)
  ucontext_t first;
#endif
};

Block::Block() = default;
Block::~Block() {
#if defined(RZ_FIBERS_TSAN)
  for (const auto &fiber : fibers_) {
    if (fiber->tsan) __tsan_destroy_fiber(fiber->tsan);
  }
#endif
}

RZ_UNSEEN Block &Block::current() { return *current_block; }

// Warps in any order, and in each its lanes in any order.
void Block::shuffle_order(uint32_t threads) {
  std::array<uint32_t, kWarp> lanes;
  std::iota(lanes.begin(), lanes.end(), 0);
  std::ranges::shuffle(lanes, random_);
  std::vector<uint32_t> &warps = warp_order_;
  warps.resize(warps_.size());
  std::iota(warps.begin(), warps.end(), 0);
  std::ranges::shuffle(warps, random_);
  order_.clear();
  for (const uint32_t warp : warps) {
    for (const uint32_t lane : lanes) {
      if (warp * kWarp + lane < threads) order_.push_back(warp * kWarp + lane);
    }
  }
}

RZ_UNSEEN void Block::begin(const Job &job, Grid index, uint64_t seed) {
  job_ = &job;
  index_ = index;
  random_.seed(seed);
  live_ = job.threads;
  here_ = 0;
  released_ = false;
  trouble_.clear();
  shared_ = std::make_unique_for_overwrite<std::byte[]>(job.shared_bytes);
  std::memset(shared_.get(), kPoison, job.shared_bytes);
  while (fibers_.size() < job.threads) fibers_.push_back(std::make_unique<Fiber>());
  warps_.resize((job.threads + kWarp - 1) / kWarp);
  for (uint32_t i = 0; i < job.threads; ++i) {
    Fiber &fiber = *fibers_[i];
    fiber.done = fiber.waits_for_launch = false;
    fiber.round = nullptr;
#if defined(__x86_64__)
    // As if enter() had been called: its return address lies where the stack is 16-aligned.
    void **top = reinterpret_cast<void **>(fiber.stack.get() + kStackBytes - 64);
    top = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15});
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(&Block::enter);
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
    fiber.at = top;
#else
    getcontext(&fiber.first);
    fiber.first.uc_stack.ss_sp = fiber.stack.get();
    fiber.first.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.first, reinterpret_cast<void (*)()>(&Block::enter), 0);
    fiber.at = &fiber.first;
#endif
#if defined(RZ_FIBERS_TSAN)
    if (fiber.tsan) __tsan_destroy_fiber(fiber.tsan);
    fiber.tsan = __tsan_create_fiber(0);
#endif
  }
  shuffle_order(job.threads);
  for (size_t i = 0; i < warps_.size(); ++i) {
    const uint32_t lanes = std::min<uint32_t>(kWarp, job.threads - static_cast<uint32_t>(i) * kWarp);
    warps_[i].live = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    warps_[i].here = 0;
    warps_[i].meeting = Meeting::None;
  }
}

// Each lane as far as it goes alone. False: none could go on.
RZ_UNSEEN bool Block::run_warp(std::span<const uint32_t> lanes) {
  bool moved = false;
  for (const uint32_t i : lanes) {
    Fiber &fiber = *fibers_[i];
    if (fiber.done || (fiber.round && *fiber.round == fiber.seen)) continue;
    if (fiber.waits_for_launch && !released_) continue;
    moved = true;
    fiber_ = i;
#if defined(RZ_FIBERS_TSAN)
    __tsan_switch_to_fiber(fiber.tsan, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(RZ_FIBERS_ASAN)
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, fiber.stack.get(), kStackBytes);
#endif
    rz_emulator_switch(&scheduler_, fiber.at);
#if defined(RZ_FIBERS_ASAN)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    if (!trouble_.empty()) stuck();
  }
  return moved;
}

RZ_UNSEEN void Block::run(Until until) {
  Block *const outer = current_block;
  current_block = this;
  if (until == Until::End) released_ = true;
#if defined(RZ_FIBERS_TSAN)
  scheduler_tsan_ = __tsan_get_current_fiber();
#endif
  happened(&released_);
  while (live_ > 0) {
    bool moved = false;
    for (size_t first = 0; first < order_.size(); first += kWarp) {
      while (run_warp(std::span(order_).subspan(first, std::min<size_t>(kWarp, order_.size() - first)))) {
        moved = true;
      }
    }
    if (moved) continue;
    const bool all_wait = std::ranges::all_of(
        order_, [&](uint32_t i) { return fibers_[i]->done || (fibers_[i]->waits_for_launch && !released_); });
    if (all_wait) break;
    trouble_ = "threads wait for others that never come";
    stuck();
  }
  happens(&live_);
  current_block = outer;
}

RZ_UNSEEN void Block::stuck() {
  int waiting = 0, ended = 0;
  for (const uint32_t i : order_) {
    ended += fibers_[i]->done;
    waiting += !fibers_[i]->done && fibers_[i]->round;
  }
  current_block = nullptr;
  throw std::logic_error(std::string(job_->name) + ", block (" + std::to_string(index_.x) + ", " +
                         std::to_string(index_.y) + ", " + std::to_string(index_.z) + "): " + trouble_ +
                         " (" + std::to_string(waiting) + " of " + std::to_string(job_->threads) +
                         " threads wait, " + std::to_string(ended) + " have ended)");
}

// ---- a thread's life ------------------------------------------------------------------------------------------------
RZ_UNSEEN void Block::enter(Block *) {
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &current_block->scheduler_stack_,
                                  &current_block->scheduler_bytes_);
#endif
  current_block->thread_main();
}

RZ_UNSEEN void Block::thread_main() {
  happens(&released_);
  job_->body();
  finish();
  yield();
}

// One that ends no longer keeps others waiting.
RZ_UNSEEN void Block::finish() {
  Fiber &me = *fibers_[fiber_];
  me.done = true;
  --live_;
  if (live_ > 0 && here_ == live_) arrive_block();
  Warp &warp = warp_of(fiber_);
  warp.live &= ~(1u << fiber_ % kWarp);
  if (warp.live != 0 && warp.here == warp.live) {
    warp.here = 0;
    ++warp.round;
  }
}

RZ_UNSEEN void Block::yield() {
  Fiber &me = *fibers_[fiber_];
  if (me.done) happened(&live_);
#if defined(RZ_FIBERS_TSAN)
  __tsan_switch_to_fiber(scheduler_tsan_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(RZ_FIBERS_ASAN)
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(me.done ? nullptr : &fake, scheduler_stack_, scheduler_bytes_);
#endif
  rz_emulator_switch(&me.at, scheduler_);
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_finish_switch_fiber(fake, &scheduler_stack_, &scheduler_bytes_);
#endif
}

RZ_UNSEEN void Block::wait_for(const uint32_t &round, uint32_t seen) {
  Fiber &me = *fibers_[fiber_];
  me.round = &round;
  me.seen = seen;
  while (round == seen) yield();
  fibers_[fiber_]->round = nullptr;
}

RZ_UNSEEN void Block::arrive_block() {
  here_ = 0;
  ++round_;
}

RZ_UNSEEN void Block::sync() {
  const uint32_t seen = round_;
  happened(&round_);
  if (++here_ == live_) {
    arrive_block();
  } else {
    wait_for(round_, seen);
  }
  happens(&round_);
}

RZ_UNSEEN void Block::pdl_wait() {
  Fiber &me = *fibers_[fiber_];
  if (!released_) {
    me.waits_for_launch = true;
    yield();
    fibers_[fiber_]->waits_for_launch = false;
  }
  happens(&released_);
}

RZ_UNSEEN uint32_t Block::live_lanes() const { return warps_[fiber_ / kWarp].live; }

RZ_UNSEEN const std::byte (*Block::meet(Meeting meeting, const void *mine, size_t bytes))[Block::kSlotBytes] {
  Warp &warp = warp_of(fiber_);
  const auto lane = static_cast<uint32_t>(fiber_ % kWarp);
  if (warp.here == 0) warp.meeting = meeting;
  if (warp.meeting != meeting) {
    trouble_ = "lanes of a warp met for different operations";
    yield();
  }
  const uint32_t seen = warp.round;
  auto &slots = warp.slots[seen % 2];
  if (bytes > 0) std::memcpy(slots[lane], mine, bytes);
  happened(&warp.round);
  warp.here |= 1u << lane;
  if (warp.here == warp.live) {
    warp.here = 0;
    ++warp.round;
  } else {
    wait_for(warp.round, seen);
  }
  happens(&warp.round);
  return slots;
}

}  // namespace rz::cuda::emulator
