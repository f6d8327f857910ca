#include "engine/generation.h"

#include <algorithm>

#include "engine/float_mode.h"

namespace rz {

Generation::Generation(Engine &engine, GenerateRequest request)
    : Sequence(request.session ? request.session->timeline_ : own_timeline_, Output::Logits,
               !request.session),
      engine_(engine),
      request_(std::move(request)),
      sampler_(request_.sampling, engine.options().step.vocab),
      ring_(request_.sampling.logprobs) {
  changed = &own_changed_;
  if (request_.on_logits) parked_logits_.resize(static_cast<size_t>(engine.options().step.vocab));
  accept_prompt();
}

// Nothing that can fail comes after the session was changed.
void Generation::accept_prompt() {
  const Engine::Lock lock = engine_.lock();
  Session *session = request_.session.get();
  if (session) session->check_free();
  const int32_t before = timeline.size();
  const int32_t context = session ? session->context() : engine_.options().context;
  const size_t provided = request_.prompt.size();
  if (provided > static_cast<size_t>(context - before)) {
    fail(Status::Context, "prompt: %zu tokens after %d of the session, the context holds %d", provided,
         before, context);
  }
  prompt_end_ = before + static_cast<int32_t>(provided);
  if (prompt_end_ == 0) fail(Status::Argument, "prompt: expected at least one token, found none");
  engine_.check_fits(prompt_end_);
  limit_ = context;
  if (request_.max_tokens > 0 && request_.max_tokens < context - prompt_end_) {
    limit_ = prompt_end_ + request_.max_tokens;
  }
  timeline.reserve(limit_);
  if (const Tokenizer *tokenizer = engine_.options().tokenizer) {
    const auto control = [&](int32_t token) { return tokenizer->is_control(token); };
    const bool begins =
        std::ranges::all_of(timeline.tokens, control) && std::ranges::all_of(request_.prompt, control);
    text_.emplace(*tokenizer, std::move(request_.stop_strings), request_.special_text, begins);
  }
  timeline.tokens.insert(timeline.tokens.end(), request_.prompt.begin(), request_.prompt.end());
  outputs_from = prompt_end_ - 1;
  if (session) {
    session->continued_ = attached_ = true;
    // The next token follows from the last one's logits, so that one is computed once more.
    if (timeline.computed() > outputs_from) engine_.pool().rewind(timeline.kv, outputs_from);
  }
  if (prompt_end_ >= limit_) end(Finish::Length);
}

Generation::~Generation() {
  Engine::Lock lock = engine_.lock();
  if (stop_ == Finish::None) stop_ = Finish::Cancelled;
  engine_.remove(lock, *this);
  leave_seat();
  detach();
}

void Generation::start(Engine &engine, std::span<const std::unique_ptr<Generation>> generations,
                       std::condition_variable *changed) {
  const Clock::time_point now = Clock::now();
  std::vector<Sequence *> sequences;
  for (const auto &generation : generations) {
    generation->started_ = now;
    const uint32_t deadline_ms = generation->request_.deadline_ms;
    if (deadline_ms > 0) generation->deadline_ = now + std::chrono::milliseconds(deadline_ms);
    if (generation->over) generation->ended_ = now;
    if (changed) generation->changed = changed;
    sequences.push_back(generation.get());
  }
  engine.start(sequences);
}

Generation::Next Generation::next(Clock::time_point until, const Event **event) {
  Engine::Lock lock = engine_.lock();
  const bool was_full = !ring_.has_room();
  ring_.release();
  if (was_full) engine_.wake();
  for (;;) {
    if (has_event()) {
      *event = &ring_.take();
      if ((*event)->kind == EventKind::Token) ++handed_out_;
      return Next::Event;
    }
    if (over) {
      engine_.leave(*this);
      detach();
      return Next::End;
    }
    if (parked_) {
      call_on_logits(lock);
      continue;
    }
    Clock::time_point bound = std::min(until, deadline_);
    if (late(Clock::now())) {
      engine_.interrupt(*this);
      bound = until;
      if (!in_flight) {
        end(Finish::Deadline);
        continue;
      }
    }
    if (!engine_.wait(lock, *changed, bound, [&] { return has_news(); }) && bound == until)
      return Next::Nothing;
  }
}

// The engine leaves a parked sequence alone, so its callback and the sampling after it run on the host's
// thread.
void Generation::call_on_logits(Engine::Lock &lock) {
  with_host_ = true;
  lock.unlock();
  int32_t refused = 0;
  std::optional<Error> trouble;
  const std::vector<int32_t> &tokens = timeline.tokens;
  try {
    refused = request_.on_logits(request_.logits_user, parked_logits_.data(), parked_logits_.size(),
                                 tokens.data(), tokens.size());
    const FloatMode mode;
    if (refused == 0) choose(parked_logits_.data());
  } catch (...) {
    trouble = current_error();
  }
  lock.lock();
  with_host_ = parked_ = false;
  if (trouble) {
    failed(*trouble);
  } else if (refused != 0) {
    end(Finish::Callback);
  } else {
    show_choice();
    if (!over) check(Clock::now());
  }
  engine_.wake();
}

void Generation::cancel() { stop(Finish::Cancelled); }

void Generation::stop_by_callback() { stop(Finish::Callback); }

void Generation::stop(Finish cause) {
  const Engine::Lock lock = engine_.lock();
  if (over && !ring_.unread()) return;  // the host has seen all of it
  if (stop_ == Finish::None) stop_ = cause;
  if (over) {
    end(error ? Finish::Error : cause);
    return;
  }
  engine_.interrupt(*this);
  if (!in_flight) check(Clock::now());
  if (over) engine_.leave(*this);
  engine_.wake();
}

GenerationStats Generation::stats() const {
  const Engine::Lock lock = engine_.lock();
  const Clock::time_point now = over ? ended_ : Clock::now();
  const auto or_now = [&](Clock::time_point at) { return at == Clock::time_point{} ? now : at; };
  GenerationStats stats;
  stats.finish = has_event() ? Finish::None : finish_;
  stats.prompt_tokens = static_cast<uint32_t>(request_.prompt.size());
  stats.cached_tokens = cached_;
  stats.generated_tokens = handed_out_;
  stats.queued = or_now(first_batch_) - started_;
  stats.first_token = or_now(first_token_) - started_;
  stats.prefill = or_now(first_token_) - or_now(first_batch_);
  stats.decode = or_now(last_token_) - or_now(first_token_);
  stats.total = now - started_;
  return stats;
}

void Generation::check(Clock::time_point now) {
  if (with_host_) return;
  if (stop_ != Finish::None) {
    end(stop_);
  } else if (late(now)) {
    end(Finish::Deadline);
  }
}

void Generation::cached(int32_t tokens) {
  if (first_batch_ == Clock::time_point{}) cached_ = static_cast<uint32_t>(tokens);
}

void Generation::batched(Clock::time_point now) {
  if (first_batch_ == Clock::time_point{}) first_batch_ = now;
}

// Only what the device's sampler does itself may sit there. One that a failed step left behind its timeline,
// or ahead of it, begins anew.
int32_t Generation::seat() {
  if (alone) leave_seat();
  if (seat_ != kNotAsked) return seat_;
  seat_ = kNone;
  if (request_.on_logits) return seat_;
  SamplerSeat wanted;
  wanted.options = &sampler_.options();
  wanted.history = timeline.tokens;
  wanted.step = chosen_;
  wanted.most_tokens = limit_;
  try {
    seat_ = engine_.executor().take_seat(wanted);
  } catch (const Error &) {  // no memory for one more: the host samples
  }
  return seat_;
}

void Generation::leave_seat() {
  if (seat_ >= 0) engine_.executor().give_up_seat(seat_);
  seat_ = kNotAsked;
}

void Generation::show_whole_prompt() {
  const auto prompt = static_cast<int32_t>(request_.prompt.size());
  if (!request_.prefill_events || prefill_shown_ >= prompt) return;
  prefill_shown_ = prompt;
  Event &event = ring_.stage();
  event.kind = EventKind::Prefill;
  event.index = static_cast<uint32_t>(prompt);
}

void Generation::take(float *logits, int32_t) {
  show_whole_prompt();
  taken_ = true;
  if (request_.on_logits) {
    std::copy_n(logits, parked_logits_.size(), parked_logits_.begin());
  } else {
    choose(logits);
  }
}

void Generation::take_token(const SampledToken &sampled) {
  using Trouble = SampledToken::Trouble;
  if (sampled.trouble == Trouble::Nothing) {
    fail(Status::Numeric, "logits: expected at least one above -inf, found none in %d",
         engine_.options().step.vocab);
  }
  if (sampled.trouble != Trouble::None) {
    fail(Status::Numeric, "logit of token %d: expected a number, found %s", sampled.token,
         sampled.trouble == Trouble::Nan ? "nan" : "inf");
  }
  show_whole_prompt();
  taken_ = true;
  accept({sampled.token, sampled.logprob, {sampled.top, static_cast<size_t>(sampled.n_top)}});
}

void Generation::choose(float *logits) {
  const auto vocab = static_cast<size_t>(engine_.options().step.vocab);
  accept(sampler_.sample({logits, vocab}, timeline.tokens, chosen_));
}

// Stages the event of the next token, or finds that it is a stop token.
void Generation::accept(const Sampled &sampled) {
  if (is_stop(sampled.token)) {
    staged_finish_ = Finish::Stop;
    if (text_) tail_ = text_->finish().text;
    return;
  }
  timeline.tokens.push_back(sampled.token);
  outputs_from = timeline.size() - 1;
  Event &event = ring_.stage();
  event.kind = EventKind::Token;
  event.index = chosen_++;
  event.token = sampled.token;
  event.logprob = sampled.logprob;
  event.top.assign(sampled.top.begin(), sampled.top.end());
  event.text.clear();
  if (timeline.size() >= limit_) staged_finish_ = Finish::Length;
  if (!text_) return;
  const TextStream::Result piece = text_->push(sampled.token);
  event.text.assign(piece.text);
  if (piece.stopped) {
    staged_finish_ = Finish::Stop;
  } else if (staged_finish_ != Finish::None) {
    event.text.append(text_->finish().text);
  }
}

bool Generation::is_stop(int32_t token) const {
  if (std::ranges::find(request_.stop_tokens, token) != request_.stop_tokens.end()) return true;
  const Tokenizer *tokenizer = engine_.options().tokenizer;
  return tokenizer && !request_.ignore_eos && tokenizer->is_end_of_generation(token);
}

void Generation::rows_done() {
  if (!taken_) {
    show_prefill();
    return;
  }
  taken_ = false;
  if (request_.on_logits) {
    ring_.show();
    parked_ = true;
  } else {
    show_choice();
  }
}

// A host that is slow to look sees the latest figure only.
void Generation::show_prefill() {
  const auto prompt = static_cast<int32_t>(request_.prompt.size());
  const int32_t done = std::min(prompt, timeline.computed() - (prompt_end_ - prompt));
  if (!request_.prefill_events || done <= prefill_shown_) return;
  prefill_shown_ = done;
  Event *newest = ring_.newest();
  const bool fresh = !newest || newest->kind != EventKind::Prefill;
  Event &event = fresh ? ring_.stage() : *newest;
  event.kind = EventKind::Prefill;
  event.index = static_cast<uint32_t>(done);
  ring_.show();
}

void Generation::show_choice() {
  ring_.show();
  last_token_ = Clock::now();
  if (first_token_ == Clock::time_point{}) first_token_ = last_token_;
  if (staged_finish_ != Finish::None) end(staged_finish_);
}

void Generation::failed(const Error &why) {
  Sequence::failed(why);
  end(Finish::Error);
}

// Tokens that the host has not seen are taken back when it asked for the end.
void Generation::end(Finish finish) {
  if (stop_ != Finish::None) ring_.drop_unread();
  finish_ = stop_ != Finish::None && finish != Finish::Error ? stop_ : finish;
  over = true;
  ended_ = Clock::now();
  changed->notify_all();
}

void Generation::detach() {
  if (!attached_) return;
  attached_ = false;
  const bool never_started = started_ == Clock::time_point{};
  const int32_t prompt = static_cast<int32_t>(request_.prompt.size());
  request_.session->shorten(never_started ? prompt_end_ - prompt
                                          : prompt_end_ + static_cast<int32_t>(handed_out_));
  request_.session->continued_ = false;
}

}  // namespace rz
