// Sampling: three launches from the logits of a Llama 3 vocabulary to tokens, for one row and for 32.
#include <algorithm>

#include "base/error.h"
#include "cuda/bench/bench.h"
#include "cuda/bench/inputs.h"
#include "cuda/sampler_table.h"

namespace rz::cuda {

namespace {

struct Case {
  const char *name;
  SamplingOptions options;
};

std::vector<Case> cases() {
  SamplingOptions greedy, drawn, truncated, penalized;
  drawn.temperature = truncated.temperature = penalized.temperature = 0.8f;
  truncated.top_k = 40;
  truncated.top_p = 0.95f;
  penalized.repeat_penalty = 1.1f;
  return {{"greedy", greedy}, {"drawn", drawn}, {"top-k-top-p", truncated}, {"penalized", penalized}};
}

// The memory of rows that a step samples, each at a seat of its own.
struct Seats {
  SamplerTable table;
  DeviceMemory logits, seats, work;

  Seats(Queue &queue, const SamplingOptions &options, int32_t rows, int32_t vocab)
      : table(queue, rows),
        logits(device_floats(queue, static_cast<size_t>(rows) * static_cast<size_t>(vocab), 3, 1)),
        work(zeros(queue, static_cast<uint64_t>(rows) * sample_work_bytes(vocab))) {
    constexpr int32_t kHistory = 64;  // tokens, as many as penalties look back on
    std::vector<int32_t> history, seated;
    for (int32_t i = 0; i < kHistory; ++i) history.push_back(i * 7 % vocab);
    for (int32_t row = 0; row < rows; ++row) {
      seated.push_back(table.take(queue, {&options, history, 0, kHistory}));
    }
    seats = device_ints(queue, seated);
  }
  SampleArgs args(int32_t rows, int32_t vocab) const {
    SampleArgs a;
    a.logits = logits.as<float>();
    a.rows = rows;
    a.vocab = a.logits_stride = vocab;
    a.seats = seats.as<int32_t>();
    a.table = table.rows();
    a.work = work.data();
    a.chosen = table.chosen();
    return a;
  }
};

// A row that halts is passed over from then on, in no time.
void expect_tokens(Queue &queue, const std::string &name, const Seats &seats, int32_t rows) {
  std::vector<SampleRow> found(static_cast<size_t>(rows));
  queue.copy_out(found.data(), seats.table.rows(), found.size() * sizeof(SampleRow));
  queue.wait();
  for (const SampleRow &row : found) {
    if (row.halted || row.step == 0)
      fail(Status::Numeric, "%s: expected tokens, found a row that halted", name.c_str());
  }
}

}  // namespace

void bench_sampling(Bench &bench) {
  const int32_t vocab = bench.tiny() ? 5000 : 128256;
  for (const Case &c : cases()) {
    for (const int32_t rows : {1, bench.tiny() ? 2 : 32}) {
      const std::string name = std::string("sample/") + c.name + "/" + std::to_string(rows);
      if (!bench.wants(name)) continue;
      Queue &queue = bench.queue();
      const Seats seats(queue, c.options, rows, vocab);
      const Cost cost = {static_cast<double>(rows) * vocab * sizeof(float), 0};
      bench.time(name, cost, 1, [&](int) { sample(queue, seats.args(rows, vocab)); });
      expect_tokens(queue, name, seats, rows);
    }
  }
}

}  // namespace rz::cuda
