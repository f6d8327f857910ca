// What a host can get wrong in a call: always RZ_E_ARGUMENT with a message, and the library goes on.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "api/host.h"

namespace rz::test {
namespace {

using Change = std::function<void(rz_generate_options &)>;

class Arguments : public ::testing::Test {
 protected:
  ModelHandle model_ = load();
  rz_error err_ = RZ_INIT(rz_error);

  void TearDown() override {
    EXPECT_EQ(stream(model_, text_prompt("a"), generate_options(2)).tokens.size(), 2u);
  }

  void refuse(const Change &change, const char *part) {
    rz_generate_options options = generate_options(1);
    change(options);
    const Result result = stream(model_, text_prompt("a"), options);
    EXPECT_EQ(result.status, RZ_E_ARGUMENT) << part;
    EXPECT_NE(result.message.find(part), std::string::npos) << result.message;
  }
};

TEST_F(Arguments, NullHandlesAndOutputsAreRefused) {
  const rz_prompt prompt = text_prompt("a");
  rz_event event = RZ_INIT(rz_event);
  rz_stats stats = RZ_INIT(rz_stats);
  rz_model_info info = RZ_INIT(rz_model_info);
  rz_generation *generation = nullptr;
  rz_session *session = nullptr;
  rz_model *model = nullptr;
  size_t count = 0;
  const char *text = nullptr;
  int32_t left = 0;
  const auto none = [](void *, const rz_event *) -> int32_t { return 0; };
  EXPECT_EQ(rz_model_load(nullptr, nullptr, &model, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_load("x", nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_load_source(nullptr, nullptr, &model, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_estimate(nullptr, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_get_info(nullptr, &info, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_get_info(model_, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_metadata_count(nullptr), 0u);
  EXPECT_EQ(rz_model_metadata_at(model_, 0, nullptr, &text, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_metadata_at(model_, 100000, &text, &text, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_tokenize(nullptr, "a", 1, 0, nullptr, 0, &count, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_tokenize(model_, nullptr, 1, 0, nullptr, 0, &count, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_tokenize(model_, "a", 1, 0, nullptr, 0, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_detokenize(model_, nullptr, 1, 0, nullptr, 0, &count, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_token_piece(model_, 0, nullptr, &count, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generate_stream(nullptr, &prompt, nullptr, none, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generate_stream(model_, nullptr, nullptr, none, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generate_stream(model_, &prompt, nullptr, nullptr, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generate_batch(model_, nullptr, 1, nullptr, none, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generation_start(model_, &prompt, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generation_start(nullptr, &prompt, nullptr, &generation, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generation_next(nullptr, 0, &event, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_generation_get_stats(nullptr, &stats, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_step(nullptr, 1, &left, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_step(model_, 1, &left, &err_), RZ_E_ARGUMENT);  // not opened for stepping
  EXPECT_EQ(rz_session_open(nullptr, nullptr, &session, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_session_eval(nullptr, nullptr, 0, nullptr, 0, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_session_fork(nullptr, &session, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_session_load(model_, nullptr, &session, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_embed(model_, &prompt, 99, 0, nullptr, 0, &count, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_quantize(nullptr, "x", "Q8_0", 0, nullptr, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_device_ceilings(nullptr, 1, nullptr, &err_), RZ_E_ARGUMENT);
  EXPECT_NE(err_.message[0], 0);
  rz_model_release(nullptr);
  rz_session_free(nullptr);
  rz_generation_free(nullptr);
  rz_generation_cancel(nullptr);
  EXPECT_EQ(rz_model_retain(nullptr), nullptr);
}

TEST_F(Arguments, BadStructSizesAreRefused) {
  for (const uint32_t size : {0u, 1u, 7u, 9u, 100000u, 0xffffffffu}) {
    rz_model_options options = model_options();
    options.struct_size = size;
    rz_model *model = nullptr;
    EXPECT_EQ(rz_model_load(tiny_path().c_str(), &options, &model, &err_), RZ_E_ARGUMENT) << size;
    refuse([&](rz_generate_options &o) { o.struct_size = size; }, "struct_size");
    rz_prompt prompt = text_prompt("a");
    prompt.struct_size = size;
    EXPECT_EQ(stream(model_, prompt, generate_options(1)).status, RZ_E_ARGUMENT) << size;
  }
  rz_model_info info{};
  EXPECT_EQ(rz_model_get_info(model_, &info, &err_), RZ_E_ARGUMENT);
}

TEST_F(Arguments, ShorterStructsGetDefaultsAndLongerOnesMustBeZero) {
  rz_generate_options options = generate_options(3);
  options.grammar = "ignored, for it lies past the end";
  options.struct_size = offsetof(rz_generate_options, temperature);
  EXPECT_EQ(stream(model_, text_prompt("a"), options).tokens.size(), 3u);

  struct Longer {
    rz_generate_options known;
    uint64_t later;
  } longer{generate_options(3), 0};
  longer.known.struct_size = sizeof longer;
  EXPECT_EQ(stream(model_, text_prompt("a"), longer.known).tokens.size(), 3u);
  longer.later = 1;
  Result counted;
  const rz_prompt prompt = text_prompt("a");
  const auto none = [](void *, const rz_event *) -> int32_t { return 0; };
  EXPECT_EQ(rz_generate_stream(model_, &prompt, &longer.known, none, nullptr, nullptr, &err_), RZ_E_ARGUMENT);

  struct {
    uint32_t struct_size, flags;
    char architecture[32];
    uint32_t guard;
  } info{offsetof(rz_model_info, name), 0, {}, 0xabcdabcd};
  RZ_OK_OR_FAIL(rz_model_get_info(model_, reinterpret_cast<rz_model_info *>(&info), &err));
  EXPECT_STREQ(info.architecture, "llama");
  EXPECT_EQ(info.guard, 0xabcdabcd);
}

TEST_F(Arguments, NumbersOutOfRangeAreRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  refuse([](auto &o) { o.temperature = kNan; }, "temperature");
  refuse([](auto &o) { o.temperature = -1; }, "temperature");
  refuse([](auto &o) { o.temperature = kInfinity; }, "temperature");
  refuse([](auto &o) { o.top_p = 1.5f; }, "top_p");
  refuse([](auto &o) { o.top_k = -1; }, "top_k");
  refuse([](auto &o) { o.min_p = kNan; }, "min_p");
  refuse([](auto &o) { o.repeat_penalty = kNan; }, "repeat_penalty");
  refuse([](auto &o) { o.mirostat = 3; }, "mirostat");
  refuse([](auto &o) { o.max_tokens = -1; }, "max_tokens");
  refuse([](auto &o) { o.logprobs = -1; }, "logprobs");
  refuse([](auto &o) { o.logprobs = 100000; }, "logprobs");
  refuse([](auto &o) { o.flags = 1u << 31; }, "flag");
  refuse([](auto &o) { o.next = &o; }, "next");
  refuse([](auto &o) { o.n_stop_tokens = 1; }, "stop_tokens");
  refuse([](auto &o) { o.n_stop_strings = 1; }, "stop_strings");
  refuse([](auto &o) { o.n_logit_bias = 1; }, "logit_bias");
}

TEST_F(Arguments, TokensOutsideTheVocabularyAreRefused) {
  for (const int32_t token :
       {-1, 389, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    EXPECT_EQ(stream(model_, token_prompt({5, token}), generate_options(1)).status, RZ_E_ARGUMENT) << token;
    const rz_logit_bias bias{token, 1};
    refuse([&](auto &o) { o.logit_bias = &bias, o.n_logit_bias = 1; }, "logit_bias");
    refuse([&](auto &o) { o.stop_tokens = &token, o.n_stop_tokens = 1; }, "stop_tokens");
    SessionHandle session;
    RZ_OK_OR_FAIL(rz_session_open(model_, nullptr, session.out(), &err));
    EXPECT_EQ(rz_session_eval(session, &token, 1, nullptr, 0, &err_), RZ_E_ARGUMENT);
    const char *text = nullptr;
    size_t count = 0;
    EXPECT_EQ(rz_token_piece(model_, token, &text, &count, &err_), RZ_E_ARGUMENT);
    EXPECT_EQ(rz_detokenize(model_, &token, 1, 0, nullptr, 0, &count, &err_), RZ_E_ARGUMENT);
  }
}

TEST_F(Arguments, PromptsAreExactlyOneThing) {
  rz_prompt prompt = RZ_INIT(rz_prompt);
  EXPECT_EQ(stream(model_, prompt, generate_options(1)).status, RZ_E_ARGUMENT);
  const Tokens tokens{5};
  prompt = token_prompt(tokens);
  prompt.text = "a";
  EXPECT_EQ(stream(model_, prompt, generate_options(1)).status, RZ_E_ARGUMENT);
  prompt = token_prompt(tokens);
  prompt.n_tokens = 0;
  EXPECT_EQ(stream(model_, prompt, generate_options(1)).status, RZ_E_ARGUMENT);
}

TEST_F(Arguments, ModelOptionsAreChecked) {
  const auto status = [&](const std::function<void(rz_model_options &)> &change) {
    rz_model_options options = model_options();
    change(options);
    rz_model *model = nullptr;
    const rz_status result = rz_model_load(tiny_path().c_str(), &options, &model, &err_);
    EXPECT_EQ(model, nullptr);
    return result;
  };
  EXPECT_EQ(status([](auto &o) { o.device = "toaster"; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.device = "cuda", o.cuda_library = "/nowhere.so"; }), RZ_E_DEVICE);
  EXPECT_EQ(status([](auto &o) { o.gpu_layers = -1; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.kv_type = RZ_TYPE_F8; }), RZ_E_UNSUPPORTED);  // on the CPU
  EXPECT_EQ(status([](auto &o) { o.kv_type = RZ_TYPE_F32; }), RZ_E_UNSUPPORTED);
  EXPECT_EQ(status([](auto &o) { o.kv_type = -1; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.threads = -1; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.context_length = -1; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.max_batch = -1; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.max_sequences = 1 << 30; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.flags = 1u << 30; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.next = &o; }), RZ_E_ARGUMENT);
  EXPECT_EQ(status([](auto &o) { o.kv_bytes = 1; }), RZ_E_LIMIT);
  EXPECT_EQ(status([](auto &o) { o.memory_limit_bytes = 1000; }), RZ_E_LIMIT);
}

TEST_F(Arguments, AnErrorMessageFitsTheCallersStruct) {
  struct {
    uint32_t struct_size;
    int32_t code;
    char message[16];
    uint32_t guard;
  } small{24, 0, {}, 0xabcdabcd};
  auto *err = reinterpret_cast<rz_error *>(&small);
  EXPECT_EQ(rz_model_get_info(nullptr, nullptr, err), RZ_E_ARGUMENT);
  EXPECT_EQ(small.code, RZ_E_ARGUMENT);
  EXPECT_EQ(std::strlen(small.message), 15u);
  EXPECT_EQ(small.guard, 0xabcdabcd);
  small.struct_size = 0;
  EXPECT_EQ(rz_model_get_info(nullptr, nullptr, err), RZ_E_ARGUMENT);
  EXPECT_EQ(rz_model_get_info(nullptr, nullptr, nullptr), RZ_E_ARGUMENT);
}

}  // namespace
}  // namespace rz::test
