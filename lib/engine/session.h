// A timeline that the host holds: tokens go in, logits come out, and it can be wound back, forked and saved.
// A generation may continue it; until that one has ended, every other use is refused as Busy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace rz {

class Session {
 public:
  Session(Engine &engine, int32_t context);  // context 0: the engine's
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  // Appends tokens and computes them. `logits` (n_rows, vocab), or null: of the last n_rows tokens. On
  // failure the tokens are as before.
  void eval(std::span<const int32_t> tokens, float *logits, int32_t n_rows);
  std::vector<int32_t> tokens() const;
  int32_t size() const;
  void rewind(int32_t n);  // keeps the first n tokens
  std::shared_ptr<Session> fork() const;

  Engine &engine() const { return engine_; }
  int32_t context() const { return context_; }

 private:
  friend class Generation;
  friend class SessionFile;
  void check_free() const;  // with the engine's lock
  void shorten(int32_t n);  // with the engine's lock

  Engine &engine_;
  int32_t context_;
  Timeline timeline_;
  bool continued_ = false;  // by a generation, or an evaluation is under way
};

}  // namespace rz
