#include "engine/scheduler.h"

#include <algorithm>

namespace rz {

namespace {

bool wants_rows(const Sequence &s) { return !s.over && s.ready() && s.timeline.pending() > 0; }

int32_t pages_of(int32_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

}  // namespace

void Scheduler::remove(Sequence &sequence) {
  const auto it = std::ranges::find(line_, &sequence);
  if (it == line_.end()) return;
  line_.erase(it);
  if (sequence.stateless) pool_.release(sequence.timeline.kv);
}

void Scheduler::sweep(Clock::time_point now) {
  for (size_t i = 0; i < line_.size();) {
    Sequence &sequence = *line_[i];
    if (!sequence.over && !sequence.in_flight) sequence.check(now);
    if (!sequence.over) {
      ++i;
      continue;
    }
    remove(sequence);
    sequence.changed->notify_all();
  }
}

bool Scheduler::plan(Step &step, int32_t prefill_rows) {
  step.clear();
  for (;;) {
    Sequence *blocked = choose();
    if (!chosen_.empty()) break;
    if (!blocked) return false;
    refuse(*blocked);  // nobody computes, so nobody will give pages back
  }
  const auto suspect = std::ranges::find_if(chosen_, [](const Sequence *s) { return s->alone; });
  if (suspect != chosen_.end()) {
    std::swap(chosen_.front(), *suspect);
    chosen_.resize(1);
  }
  for (Sequence *s : chosen_) {
    if (s->timeline.pending() == 1) step.add(*s, 1);
  }
  for (Sequence *s : chosen_) {
    if (s->timeline.pending() > 1 && prefill_rows > 0) prefill_rows -= step.add(*s, prefill_rows);
  }
  return !step.empty();
}

bool Scheduler::someone_waits() const {
  return std::ranges::any_of(line_, [](const Sequence *s) { return !s->in_flight && wants_rows(*s); });
}

bool Scheduler::work_left() const {
  return std::ranges::any_of(line_, [](const Sequence *s) { return wants_rows(*s); });
}

Sequence *Scheduler::choose() {
  chosen_.clear();
  Sequence *blocked = nullptr;
  for (size_t i = 0; i < line_.size() && chosen_.size() < static_cast<size_t>(max_sequences_); ++i) {
    if (!wants_rows(*line_[i])) continue;
    try {
      if (make_room(i)) {
        chosen_.push_back(line_[i]);
      } else if (!blocked) {
        blocked = line_[i];
      }
    } catch (...) {
      line_[i]->failed(current_error());  // swept with the next step
      line_[i]->changed->notify_all();
    }
  }
  return blocked;
}

// Pages for all rows that the sequence has pending. A fresh timeline first takes what the prefix cache holds.
bool Scheduler::make_room(size_t index) {
  Sequence &sequence = *line_[index];
  Timeline &timeline = sequence.timeline;
  const bool fresh = timeline.kv.pages.empty();
  if (fresh) {
    const auto known = static_cast<size_t>(std::min(sequence.outputs_from + 1, timeline.size()));
    const int32_t found = pool_.match(timeline.kv, std::span(timeline.tokens).first(known));
    sequence.cached(found);
  }
  while (!pool_.reserve(timeline.kv, timeline.pending())) {
    if (put_one_aside(index)) continue;
    if (fresh) pool_.release(timeline.kv);
    return false;
  }
  return true;
}

// The youngest behind `older`; or, of any age, one that waits for its host and computes nothing.
bool Scheduler::put_one_aside(size_t older) {
  for (size_t i = line_.size(); i-- > 0;) {
    Sequence &sequence = *line_[i];
    if (i == older || sequence.over || !sequence.may_be_put_aside()) continue;
    if (i < older && sequence.ready()) continue;
    if (sequence.timeline.kv.pages.empty()) continue;
    pool_.release(sequence.timeline.kv);
    return true;
  }
  return false;
}

void Scheduler::refuse(Sequence &sequence) {
  const Timeline &timeline = sequence.timeline;
  const auto held = static_cast<int32_t>(timeline.kv.pages.size());
  try {
    fail(Status::Limit, "KV pool: %d more pages needed for %d tokens, %d of %d available",
         std::max(1, pages_of(timeline.size()) - held), timeline.size(), pool_.available(),
         pool_.stats().pages);
  } catch (const Error &error) {
    sequence.failed(error);
  }
  remove(sequence);
  sequence.changed->notify_all();
}

}  // namespace rz
