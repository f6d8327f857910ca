// What puts rows into batches. A Timeline is tokens with the KV cache of their first part; a Sequence wants
// the rest of a timeline computed and takes the outputs: a generation samples them, an evaluation copies
// them, an embedding pools them. The scheduler knows no other kinds of work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"
#include "engine/kv_pool.h"

namespace rz {

using Clock = std::chrono::steady_clock;

struct Timeline {
  KvTable kv;
  std::vector<int32_t> tokens;  // all; K and V of the first kv.tokens.size() are in the pages

  int32_t size() const { return static_cast<int32_t>(tokens.size()); }
  int32_t computed() const { return static_cast<int32_t>(kv.tokens.size()); }
  int32_t pending() const { return size() - computed(); }
  // Room for `n` tokens in all, so that growing to them allocates nothing.
  void reserve(int32_t n);
};

enum class Output : uint8_t { Logits, Hidden };

class Sequence {
 public:
  // `stateless`: the timeline belongs to this sequence alone, so its pages may be taken away and computed
  // again.
  Sequence(Timeline &timeline, Output output, bool stateless)
      : timeline(timeline), output(output), stateless(stateless) {}
  virtual ~Sequence() = default;
  Sequence(const Sequence &) = delete;
  Sequence &operator=(const Sequence &) = delete;

  // With the engine's lock held:
  virtual bool ready() const { return true; }  // false: waits for its host
  virtual bool may_be_put_aside() const { return false; }
  // Its step is under way and brings one more token, which is surely not the last one wanted.
  virtual bool may_run_ahead() const { return false; }
  virtual bool profiled() const { return false; }
  virtual void check(Clock::time_point) {}    // ends it when it was cancelled or is past its deadline
  virtual void cached(int32_t) {}             // so many tokens were found in the prefix cache
  virtual void batched(Clock::time_point) {}  // rows of it are about to be computed
  virtual void rows_done() = 0;               // they are in the cache; what take() made may be shown
  virtual void failed(const Error &error);
  virtual int32_t seat() { return -1; }  // at the device's sampler, for its one row of logits; -1 = none

  // Without the lock, on the thread that steps: the next `n` outputs, (n, vocab) or (n, hidden) floats. They
  // may be used as work space.
  virtual void take(float *outputs, int32_t n) = 0;
  // The same, where the sequence has a seat.
  virtual void take_token(const SampledToken &) {}

  Timeline &timeline;
  const Output output;
  const bool stateless;
  int32_t outputs_from = 0;  // rows of the timeline from here on give an output
  bool in_flight = false;    // rows of it are in the current step: only the stepping thread touches it
  bool alone = false;        // a step with others failed: the next one holds this sequence only
  bool over = false;         // wants nothing more
  std::optional<Error> error;
  std::condition_variable *changed = nullptr;  // whoever waits for it
};

// The exception being handled, as an Error.
Error current_error();

}  // namespace rz
