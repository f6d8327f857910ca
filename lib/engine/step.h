// One step's batch while it is put together and computed: the rows, and which sequence each run of rows
// belongs to. All room is made once.
#pragma once

#include <vector>

#include "base/arena.h"
#include "engine/sequence.h"

namespace rz {

struct StepLimits {
  int32_t rows = 512;       // computed in one step
  int32_t sequences = 16;   // in one step
  int32_t logit_rows = 16;  // of a step that give logits
  int32_t vocab = 0, hidden = 0;
};

class Step {
 public:
  explicit Step(const StepLimits &limits);
  static uint64_t bytes(const StepLimits &limits);  // of its outputs

  struct Part {
    Sequence *sequence;
    int32_t rows;
    float *outputs;  // (n_outputs, vocab or hidden)
    int32_t n_outputs;
    const SampledToken *sampled;  // by the device, instead of logits; null = the host samples
  };

  void clear();
  // The next pending rows of the sequence, at most `rows` and what fits; returns how many that were.
  int32_t add(Sequence &sequence, int32_t rows);
  // One more row for a part of the step before this one, which is under way: its token is the one that the
  // device chooses there.
  void follow(const Part &part);
  // Without the parts of sequences that are over.
  void forget_over();
  void swap(Step &other);  // all but the room for outputs
  int32_t room() const { return limits_.rows - static_cast<int32_t>(tokens_.size()); }
  bool empty() const { return parts_.empty(); }
  std::vector<Part> &parts() { return parts_; }
  Batch batch();
  bool profiled() const;
  bool seated() const;  // there are logits, and the device samples all of them

 private:
  int32_t fitting(const Sequence &sequence, int32_t rows) const;

  StepLimits limits_;
  std::vector<Part> parts_;
  std::vector<int32_t> tokens_, positions_, sequences_;  // (rows)
  std::vector<std::span<const int32_t>> page_tables_;    // (parts)
  std::vector<int32_t> logit_rows_, hidden_rows_;
  std::vector<int32_t> seats_;         // (logit_rows)
  std::vector<SampledToken> sampled_;  // (logit_rows) room for all
  Memory logits_, hidden_;             // (logit_rows, vocab) and (rows, hidden) floats
};

}  // namespace rz
