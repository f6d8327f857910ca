#include "engine/step.h"

#include <algorithm>

namespace rz {

namespace {

uint64_t float_bytes(int32_t rows, int32_t width) {
  return static_cast<uint64_t>(rows) * static_cast<uint64_t>(width) * sizeof(float);
}

int32_t count(const std::vector<int32_t> &rows) { return static_cast<int32_t>(rows.size()); }

}  // namespace

Step::Step(const StepLimits &limits)
    : limits_(limits),
      logits_(float_bytes(limits.logit_rows, limits.vocab)),
      hidden_(float_bytes(limits.rows, limits.hidden)) {
  const auto rows = static_cast<size_t>(limits.rows);
  const auto sequences = static_cast<size_t>(limits.sequences);
  parts_.reserve(sequences);
  page_tables_.reserve(sequences);
  tokens_.reserve(rows);
  positions_.reserve(rows);
  sequences_.reserve(rows);
  logit_rows_.reserve(static_cast<size_t>(limits.logit_rows));
  hidden_rows_.reserve(rows);
  seats_.reserve(static_cast<size_t>(limits.logit_rows));
  sampled_.resize(static_cast<size_t>(limits.logit_rows));
}

uint64_t Step::bytes(const StepLimits &limits) {
  return float_bytes(limits.logit_rows, limits.vocab) + float_bytes(limits.rows, limits.hidden);
}

void Step::clear() {
  parts_.clear();
  page_tables_.clear();
  tokens_.clear();
  positions_.clear();
  sequences_.clear();
  logit_rows_.clear();
  hidden_rows_.clear();
  seats_.clear();
}

// Rows past outputs_from need a place for their logits; with none left, the rows before them still fit.
int32_t Step::fitting(const Sequence &sequence, int32_t rows) const {
  const Timeline &timeline = sequence.timeline;
  rows = std::min({rows, room(), timeline.pending()});
  if (sequence.output == Output::Hidden) return rows;
  const int32_t places = limits_.logit_rows - count(logit_rows_);
  const int32_t without = std::max(0, sequence.outputs_from - timeline.computed());
  return std::min(rows, without + places);
}

int32_t Step::add(Sequence &sequence, int32_t rows) {
  const int32_t n = fitting(sequence, rows);
  if (n <= 0) return 0;
  const Timeline &timeline = sequence.timeline;
  const bool logits = sequence.output == Output::Logits;
  std::vector<int32_t> &output_rows = logits ? logit_rows_ : hidden_rows_;
  const int32_t first_output = count(output_rows);
  const auto index = static_cast<int32_t>(parts_.size());
  for (int32_t i = 0; i < n; ++i) {
    const int32_t position = timeline.computed() + i;
    if (position >= sequence.outputs_from) output_rows.push_back(count(tokens_));
    tokens_.push_back(timeline.tokens[static_cast<size_t>(position)]);
    positions_.push_back(position);
    sequences_.push_back(index);
  }
  const Memory &memory = logits ? logits_ : hidden_;
  const int32_t width = logits ? limits_.vocab : limits_.hidden;
  const int32_t n_outputs = count(output_rows) - first_output;
  const int32_t seat = logits && n_outputs == 1 ? sequence.seat() : -1;
  if (logits) seats_.resize(static_cast<size_t>(first_output + n_outputs), seat);
  parts_.push_back({&sequence, n, memory.as<float>(float_bytes(first_output, width)), n_outputs,
                    seat < 0 ? nullptr : &sampled_[static_cast<size_t>(first_output)]});
  page_tables_.emplace_back(timeline.kv.pages);
  return n;
}

void Step::follow(const Part &part) {
  Sequence &sequence = *part.sequence;
  const Timeline &timeline = sequence.timeline;
  const int32_t seat = sequence.seat();
  const auto index = static_cast<int32_t>(parts_.size());
  logit_rows_.push_back(index);
  tokens_.push_back(-1 - seat);
  positions_.push_back(timeline.size());
  sequences_.push_back(index);
  seats_.push_back(seat);
  parts_.push_back({&sequence, 1, nullptr, 1, &sampled_[static_cast<size_t>(index)]});
  page_tables_.emplace_back(timeline.kv.pages);
}

void Step::forget_over() {
  std::erase_if(parts_, [](const Part &part) { return part.sequence->over; });
}

void Step::swap(Step &other) {
  parts_.swap(other.parts_);
  tokens_.swap(other.tokens_);
  positions_.swap(other.positions_);
  sequences_.swap(other.sequences_);
  page_tables_.swap(other.page_tables_);
  logit_rows_.swap(other.logit_rows_);
  hidden_rows_.swap(other.hidden_rows_);
  seats_.swap(other.seats_);
  sampled_.swap(other.sampled_);
}

Batch Step::batch() {
  Batch batch;
  batch.tokens = tokens_;
  batch.positions = positions_;
  batch.sequences = sequences_;
  batch.page_tables = page_tables_;
  batch.logit_rows = logit_rows_;
  batch.logits = logits_.as<float>();
  batch.seats = seats_;
  batch.sampled = sampled_.data();
  batch.hidden_rows = hidden_rows_;
  batch.hidden = hidden_.as<float>();
  return batch;
}

bool Step::seated() const {
  return !logit_rows_.empty() && hidden_rows_.empty() &&
         std::ranges::all_of(seats_, [](int32_t seat) { return seat >= 0; });
}

bool Step::profiled() const {
  return std::ranges::any_of(parts_, [](const Part &part) { return part.sequence->profiled(); });
}

}  // namespace rz
