// Who computes next. All sequences stand in one line, oldest first; a step takes the decode rows of those at
// its front and fills up with prompts. When pages run out, the youngest that can be computed again gives up
// its own. Knows no threads: the engine's lock guards it.
#pragma once

#include <vector>

#include "engine/step.h"

namespace rz {

class Scheduler {
 public:
  Scheduler(KvPool &pool, int32_t max_sequences) : pool_(pool), max_sequences_(max_sequences) {
    chosen_.reserve(static_cast<size_t>(max_sequences));
  }

  void add(Sequence &sequence) { line_.push_back(&sequence); }
  // Takes it out of the line; a stateless one gives its pages back. No-op when it is not in the line.
  void remove(Sequence &sequence);

  // Ends those cancelled or late and takes those that are over out of the line.
  void sweep(Clock::time_point now);
  // Puts together the next step, with at most `prefill_rows` rows of prompts. False: nothing can be computed
  // now.
  bool plan(Step &step, int32_t prefill_rows);

  bool someone_waits() const;  // with something to compute, and in no step
  bool work_left() const;
  const std::vector<Sequence *> &line() const { return line_; }

 private:
  Sequence *choose();  // fills chosen_; returns the oldest that got no pages
  bool make_room(size_t index);
  bool put_one_aside(size_t older);
  void refuse(Sequence &sequence);

  KvPool &pool_;
  int32_t max_sequences_;
  std::vector<Sequence *> line_;    // oldest first
  std::vector<Sequence *> chosen_;  // for the step being planned
};

}  // namespace rz
