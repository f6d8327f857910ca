// Sampling on the device: what the host lays into device memory, what it gets back, and how much work space
// that takes. The results are those of the engine's sampler for the same logits, bit for bit.
//
// A launch has one block per row of logits and reads everything else from device memory, so a recording of it
// may be replayed: the host changes seats and rows between replays, the device moves rows on by one token.
#pragma once

#include "cuda/runtime.h"

namespace rz::cuda {

// rz_generate_options with its defaults put in, in the ranges that SamplingOptions::check() allows. The host
// writes it once a generation.
struct SampleSettings {
  float temperature = 0;                      // 0 = greedy
  int32_t top_k = 0;                          // 0 = off
  float top_p = 1, min_p = 0, typical_p = 1;  // 1, 0, 1 = off
  float repeat_penalty = 1;                   // 0 and 1 = off
  int32_t repeat_last_n = 64;                 // tokens that penalties and dry look back on; -1 = all
  float presence_penalty = 0, frequency_penalty = 0;
  float dry_multiplier = 0, dry_base = 1.75f;  // 0 = off
  int32_t dry_allowed_length = 2;
  float xtc_probability = 0, xtc_threshold = 0.1f;
  int32_t mirostat = 0;  // 0, 1, 2
  float mirostat_tau = 5, mirostat_eta = 0.1f;
  uint64_t seed = 0;
  int32_t logprobs = 0;  // alternatives reported per token, at most SampleRow::top_stride
  int32_t logprob = 1;   // 0 = nobody reads the token's own: greedy rows then need no sums
};

struct TokenBias {
  int32_t token;  // in the vocabulary
  float bias;     // -infinity to 1e9
};

struct TokenChance {
  int32_t token;
  float logprob;
};

enum class SampleStatus : int32_t {
  Ok,
  Nan,       // the logit of `token` is NaN
  Infinite,  // the logit of `token` is +infinity
  None       // all logits are -infinity
};

// What the host learns of a step. It polls `sequence` (with an acquire load) at ring[step % ring_slots] until
// it is step + 1: then the other fields, and the alternatives of that slot, are those of step `step`. The
// device never waits, so the host may have at most ring_slots steps under way.
struct SampleRecord {
  int32_t token;  // chosen, or with the bad logit
  float logprob;  // natural log, of the model's own distribution; 0 if not wanted
  SampleStatus status;
  int32_t n_top;      // alternatives in the ring of tops
  uint64_t sequence;  // step + 1; written last
};

// A generation. Pointers are device memory, but ring and top are HostMemory.
struct SampleRow {
  SampleSettings settings;            // by the host
  const TokenBias *biases = nullptr;  // (n_biases) ascending tokens; equal ones in the order of application
  int32_t n_biases = 0;
  int32_t *tokens = nullptr;     // (capacity) the timeline; by the host up to n_tokens, then by the device
  int32_t capacity = 0;          // further tokens are not kept
  SampleRecord *ring = nullptr;  // (ring_slots) by the device
  TokenChance *top = nullptr;    // (ring_slots, top_stride) by the device: best first
  int32_t ring_slots = 0;        // 1 or more
  int32_t top_stride = 0;        // 0 = no top
  int32_t halted = 0;            // by the device, when status was not Ok: nothing is sampled any more
  int32_t n_tokens = 0;          // by the host at first, then one more each step
  uint64_t step = 0;             // likewise: 0 for the first token generated
  double mirostat_mu = 0;        // bits; at first twice mirostat_tau, then by the device
};

struct SampleArgs {
  const float *logits = nullptr;  // (rows, logits_stride), not written
  int32_t rows = 0, vocab = 0, logits_stride = 0;
  // (rows) of the table, no two the same; -1 = no token is wanted, and the blocks end at once. By the host,
  // between steps.
  const int32_t *seats = nullptr;
  SampleRow *table = nullptr;
  std::byte *work = nullptr;  // (rows, sample_work_bytes(vocab)), zeros before the first launch
  int32_t *chosen = nullptr;  // (table) each row's newest token: where the next step reads it
};

// Of one row: partial sums, changed logits, two lists of keys, counts. 24 bytes a token and some.
uint64_t sample_work_bytes(int32_t vocab);

// False: the host samples this generation. It is so with more alternatives than the ring of tops has room for
// (and, for the caller to see, with a host's callback on logits).
inline bool device_can_sample(const SampleSettings &settings, int32_t top_stride) {
  return settings.logprobs <= top_stride;
}

// Three launches.
void sample(Queue &queue, const SampleArgs &args);

}  // namespace rz::cuda
