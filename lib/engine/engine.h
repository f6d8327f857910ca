// The machine room of one model: executor, KV pool, scheduler, one lock, and a thread that sleeps while there
// is nothing to compute. With manual stepping there is no thread: whoever calls step(), or waits for a
// result, computes.
//
// One step is one Batch and one Executor::run. While it runs the lock is free; sequences in flight then
// belong to the stepping thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "engine/scheduler.h"
#include "text/tokenizer.h"

namespace rz {

struct EngineOptions {
  StepLimits step;
  int32_t context = 0;  // longest timeline
  int32_t pages = 0;    // of the KV pool
  int32_t n_ops = 0;    // of the plan
  bool manual_step = false;
  bool keep_prefixes = true;
  Pooling pooling = Pooling::None;          // what the model names for embeddings
  const Tokenizer *tokenizer = nullptr;     // null: token ids only
  std::function<Hash128()> model_identity;  // for saved sessions; called without the lock
};

class Engine {
 public:
  using Lock = std::unique_lock<std::mutex>;

  Engine(std::unique_ptr<Executor> executor, EngineOptions options);
  ~Engine();  // no sequence is left
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  const EngineOptions &options() const { return options_; }
  Lock lock() { return Lock(mutex_); }
  // The lock, with no step being computed: pages may be read and written.
  Lock exclusive();
  KvPool &pool() { return pool_; }  // with the lock
  Executor &executor() { return *executor_; }

  // Throws Limit when `tokens` could never fit the pool.
  void check_fits(int32_t tokens) const;
  // Puts sequences in line, all at once. They stay until they are over or removed.
  void start(std::span<Sequence *const> sequences);
  // Until it is over. Throws its error.
  void run_to_end(Sequence &sequence);
  // With the lock: the sequence has something to compute again.
  void wake() { worker_.notify_one(); }
  // With the lock: a step that computes the sequence's prompt is not worth finishing.
  void interrupt(Sequence &sequence);
  // With the lock, not in flight: takes the sequence out of the line.
  void leave(Sequence &sequence);
  // With the lock: the same, once nothing computes it.
  void remove(Lock &lock, Sequence &sequence);
  // With the lock: waits, or computes where stepping is manual, until ready() or the time is over.
  template <class Ready>
  bool wait(Lock &lock, std::condition_variable &changed, Clock::time_point until, Ready ready);

  // Manual stepping: computes for about `budget_us`, at least one op. Returns whether work is left. Throws
  // Busy when another thread is stepping.
  bool step(uint64_t budget_us);

  std::vector<ProfileEntry> profile();

 private:
  static void *thread_main(void *engine);
  void start_thread();
  void loop();
  bool prepare(int32_t prefill_rows);
  template <class Work>
  std::optional<Error> without(Lock &lock, const Work &work);
  void compute(Lock &lock, uint64_t budget_us);
  bool runs_ahead();
  void compute_ahead(Lock &lock);
  void plan_ahead();
  void go_on();
  void take_outputs();
  void finish_step();
  void fail_step(const Error &error);
  void drop_step();
  bool step_once(Lock &lock, uint64_t budget_us);
  bool step_until(Lock &lock, Clock::time_point until);
  void adapt_prefill(int32_t ops, Clock::duration spent);
  void notify_all();

  EngineOptions options_;
  std::unique_ptr<Executor> executor_;
  std::mutex mutex_;
  KvPool pool_;
  Scheduler scheduler_;
  Step step_;
  Step next_;               // given to the device while step_ is under way; else empty
  int32_t next_op_ = 0;     // of step_, when its run was cut
  int32_t prefill_rows_;    // of a step that has a budget
  bool computing_ = false;  // a thread is in Executor::run or take()
  bool stepping_ = false;   // a thread is in step_once()
  bool stopping_ = false;
  int32_t guests_ = 0;              // threads that wait in exclusive(): the next step lets them go first
  std::atomic<bool> abort_{false};  // ends the run after the current op
  std::condition_variable worker_;  // work came, or the last guest went
  std::condition_variable idle_;    // a run ended
  pthread_t thread_{};
  bool has_thread_ = false;
};

template <class Ready>
bool Engine::wait(Lock &lock, std::condition_variable &changed, Clock::time_point until, Ready ready) {
  while (!ready()) {
    if (until != Clock::time_point::max() && Clock::now() >= until) return false;
    if (options_.manual_step && !stepping_ && step_until(lock, until)) continue;
    if (until == Clock::time_point::max()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, until);
    }
  }
  return true;
}

}  // namespace rz
