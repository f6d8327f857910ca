// Nothing is allocated per token: every operator new of this program is counted, on all threads.
#include <atomic>
#include <cstdlib>
#include <new>

#include "api/host.h"

namespace {
std::atomic<size_t> allocations{0};

void *allocate(size_t size) {
  ++allocations;
  if (void *block = std::malloc(size ? size : 1)) return block;
  throw std::bad_alloc();
}
}  // namespace

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, size_t) noexcept { std::free(block); }
void operator delete[](void *block, size_t) noexcept { std::free(block); }

namespace rz::test {
namespace {

TEST(Allocations, AreNoneInTheSteadyState) {
  // The thread that asks computes, so it is known which tokens have been computed at each point.
  const rz_model_options manual = model_options(RZ_MODEL_MANUAL_STEP);
  const ModelHandle model = load(&manual);
  rz_generate_options options = generate_options(200);
  options.temperature = 0.8f;
  options.top_k = 40;
  options.top_p = 0.9f;
  options.repeat_penalty = 1.1f;
  options.logprobs = 5;
  const rz_prompt prompt = text_prompt("the cat");
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, generation.out(), &err));
  rz_event event = RZ_INIT(rz_event);
  size_t before = 0;
  for (int i = 0; i < 200; ++i) {
    if (i == 10) before = allocations;
    RZ_OK_OR_FAIL(rz_generation_next(generation, -1, &event, &err));
    ASSERT_EQ(event.type, RZ_EVENT_TOKEN);
  }
  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace rz::test
