// Sessions by the C API, over real kernels: whatever way led to a timeline, its logits have the same bits.
#include <fstream>

#include "api/host.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

constexpr size_t kVocab = 389;

SessionHandle open(rz_model *model) {
  SessionHandle session;
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_session_open(model, nullptr, session.out(), &err), RZ_OK) << err.message;
  return session;
}

std::vector<float> eval(rz_session *session, const Tokens &tokens, size_t n_rows) {
  std::vector<float> logits(n_rows * kVocab);
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_session_eval(session, tokens.data(), tokens.size(), logits.data(), n_rows, &err), RZ_OK)
      << err.message;
  return logits;
}

Tokens tokens_of(rz_session *session) {
  size_t count = 0;
  rz_session_tokens(session, nullptr, 0, &count, nullptr);
  Tokens tokens(count);
  EXPECT_EQ(rz_session_tokens(session, tokens.data(), tokens.size(), &count, nullptr), RZ_OK);
  return tokens;
}

class Sessions : public ::testing::Test {
 protected:
  ModelHandle model_ = load();
  Tokens a_ = some_tokens(83, 1), b_ = some_tokens(9, 2);
  // The logits of b's rows after a, computed in one go.
  std::vector<float> expected() {
    Tokens all = a_;
    all.insert(all.end(), b_.begin(), b_.end());
    const SessionHandle session = open(model_);
    return eval(session, all, b_.size());
  }
};

TEST_F(Sessions, GiveTheSameBitsInAnyPieces) {
  const std::vector<float> whole = expected();
  const SessionHandle pieces = open(model_);
  for (const int32_t token : a_) eval(pieces, {token}, 0);
  EXPECT_EQ(eval(pieces, b_, b_.size()), whole);

  rz_model_options small = model_options(RZ_MODEL_PREFIX_CACHE_OFF);
  small.max_batch = 5;
  small.threads = 1;
  const ModelHandle chunked = load(&small);
  const SessionHandle session = open(chunked);
  eval(session, a_, 1);
  EXPECT_EQ(eval(session, b_, b_.size()), whole);
}

TEST_F(Sessions, GiveTheSameBitsAfterRewindAndFork) {
  const std::vector<float> whole = expected();
  const SessionHandle session = open(model_);
  eval(session, a_, 1);
  eval(session, some_tokens(40, 3), 1);
  RZ_OK_OR_FAIL(rz_session_rewind(session, a_.size(), &err));
  SessionHandle fork;
  RZ_OK_OR_FAIL(rz_session_fork(session, fork.out(), &err));
  eval(session, some_tokens(30, 4), 1);
  EXPECT_EQ(eval(fork, b_, b_.size()), whole);
  RZ_OK_OR_FAIL(rz_session_rewind(session, a_.size(), &err));
  EXPECT_EQ(eval(session, b_, b_.size()), whole);
}

TEST_F(Sessions, GiveTheSameBitsAfterSaveAndLoad) {
  const std::vector<float> whole = expected();
  const std::string path = (scratch_folder() / "session").string();
  {
    const SessionHandle session = open(model_);
    eval(session, a_, 1);
    RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
  }
  const ModelHandle fresh = load();
  SessionHandle loaded;
  RZ_OK_OR_FAIL(rz_session_load(fresh, path.c_str(), loaded.out(), &err));
  EXPECT_EQ(tokens_of(loaded), a_);
  EXPECT_EQ(eval(loaded, b_, b_.size()), whole);
}

TEST_F(Sessions, AreRefusedByOtherModels) {
  const std::string path = (scratch_folder() / "session").string();
  const SessionHandle session = open(model_);
  eval(session, a_, 1);
  RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
  rz_error err = RZ_INIT(rz_error);
  rz_session *loaded = nullptr;
  const ModelHandle other = load(nullptr, other_tiny_path());
  EXPECT_EQ(rz_session_load(other, path.c_str(), &loaded, &err), RZ_E_STATE);
  rz_model_options q8 = model_options();
  q8.kv_type = RZ_TYPE_Q8_0;
  const ModelHandle quantized = load(&q8);
  EXPECT_EQ(rz_session_load(quantized, path.c_str(), &loaded, &err), RZ_E_STATE) << err.message;
  EXPECT_EQ(loaded, nullptr);
}

TEST_F(Sessions, AreRefusedWhenDamaged) {
  const std::string path = (scratch_folder() / "session").string();
  const SessionHandle session = open(model_);
  eval(session, some_tokens(5, 1), 1);
  RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
  const std::string good = read_file(path);
  rz_session *loaded = nullptr;
  const size_t stride = good.size() / 150 + 1;
  for (size_t i = 0; i < good.size(); i += i < 80 ? 1 : stride) {
    std::ofstream(path, std::ios::binary) << good.substr(0, i);
    EXPECT_EQ(rz_session_load(model_, path.c_str(), &loaded, nullptr), RZ_E_STATE) << i;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_EQ(rz_session_load(model_, path.c_str(), &loaded, nullptr), RZ_E_STATE) << i;
  }
}

TEST_F(Sessions, AreContinuedByGenerations) {
  const SessionHandle session = open(model_);
  rz_generate_options options = generate_options(12);
  options.session = session;
  const Result first = stream(model_, token_prompt(a_), options);
  ASSERT_EQ(first.status, RZ_OK) << first.message;
  EXPECT_EQ(first.tokens, stream(load(), token_prompt(a_), generate_options(12)).tokens);
  Tokens all = a_;
  all.insert(all.end(), first.tokens.begin(), first.tokens.end());
  EXPECT_EQ(tokens_of(session), all);

  const Result second = stream(model_, token_prompt(b_), options);
  all.insert(all.end(), b_.begin(), b_.end());
  EXPECT_EQ(second.tokens, stream(load(), token_prompt(all), generate_options(12)).tokens);
}

TEST_F(Sessions, KeepWhatTheCallbackSaw) {
  const SessionHandle session = open(model_);
  rz_generate_options options = generate_options(0);
  options.session = session;
  Tokens expected = a_;
  const auto stop_at_fifth = [](void *user, const rz_event *event) -> int32_t {
    static_cast<Tokens *>(user)->push_back(event->token);
    return event->index == 4;
  };
  const rz_prompt prompt = token_prompt(a_);
  RZ_OK_OR_FAIL(rz_generate_stream(model_, &prompt, &options, stop_at_fifth, &expected, nullptr, &err));
  EXPECT_EQ(tokens_of(session), expected);
}

TEST_F(Sessions, AreBusyWhileAGenerationContinuesThem) {
  const SessionHandle session = open(model_);
  rz_generate_options options = generate_options(0);
  options.session = session;
  const rz_prompt prompt = token_prompt(a_);
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(model_, &prompt, &options, generation.out(), &err));
  size_t count = 0;
  EXPECT_EQ(rz_session_tokens(session, nullptr, 0, &count, nullptr), RZ_E_BUSY);
  EXPECT_EQ(rz_session_rewind(session, 0, nullptr), RZ_E_BUSY);
  EXPECT_EQ(rz_session_eval(session, a_.data(), 1, nullptr, 0, nullptr), RZ_E_BUSY);
  generation = GenerationHandle();
  EXPECT_EQ(rz_session_rewind(session, 0, nullptr), RZ_OK);
}

TEST_F(Sessions, BelongToOneModel) {
  const SessionHandle session = open(model_);
  rz_generate_options options = generate_options(2);
  options.session = session;
  EXPECT_EQ(stream(load(), token_prompt(a_), options).status, RZ_E_ARGUMENT);
}

TEST(Lifetime, ASessionAndAGenerationKeepTheirModelAlive) {
  ModelHandle model = load();
  SessionHandle session = open(model);
  const rz_prompt prompt = text_prompt("a");
  const rz_generate_options options = generate_options(20);
  GenerationHandle generation;
  RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, generation.out(), &err));
  model = ModelHandle();
  EXPECT_EQ(eval(session, {5, 6}, 1).size(), kVocab);
  session = SessionHandle();
  rz_event event = RZ_INIT(rz_event);
  int32_t events = 0;
  for (; event.type != RZ_EVENT_END; ++events)
    RZ_OK_OR_FAIL(rz_generation_next(generation, -1, &event, &err));
  EXPECT_EQ(events, 21);
}

}  // namespace
}  // namespace rz::test
