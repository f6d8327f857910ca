// Several generations that one thread follows: whatever happens first, in any of them, comes out next.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/generation.h"

namespace rz {

class GenerationGroup {
 public:
  // Starts them all together.
  GenerationGroup(Engine &engine, std::vector<std::unique_ptr<Generation>> generations);

  struct News {
    size_t index;
    Generation *generation;
    const Event *event;  // null: this one has ended
  };
  // Waits for it; nothing when all have ended. An event is valid until the next call.
  std::optional<News> next();

 private:
  std::optional<News> look();

  Engine &engine_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Generation>> generations_;
  std::vector<char> ended_;
  size_t n_left_;
  size_t turn_ = 0;  // the one to look at first, so that all are heard
};

}  // namespace rz
