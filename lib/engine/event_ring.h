// Events on their way from the stepping thread to the host. The slots are made once; the engine fills the one
// behind the last, then shows it under its lock. The host keeps the event it took until it takes the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sampler.h"

namespace rz {

enum class EventKind : uint8_t { Prefill, Token };

struct Event {
  EventKind kind = EventKind::Token;
  uint32_t index = 0;  // Token: 0, 1, ...; Prefill: prompt tokens done
  int32_t token = -1;
  float logprob = 0;
  std::string text;
  std::vector<TokenLogprob> top;
};

class EventRing {
 public:
  explicit EventRing(int32_t logprobs) : slots_(kSlots) {
    for (Event &slot : slots_) {
      slot.text.reserve(kTextBytes);
      slot.top.reserve(static_cast<size_t>(logprobs));
    }
  }

  // Engine's side. A step makes at most two events: Prefill and Token.
  bool has_room(uint32_t steps = 1) const { return kSlots - (shown_ - taken_) >= 2 * steps; }
  Event &stage() { return slots_[(shown_ + staged_++) % kSlots]; }
  // With the lock from here on.
  void show() {
    shown_ += staged_;
    staged_ = 0;
  }
  // The newest event, when the host has not taken it.
  Event *newest() { return unread() ? &slots_[(shown_ - 1) % kSlots] : nullptr; }

  // Host's side.
  bool unread() const { return shown_ - taken_ > (holding_ ? 1u : 0u); }
  const Event &take() {
    release();
    holding_ = true;
    return slots_[taken_ % kSlots];
  }
  void release() {
    if (holding_) ++taken_;
    holding_ = false;
  }
  void drop_unread() { shown_ = taken_ + (holding_ ? 1 : 0); }

 private:
  static constexpr uint32_t kSlots = 256;   // how far the engine runs ahead of a slow host
  static constexpr size_t kTextBytes = 48;  // longer pieces are rare, and only cost an allocation
  std::vector<Event> slots_;
  uint32_t shown_ = 0, staged_ = 0, taken_ = 0;
  bool holding_ = false;  // the host reads slot taken_
};

}  // namespace rz
