#include "engine/generation_group.h"

#include <algorithm>

namespace rz {

GenerationGroup::GenerationGroup(Engine &engine, std::vector<std::unique_ptr<Generation>> generations)
    : engine_(engine),
      generations_(std::move(generations)),
      ended_(generations_.size(), 0),
      n_left_(generations_.size()) {
  Generation::start(engine, generations_, &changed_);
}

std::optional<GenerationGroup::News> GenerationGroup::next() {
  while (n_left_ > 0) {
    if (const std::optional<News> news = look()) return news;
    Clock::time_point until = Clock::time_point::max();
    for (size_t i = 0; i < generations_.size(); ++i) {
      if (!ended_[i]) until = std::min(until, generations_[i]->next_deadline());
    }
    Engine::Lock lock = engine_.lock();
    engine_.wait(lock, changed_, until, [&] {
      for (size_t i = 0; i < generations_.size(); ++i) {
        if (!ended_[i] && generations_[i]->has_news()) return true;
      }
      return false;
    });
  }
  return std::nullopt;
}

// What there is without waiting.
std::optional<GenerationGroup::News> GenerationGroup::look() {
  for (size_t k = 0; k < generations_.size(); ++k) {
    const size_t i = (turn_ + k) % generations_.size();
    if (ended_[i]) continue;
    Generation &generation = *generations_[i];
    const Event *event = nullptr;
    const Generation::Next found = generation.next(Clock::now(), &event);
    if (found == Generation::Next::Nothing) continue;
    turn_ = i + 1;
    if (found == Generation::Next::End) {
      ended_[i] = 1;
      --n_left_;
    }
    return News{i, &generation, event};
  }
  return std::nullopt;
}

}  // namespace rz
