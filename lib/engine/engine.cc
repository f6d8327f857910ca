#include "engine/engine.h"

#include <signal.h>

#include <algorithm>

#include "engine/float_mode.h"

namespace rz {

namespace {

// A run of few rows ends soon by itself; ending it early would cost the others in it a token.
constexpr int32_t kRowsWorthAborting = 64;
// The first steps with a budget compute so many rows of a prompt; then what is measured decides.
constexpr int32_t kFirstPrefillRows = 16;
// A game gives about 2 ms a frame, so its longest op should take at most half of that.
constexpr int64_t kLongestOpMicroseconds = 1000;
// The longest op of a layer (its feed-forward) takes about this many times the average one.
constexpr int64_t kLongestToAverage = 4;
constexpr size_t kStackBytes = size_t{1} << 20;

int64_t microseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

}  // namespace

Engine::Engine(std::unique_ptr<Executor> executor, EngineOptions options)
    : options_(std::move(options)),
      executor_(std::move(executor)),
      pool_(*executor_, options_.pages, options_.keep_prefixes),
      scheduler_(pool_, options_.step.sequences),
      step_(options_.step),
      next_({options_.step.rows, options_.step.sequences, options_.step.logit_rows}),
      prefill_rows_(std::min(kFirstPrefillRows, options_.step.rows)) {
  if (!options_.manual_step) start_thread();
}

Engine::~Engine() {
  if (!has_thread_) return;
  {
    Lock lock(mutex_);
    stopping_ = true;
    worker_.notify_one();
  }
  pthread_join(thread_, nullptr);
}

// The thread has a stack of known size, whatever the host's limits are, and none of the host's signals.
void Engine::start_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int refused = pthread_create(&thread_, &attributes, thread_main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (refused != 0) fail(Status::NoMemory, "engine thread: the system refused it (error %d)", refused);
  has_thread_ = true;
}

void *Engine::thread_main(void *engine) {
  static_cast<Engine *>(engine)->loop();
  return nullptr;
}

void Engine::loop() {
  Lock lock(mutex_);
  for (;;) {
    worker_.wait(lock, [&] { return stopping_ || (guests_ == 0 && prepare(options_.step.rows)); });
    if (stopping_) return;
    if (runs_ahead()) {
      compute_ahead(lock);
    } else {
      compute(lock, 0);
    }
  }
}

Engine::Lock Engine::exclusive() {
  Lock lock(mutex_);
  ++guests_;
  idle_.wait(lock, [&] { return !computing_; });
  if (--guests_ == 0) worker_.notify_all();
  return lock;
}

void Engine::check_fits(int32_t tokens) const {
  const int32_t needed = (tokens + kPageTokens - 1) / kPageTokens;
  if (needed <= options_.pages) return;
  fail(Status::Limit, "KV pool: %d pages needed for %d tokens, %d there in all (rz_model_options.kv_bytes)",
       needed, tokens, options_.pages);
}

void Engine::start(std::span<Sequence *const> sequences) {
  const Lock lock(mutex_);
  for (Sequence *sequence : sequences) scheduler_.add(*sequence);
  worker_.notify_one();
}

void Engine::run_to_end(Sequence &sequence) {
  std::condition_variable changed;
  sequence.changed = &changed;
  Sequence *const one[] = {&sequence};
  start(one);
  Lock lock(mutex_);
  wait(lock, changed, Clock::time_point::max(), [&] { return sequence.over; });
  remove(lock, sequence);
  if (sequence.error) throw Error(*sequence.error);
}

void Engine::interrupt(Sequence &sequence) {
  if (!sequence.in_flight) return;
  if (!computing_) {
    drop_step();
  } else if (step_.batch().rows() >= kRowsWorthAborting) {
    abort_ = true;
  }
}

void Engine::leave(Sequence &sequence) {
  scheduler_.remove(sequence);
  worker_.notify_one();
}

void Engine::remove(Lock &lock, Sequence &sequence) {
  interrupt(sequence);
  idle_.wait(lock, [&] { return !sequence.in_flight; });
  leave(sequence);
}

bool Engine::prepare(int32_t prefill_rows) {
  const Clock::time_point now = Clock::now();
  scheduler_.sweep(now);
  if (!scheduler_.plan(step_, prefill_rows)) return false;
  for (const Step::Part &part : step_.parts()) {
    part.sequence->in_flight = true;
    part.sequence->batched(now);
  }
  next_op_ = 0;
  return true;
}

// What work() throws is the result.
template <class Work>
std::optional<Error> Engine::without(Lock &lock, const Work &work) {
  std::optional<Error> error;
  lock.unlock();
  try {
    const FloatMode mode;
    work();
  } catch (...) {
    error = current_error();
  }
  lock.lock();
  return error;
}

void Engine::compute(Lock &lock, uint64_t budget_us) {
  computing_ = true;
  abort_ = false;
  RunControl control;
  control.first_op = next_op_;
  control.budget_us = budget_us;
  control.cancel = &abort_;
  control.profile = step_.profiled();
  int32_t reached = next_op_;
  const Clock::time_point started = Clock::now();
  const std::optional<Error> error = without(lock, [&] {
    reached = executor_->run(step_.batch(), control);
    if (budget_us > 0) adapt_prefill(reached - control.first_op, Clock::now() - started);
    if (reached >= options_.n_ops) take_outputs();
  });
  computing_ = false;
  if (error) {
    fail_step(*error);
  } else if (reached >= options_.n_ops) {
    finish_step();
  } else if (abort_) {
    drop_step();
  } else {
    next_op_ = reached;
  }
  idle_.notify_all();
}

// What is given to a device cannot be cut short, so no long part of a prompt is.
bool Engine::runs_ahead() {
  const auto few = [](const Step::Part &part) { return part.rows < kRowsWorthAborting; };
  return executor_->runs_ahead() && step_.seated() && !step_.profiled() &&
         std::ranges::all_of(step_.parts(), few);
}

// For steps whose every sequence gets a token from the device itself: the step after this one is given to the
// device before this one's tokens are here, which the host then turns to text while the device computes. A
// sequence that ends meanwhile is computed once too often. Nobody sees it: that row lies past the end of its
// timeline, and whatever uses its page next is given to the device later.
void Engine::compute_ahead(Lock &lock) {
  computing_ = true;
  std::optional<Error> error = without(lock, [&] { executor_->begin(step_.batch()); });
  for (bool given = true; given && !error;) {
    plan_ahead();
    given = !next_.empty();
    error = without(lock, [&] {
      if (given) executor_->begin(next_.batch());
      executor_->finish(step_.batch());
      take_outputs();
    });
    if (!error) go_on();
    idle_.notify_all();
  }
  computing_ = false;
  if (error) fail_step(*error);
  next_.clear();
  idle_.notify_all();
}

// Fills next_ with what may follow step_; nothing, where somebody else waits for a step.
void Engine::plan_ahead() {
  next_.clear();
  scheduler_.sweep(Clock::now());
  if (stopping_ || guests_ > 0 || scheduler_.someone_waits()) return;
  for (const Step::Part &part : step_.parts()) {
    Sequence &sequence = *part.sequence;
    const bool last_rows = sequence.timeline.pending() == part.rows;
    if (sequence.alone || !part.sampled || !last_rows || !sequence.may_run_ahead()) continue;
    try {
      if (pool_.reserve(sequence.timeline.kv, part.rows + 1)) next_.follow(part);
    } catch (...) {  // no memory for it now: planned again once this step is done
    }
  }
}

// The step is done; the one given after it takes its place.
void Engine::go_on() {
  finish_step();
  step_.swap(next_);
  const Clock::time_point now = Clock::now();
  for (const Step::Part &part : step_.parts()) {
    if (!part.sequence->over) part.sequence->check(now);
  }
  step_.forget_over();
  for (const Step::Part &part : step_.parts()) part.sequence->in_flight = true;
}

void Engine::take_outputs() {
  for (const Step::Part &part : step_.parts()) {
    if (part.n_outputs == 0) continue;
    try {
      if (part.sampled) {
        part.sequence->take_token(*part.sampled);
      } else {
        part.sequence->take(part.outputs, part.n_outputs);
      }
    } catch (...) {
      part.sequence->error = current_error();
    }
  }
}

void Engine::finish_step() {
  for (const Step::Part &part : step_.parts()) {
    Sequence &sequence = *part.sequence;
    Timeline &timeline = sequence.timeline;
    sequence.alone = false;
    try {
      if (sequence.error) throw Error(*sequence.error);
      const std::span<const int32_t> rows =
          std::span(timeline.tokens)
              .subspan(static_cast<size_t>(timeline.computed()), static_cast<size_t>(part.rows));
      pool_.append(timeline.kv, rows);
      sequence.rows_done();
    } catch (...) {
      sequence.failed(current_error());
    }
    sequence.changed->notify_all();
  }
  drop_step();
}

// Which sequence is to blame shows when each is computed alone.
void Engine::fail_step(const Error &error) {
  const bool one = step_.parts().size() == 1;
  for (const Step::Part &part : step_.parts()) {
    part.sequence->alone = true;
    if (one) part.sequence->failed(error);
    part.sequence->changed->notify_all();
  }
  drop_step();
}

void Engine::drop_step() {
  for (const Step::Part &part : step_.parts()) part.sequence->in_flight = false;
  step_.clear();
  next_op_ = 0;
}

// Budget 0: no limit. False: there was nothing to do.
bool Engine::step_once(Lock &lock, uint64_t budget_us) {
  stepping_ = true;
  worker_.wait(lock, [&] { return guests_ == 0; });
  const int32_t rows = budget_us > 0 ? prefill_rows_ : options_.step.rows;
  const bool work = !step_.empty() || prepare(rows);
  if (work) compute(lock, budget_us);
  stepping_ = false;
  return work;
}

bool Engine::step_until(Lock &lock, Clock::time_point until) {
  uint64_t budget_us = 0;
  if (until != Clock::time_point::max()) {
    budget_us = static_cast<uint64_t>(std::max<int64_t>(1, microseconds(until - Clock::now())));
  }
  const bool worked = step_once(lock, budget_us);
  notify_all();
  return worked;
}

bool Engine::step(uint64_t budget_us) {
  if (!options_.manual_step)
    fail(Status::Argument, "rz_model_step: the model was not opened with RZ_MODEL_MANUAL_STEP");
  Lock lock(mutex_);
  if (stepping_) fail(Status::Busy, "rz_model_step: another thread is stepping this model");
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(budget_us);
  do {
    const int64_t left = std::max<int64_t>(1, microseconds(end - Clock::now()));
    if (!step_once(lock, static_cast<uint64_t>(left))) break;
  } while (Clock::now() < end);
  scheduler_.sweep(Clock::now());
  notify_all();
  return !step_.empty() || scheduler_.work_left();
}

// Called with the results of a run that had a budget: how many rows make ops of the right length?
void Engine::adapt_prefill(int32_t ops, Clock::duration spent) {
  if (ops <= 0 || step_.batch().rows() < prefill_rows_) return;
  const int64_t longest = std::max<int64_t>(1, kLongestToAverage * microseconds(spent) / ops);
  const int64_t rows = prefill_rows_;
  const int64_t wanted = std::clamp(rows * kLongestOpMicroseconds / longest, rows / 2, rows * 2);
  prefill_rows_ = static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, options_.step.rows));
}

// Whoever waited for its sequence while this thread stepped has to look, and to step on where it is not done.
void Engine::notify_all() {
  for (Sequence *sequence : scheduler_.line()) sequence->changed->notify_all();
}

std::vector<ProfileEntry> Engine::profile() {
  const Lock lock = exclusive();
  return executor_->profile();
}

}  // namespace rz
