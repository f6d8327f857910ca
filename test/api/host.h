// A host program in a few lines: the C API with destructors, over a tiny model that is written once.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rz.h"
#include "support/tiny_models.h"

namespace rz::test {

using Tokens = std::vector<int32_t>;

// Owns a handle of the C API.
template <class T, void (*release)(T *)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T *raw) : raw_(raw) {}
  ~Handle() { release(raw_); }
  Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  operator T *() const { return raw_; }
  T **out() { return &raw_; }

 private:
  T *raw_ = nullptr;
};
using ModelHandle = Handle<rz_model, rz_model_release>;
using SessionHandle = Handle<rz_session, rz_session_free>;
using GenerationHandle = Handle<rz_generation, rz_generation_free>;

// Of a tiny llama with a SentencePiece-like vocabulary (bytes from id 3), context 256.
const std::string &tiny_path();
// Another model of the same shapes.
const std::string &other_tiny_path();

// Fails the test where the load fails.
ModelHandle load(const rz_model_options *options = nullptr, const std::string &path = tiny_path());
rz_model_options model_options(uint32_t flags = 0);

rz_prompt text_prompt(const char *text);
rz_prompt token_prompt(const Tokens &tokens);
Tokens some_tokens(size_t n, uint32_t seed);  // letters and words of the tiny vocabulary
// Greedy, never ends by itself.
rz_generate_options generate_options(int32_t max_tokens);

struct Result {
  rz_status status = RZ_OK;
  std::string message;
  Tokens tokens;
  std::string text;
  std::vector<std::string> pieces;  // texts of the TOKEN events
  std::vector<float> logprobs;
  int32_t finish = RZ_FINISH_NONE;
  rz_stats stats = RZ_INIT(rz_stats);
  void add(const rz_event &event);
};
Result stream(rz_model *model, const rz_prompt &prompt, const rz_generate_options &options);
// Through rz_generation_start and _next.
Result pull(rz_model *model, const rz_prompt &prompt, const rz_generate_options &options);
std::vector<Result> batch(rz_model *model, const std::vector<rz_prompt> &prompts,
                          const rz_generate_options &options);

// Runs `work` on a thread with a stack of 64 KiB (more under sanitizers, which need it).
void on_small_stack(void (*work)(void *), void *user);

#define RZ_OK_OR_FAIL(call)                                                            \
  do {                                                                                 \
    rz_error err = RZ_INIT(rz_error);                                                  \
    const rz_status rz_status_ = (call);                                               \
    ASSERT_EQ(rz_status_, RZ_OK) << rz_status_name(rz_status_) << ": " << err.message; \
  } while (0)

}  // namespace rz::test
