// From logits to tokens, and the tokens to where the next step reads them.
//
// Three launches. In the first two a block takes 4096 logits of a row: best logit; then, once the best of all
// is known, sums of exponentials of chunks of 128, the candidates above e^-4 of the best, and a copy of the
// logits where stages will change them. In the third, one block of 512 threads chooses a row's token.
//
// What a row of 152,000 logits costs. They are 608 KB, in L2 since the matmul that wrote them; one block
// reads some 60 bytes a cycle, so a pass by it takes 10,000 cycles.
//
// - Greedy: 608 KB by 38 blocks. With its logprob 608 KB more, and 1188 additions in order, each waiting for
//   the one before: the longest part of all.
// - Drawn: the same; then some hundred candidates, sorted in shared memory, and one thread that walks as many
//   ranks as the stages keep. Where e^-4 is not deep enough, two passes by one block for each of at most four
//   further windows. More than 4096 candidates in a window are sorted in global memory: 4 passes over 8 bytes
//   each.
// - A temperature other than 1 without a stage that makes a list of candidates: one more pass, with
//   exponentials, by one block.
// - Biases, penalties, dry: the window's tokens, and passes by one block: best logit, two for the candidates,
//   one with exponentials where a sum over the vocabulary is asked for.
// - Alternatives: a sort of the candidates more.
//
// One row is limited by latencies; rows do not wait for each other.
#include "cuda/kernels/sample_penalties.h"
#include "cuda/kernels/sample_survivors.h"
#include "cuda/launch.h"

namespace rz::cuda {

uint64_t sample_work_bytes(int32_t vocab) { return row_work_bytes(vocab); }

namespace {

// The generation that wants a token from row `i`, or null.
RZ_DEVICE SampleRow *row_of(const SampleArgs &a, int i) {
  const int32_t at = a.seats[i];
  if (at < 0 || a.table[at].halted) return nullptr;
  return &a.table[at];
}

RZ_DEVICE const float *logits_of(const SampleArgs &a, int row) {
  return a.logits + static_cast<size_t>(row) * static_cast<size_t>(a.logits_stride);
}

RZ_DEVICE bool is_greedy(const SampleSettings &o) {
  return o.temperature == 0 || (o.mirostat == 0 && o.top_k == 1);
}
RZ_DEVICE bool strikes_out(const SampleSettings &o) {
  return !is_greedy(o) && o.mirostat == 0 && o.xtc_probability > 0;
}
RZ_DEVICE bool wants_logprobs(const SampleSettings &o) { return o.logprob != 0 || o.logprobs > 0; }
// Sums of the logits as they came, at scale 1.
RZ_DEVICE bool wants_sums(const SampleRow &row) {
  return wants_logprobs(row.settings) || (!is_greedy(row.settings) && !changes_logits(row));
}

// Own logits are ranked: above all candidates within the first window of the best.
RZ_DEVICE bool wants_ranks(const SampleRow &row) {
  return row.settings.logprobs > 0 || (!is_greedy(row.settings) && !changes_logits(row));
}

RZ_DEVICE bool is_share(float p) { return p > 0 && p < 1; }

RZ_KERNEL(kSliceThreads, 4)
best_logit_kernel(RZ_ARGS(SampleArgs) a) {
  pdl_wait();
  const int row = block_y(), slice = block_x();
  if (!row_of(a, row)) return;
  const int32_t first = slice * kSlice, end = first + kSlice < a.vocab ? first + kSlice : a.vocab;
  const uint64_t best =
      best_of_block(best_of_thread(logits_of(a, row), first, end), shared<uint64_t[kSliceThreads / kWarp]>());
  pdl_go();
  if (thread() == 0) work_of(a, row).best[slice] = best;
}

// The first window's keys of a slice.
RZ_DEVICE void prepare_ranks(const RowWork &work, int slice, const float *logits, int32_t first, int32_t end,
                             float max) {
  constexpr int kPart = kSlice / kSliceThreads * kWarp;  // of a warp
  Ranking ranking;
  ranking.rank(logits, max);
  const float high = ranking.open_window();
  const int32_t from = first + warp() * kPart, to = from + kPart < end ? from + kPart : end;
  const int32_t n = ranking.gather_range(from, to, high, work.keys[1] + slice * kSlice,
                                         shared<int32_t[kSliceThreads / kWarp]>());
  if (thread() == 0) work.prepared[slice] = n;
}

RZ_KERNEL(kSliceThreads, 4)
slices_kernel(RZ_ARGS(SampleArgs) a) {
  pdl_wait();
  const int row = block_y(), slice = block_x();
  const SampleRow *r = row_of(a, row);
  if (!r) return;
  const RowWork work = work_of(a, row);
  const float *logits = logits_of(a, row);
  const int32_t first = slice * kSlice, end = first + kSlice < a.vocab ? first + kSlice : a.vocab;
  const float max = logits[ranked_token(best_of_slices(work.best, slices_of(a.vocab)))];
  if (status_of(max) != SampleStatus::Ok) return;
  if (wants_sums(*r)) {
    for (int i = 0; i < kSlice / kChunk; i += kSliceThreads / 16) {
      const int32_t chunk = slice * (kSlice / kChunk) + i + thread() / 16;
      float sums[2];
      chunk_sums(logits, a.vocab, chunk, max, 1, sums);
      if (lane() % 16 == 0) {
        work.chunks[0][chunk] = sums[0];
        work.chunks[1][chunk] = sums[1];
      }
    }
  }
  if (wants_ranks(*r)) prepare_ranks(work, slice, logits, first, end, max);
  if (changes_logits(*r) || strikes_out(r->settings)) {
    for (int32_t i = first + thread(); i < end; i += kSliceThreads) work.changed[i] = logits[i];
  }
  pdl_go();
}

// What one step found. All threads of the block hold the same.
struct Choice {
  SampleStatus status;
  int32_t token;
  float logprob;
  int32_t n_top;
};

RZ_DEVICE int32_t list_top(const SampleRow &row, Ranking &ranking, const float *logits, float max,
                           double log_total) {
  const int32_t wanted = row.settings.logprobs < row.top_stride ? row.settings.logprobs : row.top_stride;
  if (wanted <= 0) return 0;
  ranking.rank(logits, max);
  ranking.has(wanted - 1);
  const int32_t n = wanted < ranking.size() ? wanted : ranking.size();
  TokenChance *top =
      row.top + row.step % static_cast<uint64_t>(row.ring_slots) * static_cast<uint64_t>(row.top_stride);
  for (int32_t i = thread(); i < n; i += kSampleThreads) {
    top[i] = {ranking.token(i), static_cast<float>(static_cast<double>(ranking.logit(i)) - log_total)};
  }
  fence_system();
  return n;
}

RZ_DEVICE int32_t draw(SampleRow &row, Survivors &survivors) {
  const SampleSettings &o = row.settings;
  const float u = philox_uniform(o.seed, row.step, kDrawNumber);
  survivors.ranking.rank(survivors.logits, survivors.max);
  if (o.mirostat > 0) {
    const double log_total = static_cast<double>(survivors.max) + natural_log(survivors.sums(1).weights);
    survivors.truncate(o.mirostat, row.mirostat_mu, log_total);
    const int32_t token = survivors.draw(o.temperature, u);
    if (thread() == 0) {
      row.mirostat_mu -= static_cast<double>(o.mirostat_eta) *
                         (surprise(survivors.logits[token], log_total) - static_cast<double>(o.mirostat_tau));
    }
    return token;
  }
  if (o.top_k > 0) survivors.top_k(o.top_k);
  if (is_share(o.typical_p)) survivors.typical(o.typical_p);
  if (is_share(o.top_p)) survivors.top_p(o.top_p);
  if (o.min_p > 0) survivors.min_p(o.min_p);
  if (o.xtc_probability > 0 && philox_uniform(o.seed, row.step, kXtcNumber) < o.xtc_probability) {
    survivors.xtc(o.xtc_threshold);
  }
  return survivors.draw(o.temperature, u);
}

RZ_DEVICE Choice choose(const SampleArgs &a, SampleRow &row, const RowWork &work, const float *own) {
  const SampleSettings &o = row.settings;
  int32_t best = ranked_token(best_of_slices(work.best, slices_of(a.vocab)));
  SampleStatus status = status_of(own[best]);
  if (status != SampleStatus::Ok) return {status, best, 0, 0};
  Survivors survivors;
  survivors.ranking.n_vocab = a.vocab;
  survivors.ranking.keys = work.keys[0];
  survivors.ranking.spare = work.keys[1];
  survivors.ranking.prepared = wants_ranks(row) ? work.prepared : nullptr;
  survivors.max = own[best];
  survivors.all_known = wants_sums(row);
  if (survivors.all_known) survivors.all = sums_of_chunks(work, a.vocab);
  const double log_total =
      wants_logprobs(o) ? static_cast<double>(own[best]) + natural_log(survivors.all.weights) : 0;
  const int32_t n_top = list_top(row, survivors.ranking, own, own[best], log_total);

  survivors.logits = changes_logits(row) || strikes_out(o) ? work.changed : const_cast<float *>(own);
  if (changes_logits(row)) {
    change_logits(row, a.vocab, work.counts, work.changed);
    survivors.ranking.prepared = nullptr;
    const uint64_t key = best_of_block(best_of_thread(work.changed, 0, a.vocab), shared<SampleShared>().best);
    best = ranked_token(key);
    survivors.max = work.changed[best];
    survivors.all_known = false;
    status = status_of(survivors.max);
    if (status != SampleStatus::Ok) return {status, best, 0, 0};
  }
  const int32_t token = is_greedy(o) ? best : draw(row, survivors);
  const float logprob =
      wants_logprobs(o) ? static_cast<float>(static_cast<double>(own[token]) - log_total) : 0.0f;
  return {SampleStatus::Ok, token, logprob, n_top};
}

// By one thread: the timeline and the next step get the token, the host the record.
RZ_DEVICE void step_on(SampleRow &row, int32_t &chosen, const Choice &choice) {
  const uint64_t step = row.step;
  if (choice.status == SampleStatus::Ok) {
    if (row.n_tokens < row.capacity) row.tokens[row.n_tokens] = choice.token;
    chosen = choice.token;
    ++row.n_tokens;
    row.step = step + 1;
  } else {
    row.halted = 1;
  }
  SampleRecord &record = row.ring[step % static_cast<uint64_t>(row.ring_slots)];
  record.token = choice.token;
  record.logprob = choice.logprob;
  record.status = choice.status;
  record.n_top = choice.n_top;
  fence_system();
  st_volatile(&record.sequence, step + 1);
}

RZ_KERNEL(kSampleThreads, 1)
sample_kernel(RZ_ARGS(SampleArgs) a) {
  pdl_wait();
  const int i = block_x();
  SampleRow *row = row_of(a, i);
  if (!row) return;
  const Choice choice = choose(a, *row, work_of(a, i), logits_of(a, i));
  pdl_go();
  sync();  // nobody reads the row any more
  if (thread() == 0) step_on(*row, a.chosen[a.seats[i]], choice);
}

}  // namespace

void sample(Queue &queue, const SampleArgs &args) {
  if (args.rows == 0) return;
  const Grid slices{static_cast<uint32_t>(slices_of(args.vocab)), static_cast<uint32_t>(args.rows)};
  constexpr size_t kSliceShared = kSliceThreads / kWarp * sizeof(uint64_t);
  launch(queue, best_logit_kernel, "best logit", slices, kSliceThreads, kSliceShared, args);
  launch(queue, slices_kernel, "logit slices", slices, kSliceThreads, kSliceShared, args);
  launch(queue, sample_kernel, "sample", {static_cast<uint32_t>(args.rows)}, kSampleThreads,
         sizeof(SampleShared), args);
}

}  // namespace rz::cuda
