// The one interface between the engine and the machines that compute: a Device compiles a Plan into an
// Executor, which computes Batches. lib/cpu implements it, cuda implements it, nothing else knows which one
// it talks to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/sampling_options.h"
#include "base/log.h"
#include "model/plan.h"

namespace rz {

constexpr int kPageTokens = 32;  // one page of KV cache: 32 tokens of every layer

// How the bytes of a page are laid out. Layers follow each other; within a layer all K comes first, then all
// V.
struct KvLayout {
  struct Layer {
    LayerKv kv;
    uint64_t k_offset = 0, v_offset = 0;          // bytes from the start of the page
    uint64_t k_head_bytes = 0, v_head_bytes = 0;  // of one kv head's 32 tokens
  };
  Type type = Type::F16;  // F16, Q8_0 or F8
  std::vector<Layer> layers;
  uint64_t page_bytes = 0;

  static KvLayout make(const Plan &plan, Type type);
};

// A generation that a device samples by itself. What it chooses is what the engine's sampler would have.
struct SamplerSeat {
  const SamplingOptions *options = nullptr;  // have passed check()
  std::span<const int32_t> history;          // the timeline so far; the device adds what it chooses
  uint64_t step = 0;                         // tokens generated so far
  int32_t most_tokens = 0;                   // the timeline grows to
};

// What a device chose for a row of logits.
struct SampledToken {
  enum class Trouble : uint8_t { None, Nan, Infinite, Nothing };  // Nothing: all logits are -infinity
  int32_t token = 0;  // or, with Nan and Infinite, whose logit that is
  float logprob = 0;
  Trouble trouble = Trouble::None;
  int32_t n_top = 0;
  const TokenLogprob *top = nullptr;  // (n_top) best first; until the next run, or the next begin() but one
};

// N rows to compute, each one token at one position of one sequence. Rows of a sequence are in ascending
// order of position, and its pages hold every position below its first row's.
struct Batch {
  std::span<const int32_t> tokens;                        // (rows); below 0: see Executor::runs_ahead()
  std::span<const int32_t> positions;                     // (rows)
  std::span<const int32_t> sequences;                     // (rows) index into page_tables
  std::span<const std::span<const int32_t>> page_tables;  // per sequence: page of positions 32 i .. 32 i + 31
  std::span<const int32_t> logit_rows;                    // ascending
  float *logits = nullptr;                                // (logit_rows, vocab); of those without a seat
  std::span<const int32_t> seats;        // (logit_rows) who takes the row; -1, or empty = the host
  SampledToken *sampled = nullptr;       // (logit_rows); of those with a seat
  std::span<const int32_t> hidden_rows;  // ascending; for embeddings
  float *hidden = nullptr;               // (hidden_rows, hidden): after the last norm
  int32_t rows() const { return static_cast<int32_t>(tokens.size()); }
};

// A run may be cut into parts: it stops after an op when told to, and goes on from there with the same batch.
struct RunControl {
  int32_t first_op = 0;
  int32_t stop_after = -1;  // run no op past this one; -1 = to the end
  uint64_t budget_us = 0;   // stop after the op in which this much time has passed; 0 = none
  const std::atomic<bool> *cancel = nullptr;  // stop after the op during which it became true
  bool profile = false;                       // count and time this run's ops
};

struct ProfileEntry {
  const char *op;
  uint64_t calls = 0, total_us = 0;
  uint64_t bytes = 0;  // weights and KV read
  uint64_t flops = 0;  // 2 per multiply-accumulate
};

struct ExecutorOptions {
  int32_t threads = 1;
  int32_t max_rows = 512;        // largest batch
  int32_t max_logit_rows = 512;  // of it that want logits
  int32_t pages = 0;             // KV pages to keep
  Type kv_type = Type::F16;      // a device may refuse others: Unsupported
  int32_t gpu_layers = 0;        // what the host asked for; a device computes the whole plan that it gets
  Progress progress = {};        // of compile(), for devices that copy weights; not to be kept
};

class Executor {
 public:
  virtual ~Executor() = default;

  // The only forward pass. Returns the number of the next op: plan.ops.size() when the batch is done. One
  // thread at a time. Throws Numeric where a logit is no number; Device where the device fails.
  virtual int32_t run(const Batch &batch, const RunControl &control) = 0;

  virtual const KvLayout &kv_layout() const = 0;
  virtual void copy_page(int32_t from, int32_t to) = 0;
  virtual void read_page(int32_t page, std::byte *out) const = 0;  // (page_bytes)
  virtual void write_page(int32_t page, const std::byte *in) = 0;  // (page_bytes)

  // A step may be given to the device before the one ahead of it is done: begin() gives a whole batch,
  // finish() waits for the first one given and puts what it chose into that batch's `sampled`. At most two
  // are given at a time, only of batches in which every row of logits has a seat, and none during run(). In
  // place of a token that is still to be chosen stands -1 - seat: the newest one of that seat. An error of
  // either leaves none given.
  virtual bool runs_ahead() const { return false; }
  virtual void begin(const Batch &) {}
  virtual void finish(const Batch &batch) { run(batch, {}); }

  // A seat at the device's sampler, to be named in batches; -1: the host has to sample. Not during
  // run(), nor while a batch is given.
  virtual int32_t take_seat(const SamplerSeat &) { return -1; }
  virtual void give_up_seat(int32_t) {}  // any thread, any time

  // A buffer of the last run, (rows, width), for comparing backends: copied out after stop_after.
  virtual void read_buffer(BufferId buffer, int32_t rows, float *out) const = 0;
  // Before a run from the first op: a buffer that the plan reads and none of its ops writes, (rows, width).
  virtual void write_buffer(BufferId buffer, int32_t rows, const float *in) = 0;

  virtual std::vector<ProfileEntry> profile() const = 0;  // by kind of op, since compiled
  virtual uint64_t compute_bytes() const = 0;             // besides weights and KV
};

// What a device can do at most, all its threads together. An operation is a multiply or an add.
struct Ceilings {
  int32_t threads = 0;  // that were measured with
  double read_bytes_per_s = 0;
  double int8_ops_per_s = 0;
  double float_ops_per_s = 0;
};

// What compile() would take besides the mapped weights and the KV pages.
struct Footprint {
  uint64_t weights_bytes = 0;  // a copy of the weights that the device makes; 0 where it needs none
  uint64_t compute_bytes = 0;
  uint64_t device_bytes = 0;  // how much of that copy, the KV pages and compute_bytes lies on a GPU
  uint64_t read_bytes = 0;    // of a model on two devices: weights that are read where they are
};

// Throws Device where it is missing, lost or failing: "auto" then takes the CPU.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string &name() const = 0;  // for rz_model_info.device: "cpu (avx512vnni, 2 threads)"
  // The plan outlives the executor. A device that copies weights reports how far it is, on this thread.
  virtual std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) = 0;
  // Weights may have no data: an estimate reads headers only.
  virtual Footprint footprint(const Plan &plan, const ExecutorOptions &options) const = 0;
  virtual Ceilings ceilings() const = 0;    // measured by this call, for about a second
  virtual uint64_t free_bytes() const = 0;  // of a GPU's memory; UINT64_MAX where device_bytes is always 0
};

}  // namespace rz
