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

int32_t FakeExecutor::take_seat(const SamplerSeat &wanted) {
  if (!ahead) return -1;
  const std::lock_guard lock(seats_mutex_);
  auto free = std::ranges::find_if(seats_, [](const Seat &seat) { return !seat.sampler; });
  if (free == seats_.end()) free = seats_.insert(seats_.end(), Seat());
  free->sampler = std::make_unique<Sampler>(*wanted.options, kFakeVocab);
  free->history.assign(wanted.history.begin(), wanted.history.end());
  free->history.reserve(static_cast<size_t>(wanted.most_tokens) + 1);
  free->step = wanted.step;
  return static_cast<int32_t>(free - seats_.begin());
}

void FakeExecutor::give_up_seat(int32_t seat) {
  const std::lock_guard lock(seats_mutex_);
  seats_[static_cast<size_t>(seat)].sampler.reset();
}

FakeExecutor::Choice FakeExecutor::choose(int32_t number, float *logits) {
  const std::lock_guard lock(seats_mutex_);
  Seat &seat = seats_[static_cast<size_t>(number)];
  if (!seat.sampler) return {};  // given up meanwhile
  const Sampled sampled = seat.sampler->sample({logits, kFakeVocab}, seat.history, seat.step++);
  seat.history.push_back(sampled.token);
  Choice choice;
  choice.token.token = sampled.token;
  choice.token.logprob = sampled.logprob;
  choice.top.assign(sampled.top.begin(), sampled.top.end());
  return choice;
}

void FakeExecutor::begin(const Batch &batch) {
  const Use use(*this);
  check(batch);
  if (given_.size() >= 2) fail(Status::Internal, "fake: a third batch");
  if (!given_.empty()) ++steps_ahead;
  Given &given = given_.emplace_back();
  given.tokens.assign(batch.tokens.begin(), batch.tokens.end());
  given.positions.assign(batch.positions.begin(), batch.positions.end());
  given.sequences.assign(batch.sequences.begin(), batch.sequences.end());
  given.logit_rows.assign(batch.logit_rows.begin(), batch.logit_rows.end());
  given.seats.assign(batch.seats.begin(), batch.seats.end());
  for (const auto &table : batch.page_tables) given.tables.emplace_back(table.begin(), table.end());
}

void FakeExecutor::finish(const Batch &batch) {
  const Use use(*this);
  if (given_.empty()) fail(Status::Internal, "fake: nothing is given");
  if (op_time.count() > 0) std::this_thread::sleep_for(kFakeOps * op_time);
  Given given = std::move(given_.front());
  given_.pop_front();
  try {
    compute(given);
  } catch (...) {
    given_.clear();
    throw;
  }
  hand_out(batch, std::move(given.choices));
  ++runs;
  ++finished_runs;
}

void FakeExecutor::hand_out(const Batch &batch, std::vector<Choice> choices) {
  handed_out_.push_back(std::move(choices));
  if (handed_out_.size() > 2) handed_out_.pop_front();
  for (size_t i = 0; i < batch.seats.size(); ++i) {
    if (batch.seats[i] < 0) continue;
    const Choice &choice = handed_out_.back()[i];
    batch.sampled[i] = choice.token;
    batch.sampled[i].top = choice.top.data();
    batch.sampled[i].n_top = static_cast<int32_t>(choice.top.size());
  }
}

// Computed once, by finish() or before pages are touched, as a device does in the order that it was given.
void FakeExecutor::compute(Given &given) {
  if (!given.choices.empty()) return;
  for (int32_t &token : given.tokens) {
    const std::lock_guard lock(seats_mutex_);
    if (token < 0) token = seats_[static_cast<size_t>(-1 - token)].history.back();
  }
  const std::vector<std::span<const int32_t>> tables(given.tables.begin(), given.tables.end());
  std::vector<float> logits(given.logit_rows.size() * kFakeVocab);
  Batch batch;
  batch.tokens = given.tokens;
  batch.positions = given.positions;
  batch.sequences = given.sequences;
  batch.page_tables = tables;
  batch.logit_rows = given.logit_rows;
  batch.logits = logits.data();
  compute(batch);
  for (size_t i = 0; i < given.seats.size(); ++i) {
    given.choices.push_back(choose(given.seats[i], logits.data() + i * kFakeVocab));
  }
}

void FakeExecutor::catch_up() const {
  for (Given &given : given_) const_cast<FakeExecutor *>(this)->compute(given);
}

int32_t FakeExecutor::run(const Batch &batch, const RunControl &control) {
  const Use use(*this);
  if (!given_.empty()) fail(Status::Internal, "fake: run() while a batch is given");
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
  if (ahead) {
    std::vector<Choice> choices(batch.seats.size());
    for (size_t i = 0; i < choices.size(); ++i) {
      if (batch.seats[i] >= 0) choices[i] = choose(batch.seats[i], batch.logits + i * kFakeVocab);
    }
    hand_out(batch, std::move(choices));
  }
  ++finished_runs;
  return kFakeOps;
}

void FakeExecutor::compute(const Batch &batch) {
  raise(largest_batch, batch.rows());
  raise(most_sequences, static_cast<int32_t>(batch.page_tables.size()));
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
  catch_up();
  const auto at = [&](int32_t page) {
    return cells_.begin() + static_cast<std::ptrdiff_t>(page) * kPageTokens;
  };
  std::copy_n(at(from), kPageTokens, at(to));
}

void FakeExecutor::read_page(int32_t page, std::byte *out) const {
  const Use use(*this);
  catch_up();
  std::memcpy(out, &cells_[static_cast<size_t>(page) * kPageTokens], layout_.page_bytes);
}

void FakeExecutor::write_page(int32_t page, const std::byte *in) {
  const Use use(*this);
  catch_up();
  std::memcpy(&cells_[static_cast<size_t>(page) * kPageTokens], in, layout_.page_bytes);
}

std::vector<ProfileEntry> FakeExecutor::profile() const {
  const Use use(*this);
  return {{"Fake", static_cast<uint64_t>(profiled_runs.load()), 1, 2, 3}};
}

}  // namespace rz::test
