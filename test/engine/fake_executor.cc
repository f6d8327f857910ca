#include "engine/fake_executor.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace rz::test {

namespace {

uint64_t mix(uint64_t x) {  // splitmix64's finalizer
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t hash_of(std::span<const int32_t> tokens) {
  uint64_t h = 1;
  for (const int32_t token : tokens) h = mix(h * 31 + static_cast<uint64_t>(token));
  return h;
}

float number(uint64_t h, int32_t i) {  // in [-4, 4)
  return static_cast<float>(mix(h + 7919 * static_cast<uint64_t>(i + 1)) >> 40) * (8.0f / (1 << 24)) - 4;
}

void raise(std::atomic<int32_t> &to, int32_t value) {
  if (value > to) to = value;
}

}  // namespace

void fake_logits(std::span<const int32_t> tokens, float *logits) {
  const uint64_t h = hash_of(tokens);
  for (int32_t i = 0; i < kFakeVocab; ++i) logits[i] = number(h, i);
}

void fake_hidden(std::span<const int32_t> tokens, float *hidden) {
  const uint64_t h = hash_of(tokens);
  for (int32_t i = 0; i < kFakeHidden; ++i) hidden[i] = number(h, 1000 + i);
}

class FakeExecutor::Use {
 public:
  explicit Use(const FakeExecutor &fake) : fake_(fake) {
    if (fake.in_use_.exchange(true)) fail(Status::Internal, "fake: two threads at once");
  }
  ~Use() { fake_.in_use_ = false; }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;

 private:
  const FakeExecutor &fake_;
};

FakeExecutor::FakeExecutor(int32_t pages) : cells_(static_cast<size_t>(pages) * kPageTokens) {
  layout_.page_bytes = kPageTokens * sizeof(Cell);
  seen_.reserve(1 << 16);
}

FakeExecutor::Cell &FakeExecutor::cell(const Batch &batch, int32_t row, int32_t position) {
  const auto table = batch.page_tables[static_cast<size_t>(batch.sequences[static_cast<size_t>(row)])];
  const auto slot = static_cast<size_t>(position / kPageTokens);
  if (slot >= table.size()) fail(Status::Internal, "fake: row %d: no page for position %d", row, position);
  return cells_.at(static_cast<size_t>(table[slot]) * kPageTokens +
                   static_cast<size_t>(position % kPageTokens));
}

void FakeExecutor::check(const Batch &batch) const {
  const auto rows = static_cast<size_t>(batch.rows());
  if (rows == 0 || batch.positions.size() != rows || batch.sequences.size() != rows) {
    fail(Status::Internal, "fake: %zu rows do not match", rows);
  }
  if (!std::ranges::is_sorted(batch.logit_rows) || !std::ranges::is_sorted(batch.hidden_rows)) {
    fail(Status::Internal, "fake: output rows are not in order");
  }
  for (size_t i = 1; i < rows; ++i) {
    if (batch.sequences[i] == batch.sequences[i - 1] && batch.positions[i] != batch.positions[i - 1] + 1) {
      fail(Status::Internal, "fake: row %zu: position %d follows %d", i, batch.positions[i],
           batch.positions[i - 1]);
    }
  }
}

int32_t FakeExecutor::run(const Batch &batch, const RunControl &control) {
  const Use use(*this);
  check(batch);
  ++runs;
  if (control.profile) ++profiled_runs;
  const auto start = std::chrono::steady_clock::now();
  for (int32_t op = control.first_op; op < kFakeOps; ++op) {
    if (op_time.count() > 0) std::this_thread::sleep_for(op_time);
    if (op == kFakeOps - 1) break;
    const auto spent = std::chrono::steady_clock::now() - start;
    if (op == control.stop_after || (control.cancel && *control.cancel) ||
        (control.budget_us > 0 && spent >= std::chrono::microseconds(control.budget_us))) {
      return op + 1;
    }
  }
  compute(batch);
  ++finished_runs;
  raise(largest_batch, batch.rows());
  raise(most_sequences, static_cast<int32_t>(batch.page_tables.size()));
  return kFakeOps;
}

void FakeExecutor::compute(const Batch &batch) {
  if (std::ranges::find(batch.tokens, poison) != batch.tokens.end()) fail(Status::Numeric, "fake: poison");
  float *logits = batch.logits, *hidden = batch.hidden;
  auto logit_row = batch.logit_rows.begin();
  auto hidden_row = batch.hidden_rows.begin();
  for (int32_t row = 0; row < batch.rows(); ++row) {
    const auto r = static_cast<size_t>(row);
    cell(batch, row, batch.positions[r]) = {batch.tokens[r], batch.positions[r]};
    const bool wants_logits = logit_row != batch.logit_rows.end() && *logit_row == row;
    const bool wants_hidden = hidden_row != batch.hidden_rows.end() && *hidden_row == row;
    if (!wants_logits && !wants_hidden) continue;
    seen_.clear();
    for (int32_t p = 0; p <= batch.positions[r]; ++p) {
      const Cell &read = cell(batch, row, p);
      if (read.position != p) fail(Status::Internal, "fake: row %d: nothing at position %d", row, p);
      seen_.push_back(read.token);
    }
    if (wants_logits) {
      fake_logits(seen_, logits);
      logits += kFakeVocab;
      ++logit_row;
    }
    if (wants_hidden) {
      fake_hidden(seen_, hidden);
      hidden += kFakeHidden;
      ++hidden_row;
    }
  }
}

void FakeExecutor::copy_page(int32_t from, int32_t to) {
  const Use use(*this);
  const auto at = [&](int32_t page) {
    return cells_.begin() + static_cast<std::ptrdiff_t>(page) * kPageTokens;
  };
  std::copy_n(at(from), kPageTokens, at(to));
}

void FakeExecutor::read_page(int32_t page, std::byte *out) const {
  const Use use(*this);
  std::memcpy(out, &cells_[static_cast<size_t>(page) * kPageTokens], layout_.page_bytes);
}

void FakeExecutor::write_page(int32_t page, const std::byte *in) {
  const Use use(*this);
  std::memcpy(&cells_[static_cast<size_t>(page) * kPageTokens], in, layout_.page_bytes);
}

std::vector<ProfileEntry> FakeExecutor::profile() const {
  const Use use(*this);
  return {{"Fake", static_cast<uint64_t>(profiled_runs.load()), 1, 2, 3}};
}

}  // namespace rz::test
