// Generations on a GPU by the C API: what its sampler chooses is what the host would have, alone and among
// others; and its pages of 8-bit floats, which the CPU does not have.
#include <thread>

#include "api/likelihood.h"
#include "support/devices.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

rz_model_options cuda_options(int32_t kv_type = RZ_TYPE_DEFAULT) {
  static const std::string device = "cuda";
  rz_model_options options = model_options();
  choose_device(device, options);
  options.kv_type = kv_type;
  return options;
}

ModelHandle load_on_cuda(int32_t kv_type = RZ_TYPE_DEFAULT, const std::string &path = tiny_path()) {
  const rz_model_options options = cuda_options(kv_type);
  return load(&options, path);
}

// A host that looks at logits and leaves them: its generations are sampled on the host.
int32_t only_look(void *, float *, size_t, const int32_t *, size_t) { return 0; }

using Change = void (*)(rz_generate_options &);
constexpr Change kChanges[] = {
    [](rz_generate_options &) {},
    [](rz_generate_options &o) { o.temperature = 0.8f; },
    [](rz_generate_options &o) {
      o.temperature = 1.2f;
      o.top_k = 20;
      o.top_p = 0.9f;
    },
    [](rz_generate_options &o) {
      o.temperature = 1;
      o.min_p = 0.05f;
      o.repeat_penalty = 1.3f;
      o.repeat_last_n = 16;
    },
    [](rz_generate_options &o) {
      o.temperature = 1;
      o.mirostat = 2;
    },
    [](rz_generate_options &o) { o.logprobs = 5; },
};

TEST(Cuda, SamplesWhatTheHostWouldSample) {
  const ModelHandle model = load_on_cuda();
  for (const Change change : kChanges) {
    rz_generate_options options = generate_options(24);
    options.seed = 7;
    change(options);
    const Result device = stream(model, text_prompt("the cat"), options);
    options.on_logits = only_look;
    const Result host = stream(model, text_prompt("the cat"), options);
    EXPECT_EQ(device.tokens.size(), 24u);
    EXPECT_EQ(device.tokens, host.tokens);
    EXPECT_EQ(device.logprobs, host.logprobs);
    EXPECT_EQ(device.text, host.text);
  }
}

TEST(Cuda, GivesAGenerationTheSameTokensAmongOthers) {
  const ModelHandle model = load_on_cuda();
  const std::vector<Tokens> prompts = {some_tokens(3, 1), some_tokens(40, 2), some_tokens(17, 3)};
  rz_generate_options options = generate_options(12);
  options.temperature = 0.9f;
  options.seed = 5;
  std::vector<rz_prompt> together;
  for (const Tokens &tokens : prompts) together.push_back(token_prompt(tokens));
  const std::vector<Result> found = batch(model, together, options);
  ASSERT_EQ(found.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(found[i].tokens, stream(model, token_prompt(prompts[i]), options).tokens) << "prompt " << i;
  }
}

// More generations than the sampler has seats, one after another and left in the middle.
TEST(Cuda, SeatsAreFreeAgainWhenGenerationsEnd) {
  const ModelHandle model = load_on_cuda();
  const rz_generate_options options = generate_options(4);
  const Tokens expected = stream(model, text_prompt("a dog"), options).tokens;
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(stream(model, text_prompt("a dog"), options).tokens, expected);
      continue;
    }
    GenerationHandle left;
    const rz_prompt prompt = text_prompt("a dog");
    RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, left.out(), &err));
    rz_event event = RZ_INIT(rz_event);
    RZ_OK_OR_FAIL(rz_generation_next(left, 10000, &event, &err));
  }
}

TEST(Cuda, SessionsOf8BitFloatsGoOnWithThemAndWithNoOtherPages) {
  const std::string path = (scratch_folder() / "session").string();
  const ModelHandle model = load_on_cuda(RZ_TYPE_F8);
  const Tokens tokens = some_tokens(40, 4);
  const auto go_on = [&](rz_session *session) {
    std::vector<float> logits(static_cast<size_t>(info_of(model).vocabulary));
    EXPECT_EQ(rz_session_eval(session, tokens.data(), 3, logits.data(), 1, nullptr), RZ_OK);
    return logits;
  };
  SessionHandle saved, loaded;
  RZ_OK_OR_FAIL(rz_session_open(model, nullptr, saved.out(), &err));
  RZ_OK_OR_FAIL(rz_session_eval(saved, tokens.data(), tokens.size(), nullptr, 0, &err));
  RZ_OK_OR_FAIL(rz_session_save(saved, path.c_str(), &err));
  RZ_OK_OR_FAIL(rz_session_load(model, path.c_str(), loaded.out(), &err));
  EXPECT_EQ(go_on(loaded), go_on(saved));

  rz_session *refused = nullptr;
  const ModelHandle cpu = load(), codes = load_on_cuda(RZ_TYPE_Q8_0);
  for (rz_model *other : {static_cast<rz_model *>(cpu), static_cast<rz_model *>(codes)})
    EXPECT_EQ(rz_session_load(other, path.c_str(), &refused, nullptr), RZ_E_STATE);
}

TEST(Cuda, HasPagesOf8BitFloatsOfHalfTheSizeAndTheCpuHasNone) {
  rz_source source = RZ_INIT(rz_source);
  source.path = tiny_path().c_str();
  rz_memory_estimate half = RZ_INIT(rz_memory_estimate), eight = RZ_INIT(rz_memory_estimate);
  rz_model_options options = cuda_options();
  RZ_OK_OR_FAIL(rz_model_estimate(&source, &options, &half, &err));
  options.kv_type = RZ_TYPE_F8;
  RZ_OK_OR_FAIL(rz_model_estimate(&source, &options, &eight, &err));
  EXPECT_EQ(2 * eight.kv_bytes, half.kv_bytes);
  EXPECT_EQ(half.device_bytes - eight.device_bytes, half.kv_bytes - eight.kv_bytes);
  options.device = "cpu";
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_model_estimate(&source, &options, &eight, &err), RZ_E_UNSUPPORTED);
  EXPECT_NE(std::string(err.message).find("kv_type"), std::string::npos) << err.message;
}

TEST(Cuda, EmbedsLikeTheCpu) {
  const ModelHandle gpu = load_on_cuda(), cpu = load();
  const Tokens tokens = some_tokens(30, 9);
  const rz_prompt prompt = token_prompt(tokens);
  const auto embed = [&](rz_model *model) {
    std::vector<float> out(512);
    size_t n = 0;
    EXPECT_EQ(rz_embed(model, &prompt, RZ_POOL_MEAN, 0, out.data(), out.size(), &n, nullptr), RZ_OK);
    out.resize(n);
    return out;
  };
  const std::vector<float> a = embed(gpu), b = embed(cpu);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 5e-3f);
}

// Two models, and two threads on each of them, at the same time.
TEST(Cuda, ComputesTheSameWhateverElseRuns) {
  const ModelHandle models[] = {load_on_cuda(), load_on_cuda(RZ_TYPE_DEFAULT, other_tiny_path())};
  rz_generate_options options = generate_options(10);
  options.temperature = 0.9f;
  const auto prompt_of = [](size_t i) { return some_tokens(5 + 7 * i, static_cast<uint32_t>(i)); };
  std::vector<Tokens> expected, found(4);
  for (size_t i = 0; i < 4; ++i) {
    const Tokens prompt = prompt_of(i);
    expected.push_back(stream(models[i % 2], token_prompt(prompt), options).tokens);
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Tokens prompt = prompt_of(i);
      for (int round = 0; round < 3; ++round)
        found[i] = stream(models[i % 2], token_prompt(prompt), options).tokens;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(found, expected);
}

// Pages are laid out alike on every device, so a session goes on where it was not begun.
TEST(Cuda, GoesOnWithASessionOfTheCpuAndGivesItBack) {
  const ModelHandle gpu = load_on_cuda(), cpu = load();
  const Tokens before = some_tokens(45, 1), after = some_tokens(5, 2);
  const auto logits_of = [&](rz_session *session) {
    rz_model_info info = RZ_INIT(rz_model_info);
    EXPECT_EQ(rz_model_get_info(gpu, &info, nullptr), RZ_OK);
    std::vector<float> logits(static_cast<size_t>(info.vocabulary));
    rz_error err = RZ_INIT(rz_error);
    EXPECT_EQ(rz_session_eval(session, after.data(), after.size(), logits.data(), 1, &err), RZ_OK)
        << err.message;
    return logits;
  };
  for (const bool to_gpu : {true, false}) {
    rz_model *from = to_gpu ? cpu : gpu, *to = to_gpu ? gpu : cpu;
    const std::string path = (scratch_folder() / "moved_session").string();
    SessionHandle session, moved;
    RZ_OK_OR_FAIL(rz_session_open(from, nullptr, session.out(), &err));
    RZ_OK_OR_FAIL(rz_session_eval(session, before.data(), before.size(), nullptr, 0, &err));
    RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
    RZ_OK_OR_FAIL(rz_session_load(to, path.c_str(), moved.out(), &err));
    const std::vector<float> stayed = logits_of(session), went = logits_of(moved);
    for (size_t i = 0; i < stayed.size(); ++i) ASSERT_NEAR(went[i], stayed[i], 2e-2f) << "token " << i;
  }
}

}  // namespace
}  // namespace rz::test
