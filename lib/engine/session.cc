#include "engine/session.h"

#include <algorithm>
#include <cstring>

namespace rz {

namespace {

// Computes what a session has pending, and copies logits out.
class Evaluation : public Sequence {
 public:
  Evaluation(Timeline &timeline, float *logits, int32_t n_rows, int32_t vocab)
      : Sequence(timeline, Output::Logits, false), logits_(logits), vocab_(static_cast<size_t>(vocab)) {
    outputs_from = timeline.size() - n_rows;
  }

  void take(float *outputs, int32_t n) override {
    const size_t floats = static_cast<size_t>(n) * vocab_;
    std::memcpy(logits_, outputs, floats * sizeof(float));
    logits_ += floats;
  }
  void rows_done() override { over = timeline.pending() == 0; }

 private:
  float *logits_;
  size_t vocab_;
};

}  // namespace

Session::Session(Engine &engine, int32_t context) : engine_(engine), context_(context) {
  const int32_t longest = engine.options().context;
  if (context < 0 || context > longest) {
    fail(Status::Argument, "context_length: expected 0 to %d, found %d", longest, context);
  }
  if (context_ == 0) context_ = longest;
}

Session::~Session() {
  const Engine::Lock lock = engine_.lock();
  engine_.pool().release(timeline_.kv);
  engine_.wake();
}

void Session::check_free() const {
  if (continued_) fail(Status::Busy, "session: a generation continues it and has not ended");
}

void Session::shorten(int32_t n) {
  timeline_.tokens.resize(static_cast<size_t>(n));
  if (timeline_.computed() > n) engine_.pool().rewind(timeline_.kv, n);
}

void Session::eval(std::span<const int32_t> tokens, float *logits, int32_t n_rows) {
  if (!logits) n_rows = 0;
  Engine::Lock lock = engine_.lock();
  check_free();
  const int32_t before = timeline_.size();
  if (tokens.size() > static_cast<size_t>(context_ - before)) {
    fail(Status::Context, "session: %zu tokens and %d there already, at most %d in all", tokens.size(),
         before, context_);
  }
  const int32_t after = before + static_cast<int32_t>(tokens.size());
  if (n_rows < 0 || n_rows > after)
    fail(Status::Argument, "n_rows: expected 0 to %d, found %d", after, n_rows);
  engine_.check_fits(after);
  timeline_.tokens.insert(timeline_.tokens.end(), tokens.begin(), tokens.end());
  // Logits of tokens that are computed already need those rows once more.
  if (timeline_.computed() > after - n_rows) engine_.pool().rewind(timeline_.kv, after - n_rows);
  if (timeline_.pending() == 0) return;
  continued_ = true;
  lock.unlock();
  Evaluation evaluation(timeline_, logits, n_rows, engine_.options().step.vocab);
  try {
    engine_.run_to_end(evaluation);
  } catch (...) {
    lock.lock();
    continued_ = false;
    shorten(before);
    throw;
  }
  lock.lock();
  continued_ = false;
}

std::vector<int32_t> Session::tokens() const {
  const Engine::Lock lock = engine_.lock();
  check_free();
  return timeline_.tokens;
}

int32_t Session::size() const {
  const Engine::Lock lock = engine_.lock();
  check_free();
  return timeline_.size();
}

void Session::rewind(int32_t n) {
  const Engine::Lock lock = engine_.lock();
  check_free();
  if (n < 0 || n > timeline_.size()) {
    fail(Status::Argument, "n_tokens: expected 0 to %d, found %d", timeline_.size(), n);
  }
  shorten(n);
  engine_.wake();
}

std::shared_ptr<Session> Session::fork() const {
  auto copy = std::make_shared<Session>(engine_, context_);
  const Engine::Lock lock = engine_.lock();
  check_free();
  copy->timeline_.tokens = timeline_.tokens;
  engine_.pool().fork(timeline_.kv, copy->timeline_.kv);
  return copy;
}

}  // namespace rz
