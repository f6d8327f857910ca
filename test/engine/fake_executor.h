// An executor without a model. Its logits are a hash of all tokens up to a row, read back through the row's
// page table from what earlier rows wrote there: a wrong page, a missing row or a wrong position gives other
// numbers, or is refused at once. It may sample by itself and be given a step ahead, which it then computes
// as late as it can, from nothing but what begin() was told.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "engine/sampler.h"

namespace rz::test {

constexpr int32_t kFakeVocab = 97, kFakeHidden = 6, kFakeOps = 8;

// What the fake computes for the last of `tokens`. logits: (kFakeVocab), hidden: (kFakeHidden)
void fake_logits(std::span<const int32_t> tokens, float *logits);
void fake_hidden(std::span<const int32_t> tokens, float *hidden);

class FakeExecutor : public Executor {
 public:
  explicit FakeExecutor(int32_t pages);

  int32_t run(const Batch &batch, const RunControl &control) override;
  bool runs_ahead() const override { return ahead; }
  void begin(const Batch &batch) override;
  void finish(const Batch &batch) override;
  int32_t take_seat(const SamplerSeat &seat) override;
  void give_up_seat(int32_t seat) override;
  const KvLayout &kv_layout() const override { return layout_; }
  void copy_page(int32_t from, int32_t to) override;
  void read_page(int32_t page, std::byte *out) const override;
  void write_page(int32_t page, const std::byte *in) override;
  void read_buffer(BufferId, int32_t, float *) const override {}
  void write_buffer(BufferId, int32_t, const float *) override {}
  std::vector<ProfileEntry> profile() const override;
  uint64_t compute_bytes() const override { return 0; }

  // Set before the engine starts.
  std::chrono::microseconds op_time{0};  // of each op
  int32_t poison = -1;                   // a batch with this token fails as Numeric
  bool ahead = false;                    // has seats, and takes a step before the one ahead is done

  // What happened; read when the engine is idle.
  std::atomic<int32_t> runs{0}, finished_runs{0}, largest_batch{0}, most_sequences{0}, profiled_runs{0},
      steps_ahead{0};

 private:
  struct Cell {
    int32_t token = -1, position = -1;
  };
  class Use;  // of the executor: one thread at a time
  struct Seat {
    std::unique_ptr<Sampler> sampler;  // null: free
    std::vector<int32_t> history;
    uint64_t step = 0;
  };
  struct Choice {
    SampledToken token;
    std::vector<TokenLogprob> top;
  };
  struct Given {  // a batch that begin() got
    std::vector<int32_t> tokens, positions, sequences, logit_rows, seats;
    std::vector<std::vector<int32_t>> tables;
    std::vector<Choice> choices;  // (logit_rows), once computed
  };

  Cell &cell(const Batch &batch, int32_t row, int32_t position);
  void check(const Batch &batch) const;
  void compute(const Batch &batch);
  void compute(Given &given);
  void catch_up() const;
  Choice choose(int32_t seat, float *logits);

  KvLayout layout_;
  void hand_out(const Batch &batch, std::vector<Choice> choices);

  mutable std::deque<Given> given_;
  std::deque<std::vector<Choice>> handed_out_;  // of the last two batches, whose alternatives are still read
  std::vector<Seat> seats_;
  std::mutex seats_mutex_;   // a seat may be given up at any time
  std::vector<Cell> cells_;  // (pages, kPageTokens)
  std::vector<int32_t> seen_;
  mutable std::atomic<bool> in_use_{false};
};

}  // namespace rz::test
