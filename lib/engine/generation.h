// One generation: samples the tokens that follow a prompt, turns them to text, and hands both to its host
// through a ring of events. The engine runs ahead until the ring is full. How it ends is decided once, and a
// session that it continued then holds the prompt and the tokens handed out, no more.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/event_ring.h"
#include "engine/sampler.h"
#include "engine/session.h"
#include "engine/text_stream.h"

namespace rz {

// With the values of RZ_FINISH_*.
enum class Finish : int32_t { None = 0, Stop, Length, Callback, Cancelled, Deadline, Error };

// rz_generate_options, checked and with defaults put in.
struct GenerateRequest {
  std::vector<int32_t> prompt;  // tokens, all in the vocabulary
  SamplingOptions sampling;
  int32_t max_tokens = 0;  // 0 = until the context is full
  std::vector<int32_t> stop_tokens;
  std::vector<std::string> stop_strings;
  bool ignore_eos = false, special_text = false, prefill_events = false, profile = false;
  uint32_t deadline_ms = 0;  // 0 = none
  int32_t (*on_logits)(void *user, float *logits, size_t n, const int32_t *tokens, size_t n_tokens) = nullptr;
  void *logits_user = nullptr;
  std::shared_ptr<Session> session;  // null: stateless
};

struct GenerationStats {
  Finish finish = Finish::None;
  uint32_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  Clock::duration queued{}, first_token{}, prefill{}, decode{}, total{};
};

class Generation : public Sequence {
 public:
  // Checks that the prompt fits. A session is taken from here until the generation has ended.
  Generation(Engine &engine, GenerateRequest request);
  ~Generation() override;  // cancels and waits

  // Puts them in line together. `changed`, if not null, is notified for all of them instead of their own.
  static void start(Engine &engine, std::span<const std::unique_ptr<Generation>> generations,
                    std::condition_variable *changed = nullptr);

  enum class Next : uint8_t { Event, End, Nothing };
  // What the host gets next: an event (valid until the next call), the end (again and again), or nothing
  // until `until`. Callbacks run in here.
  Next next(Clock::time_point until, const Event **event);
  void cancel();                                                 // from any thread
  void stop_by_callback();                                       // as cancel, with Finish::Callback
  const std::string &tail() const { return tail_; }              // End: text held back until then
  const std::optional<Error> &failure() const { return error; }  // of an ended one
  Finish finish() const { return finish_; }                      // of an ended one
  GenerationStats stats() const;
  bool has_news() const { return has_event() || over || parked_; }  // with the engine's lock
  // When waiting for news should stop to let next() see that the time is up.
  Clock::time_point next_deadline() const {
    return late(Clock::now()) ? Clock::time_point::max() : deadline_;
  }

  // Sequence
  bool ready() const override { return !parked_ && ring_.has_room(); }
  bool may_be_put_aside() const override { return stateless && !in_flight; }
  bool may_run_ahead() const override {
    return stop_ == Finish::None && timeline.size() + 1 < limit_ && ring_.has_room(2);
  }
  bool profiled() const override { return request_.profile; }
  void check(Clock::time_point now) override;
  void cached(int32_t tokens) override;
  void batched(Clock::time_point now) override;
  void rows_done() override;
  void failed(const Error &error) override;
  int32_t seat() override;
  void take(float *logits, int32_t n) override;
  void take_token(const SampledToken &sampled) override;

 private:
  void stop(Finish cause);
  void accept_prompt();
  void show_whole_prompt();
  void choose(float *logits);
  void accept(const Sampled &sampled);
  void leave_seat();
  bool is_stop(int32_t token) const;
  void show_prefill();
  void show_choice();
  void end(Finish finish);
  void detach();
  void call_on_logits(Engine::Lock &lock);
  bool has_event() const { return ring_.unread() && stop_ == Finish::None; }
  bool late(Clock::time_point now) const { return now >= deadline_; }

  Engine &engine_;
  GenerateRequest request_;
  Timeline own_timeline_;
  Sampler sampler_;
  std::optional<TextStream> text_;
  EventRing ring_;
  std::condition_variable own_changed_;
  int32_t prompt_end_ = 0;  // of the timeline
  int32_t limit_ = 0;       // the timeline grows to so many tokens
  uint32_t chosen_ = 0;     // tokens sampled so far
  uint32_t handed_out_ = 0;
  int32_t prefill_shown_ = 0;
  Finish staged_finish_ = Finish::None;  // take() found the end
  std::string tail_;
  std::vector<float> parked_logits_;  // (vocab), for on_logits
  static constexpr int32_t kNotAsked = -2, kNone = -1;
  int32_t seat_ = kNotAsked;    // at the device's sampler
  bool parked_ = false;         // they wait for the host's callback
  bool taken_ = false;          // take() was called in this step
  bool with_host_ = false;      // its callback runs: nothing but kv may be touched
  Finish stop_ = Finish::None;  // asked for: Cancelled or Callback
  bool attached_ = false;       // to its session
  Finish finish_ = Finish::None;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point started_{}, first_batch_{}, first_token_{}, last_token_{}, ended_{};
  uint32_t cached_ = 0;
};

}  // namespace rz
