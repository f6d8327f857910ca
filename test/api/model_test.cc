// Opening models and asking about them; text; embeddings; quantizing; what the host's thread is like.
#include <fcntl.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "api/host.h"
#include "support/shared_data.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace rz::test {
namespace {

rz_source source_of(int32_t kind) {
  rz_source source = RZ_INIT(rz_source);
  source.kind = kind;
  return source;
}

Tokens generated(rz_model *model) {
  return stream(model, text_prompt("the cat"), generate_options(10)).tokens;
}

TEST(Model, IsTheSameFromEverySource) {
  const Tokens expected = generated(load());
  const std::string bytes = read_file(tiny_path());
  const rz_model_options options = model_options();

  rz_source memory = source_of(RZ_SOURCE_MEMORY);
  memory.data = bytes.data();
  memory.size = bytes.size();
  ModelHandle model;
  RZ_OK_OR_FAIL(rz_model_load_source(&memory, &options, model.out(), &err));
  EXPECT_EQ(generated(model), expected);

  const std::string padded_path = (scratch_folder() / "padded").string();
  std::ofstream(padded_path, std::ios::binary) << std::string(4096 + 64, 'x') << bytes << "tail";
  rz_source descriptor = source_of(RZ_SOURCE_FD);
  descriptor.fd = open(padded_path.c_str(), O_RDONLY);
  descriptor.offset = 4096 + 64;
  descriptor.size = bytes.size();
  ModelHandle by_fd;
  RZ_OK_OR_FAIL(rz_model_load_source(&descriptor, &options, by_fd.out(), &err));
  EXPECT_EQ(close(descriptor.fd), 0);  // it was left open
  EXPECT_EQ(generated(by_fd), expected);

  rz_io io = RZ_INIT(rz_io);
  io.user = const_cast<std::string *>(&bytes);
  io.size = bytes.size();
  io.read_at = [](void *user, uint64_t offset, void *buffer, uint64_t size) -> int64_t {
    const auto &all = *static_cast<const std::string *>(user);
    return static_cast<int64_t>(all.copy(static_cast<char *>(buffer), size, offset));
  };
  rz_source host = source_of(RZ_SOURCE_IO);
  host.io = &io;
  ModelHandle by_io;
  RZ_OK_OR_FAIL(rz_model_load_source(&host, &options, by_io.out(), &err));
  EXPECT_EQ(generated(by_io), expected);

  const rz_model_options read = model_options(RZ_MODEL_NO_MMAP | RZ_MODEL_CHECK_TENSORS);
  EXPECT_EQ(generated(load(&read)), expected);
}

TEST(Model, SaysWhereAFileIsMissingOrNoModel) {
  rz_model *model = nullptr;
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_model_load("/nowhere.gguf", nullptr, &model, &err), RZ_E_IO);
  EXPECT_NE(std::strstr(err.message, "/nowhere.gguf"), nullptr);
  EXPECT_EQ(rz_model_load("/", nullptr, &model, &err), RZ_E_UNSUPPORTED);
  const std::string page = (scratch_folder() / "page.html").string();
  std::ofstream(page) << "<html><body>not found</body></html>";
  EXPECT_EQ(rz_model_load(page.c_str(), nullptr, &model, &err), RZ_E_FORMAT);
  EXPECT_EQ(model, nullptr);
}

TEST(Model, ReportsProgressAndStopsWhenTold) {
  rz_model_options options = model_options(RZ_MODEL_NO_MMAP);
  std::vector<float> fractions;
  options.progress_user = &fractions;
  options.on_progress = [](void *user, float fraction) {
    static_cast<std::vector<float> *>(user)->push_back(fraction);
    return 0;
  };
  load(&options);
  ASSERT_GE(fractions.size(), 2u);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_EQ(fractions.back(), 1);
  options.on_progress = [](void *, float) { return 1; };
  rz_model *model = nullptr;
  EXPECT_EQ(rz_model_load(tiny_path().c_str(), &options, &model, nullptr), RZ_E_CANCELLED);
}

TEST(Model, TellsWhatItIs) {
  const ModelHandle model = load();
  rz_model_info info = RZ_INIT(rz_model_info);
  RZ_OK_OR_FAIL(rz_model_get_info(model, &info, &err));
  EXPECT_STREQ(info.architecture, "llama");
  EXPECT_STREQ(info.name, "tiny llama");
  EXPECT_STREQ(info.quantization, "F32");
  EXPECT_EQ(std::string(info.device).substr(0, 3), "cpu");
  EXPECT_EQ(info.context_length, 256);
  EXPECT_EQ(info.vocabulary, 389);
  EXPECT_EQ(info.layers, 2);
  EXPECT_EQ(info.bos_token, 1);
  EXPECT_EQ(info.eos_token, 2);
  EXPECT_EQ(info.file_bytes, std::filesystem::file_size(tiny_path()));
  const size_t count = rz_model_metadata_count(model);
  bool found = false;
  for (size_t i = 0; i < count; ++i) {
    const char *key = nullptr, *value = nullptr;
    RZ_OK_OR_FAIL(rz_model_metadata_at(model, i, &key, &value, &err));
    found = found || (std::string(key) == "general.name" && std::string(value) == "tiny llama");
  }
  EXPECT_TRUE(found);
}

TEST(Model, EstimatesWhatItWillTakeAndKeepsALimit) {
  rz_source source = source_of(RZ_SOURCE_PATH);
  source.path = tiny_path().c_str();
  rz_model_options options = model_options();
  rz_memory_estimate estimate = RZ_INIT(rz_memory_estimate);
  RZ_OK_OR_FAIL(rz_model_estimate(&source, &options, &estimate, &err));
  EXPECT_GT(estimate.weights_bytes, 100000u);
  EXPECT_LE(estimate.weights_bytes, std::filesystem::file_size(tiny_path()));
  // 16 timelines of 256 tokens, 2 layers, 2 kv heads of 32 and 32 halves
  EXPECT_EQ(estimate.kv_bytes, 16u * 256 * 2 * 2 * 64 * 2);
  EXPECT_GT(estimate.compute_bytes, 0u);
  const uint64_t all = estimate.weights_bytes + estimate.kv_bytes + estimate.compute_bytes;
  options.memory_limit_bytes = all;
  EXPECT_EQ(generated(load(&options)).size(), 10u);
  options.memory_limit_bytes = all - 1;
  rz_model *model = nullptr;
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_model_load(tiny_path().c_str(), &options, &model, &err), RZ_E_LIMIT);
  EXPECT_NE(std::strstr(err.message, std::to_string(all).c_str()), nullptr) << err.message;
}

TEST(Model, LogsToItsOwnHost) {
  std::string log;
  rz_model_options options = model_options();
  options.log_user = &log;
  options.on_log = [](void *user, int32_t, const char *message) {
    *static_cast<std::string *>(user) += message;
  };
  load(&options);
  EXPECT_NE(log.find("llama"), std::string::npos);
}

TEST(Model, ComputesNothingWithItsVocabularyOnly) {
  const rz_model_options options = model_options(RZ_MODEL_VOCAB_ONLY);
  const ModelHandle model = load(&options);
  size_t count = 0;
  EXPECT_EQ(rz_tokenize(model, "abc", 3, 0, nullptr, 0, &count, nullptr), RZ_E_BUFFER);
  EXPECT_GT(count, 0u);
  EXPECT_EQ(stream(model, text_prompt("a"), generate_options(1)).status, RZ_E_ARGUMENT);
  rz_model_info info = RZ_INIT(rz_model_info);
  EXPECT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  EXPECT_EQ(info.vocabulary, 389);
}

TEST(Text, GoesToTokensAndBack) {
  const ModelHandle model = load();
  const std::string text = "the cat \xF0\x9F\x98\x80 sat";
  size_t count = 0;
  EXPECT_EQ(rz_tokenize(model, text.data(), text.size(), 0, nullptr, 0, &count, nullptr), RZ_E_BUFFER);
  Tokens tokens(count);
  RZ_OK_OR_FAIL(rz_tokenize(model, text.c_str(), RZ_ZSTR, 0, tokens.data(), tokens.size(), &count, &err));
  EXPECT_EQ(tokens[0], 1);  // BOS
  std::string back(200, 0);
  RZ_OK_OR_FAIL(rz_detokenize(model, tokens.data(), count, 0, back.data(), back.size(), &count, &err));
  EXPECT_EQ(back.substr(0, count), text);
  RZ_OK_OR_FAIL(rz_tokenize(model, text.c_str(), RZ_ZSTR, RZ_TOKENIZE_NO_BOS, tokens.data(), tokens.size(),
                            &count, &err));
  EXPECT_NE(tokens[0], 1);
  EXPECT_EQ(count + 1, tokens.size());
  const char *piece = nullptr;
  RZ_OK_OR_FAIL(rz_token_piece(model, 3 + 'x', &piece, &count, &err));
  EXPECT_EQ(std::string(piece, count), "x");
}

TEST(Embed, GivesUnitVectorsThatTheirNeighboursDoNotChange) {
  const ModelHandle model = load();
  const rz_prompt prompt = text_prompt("the cat sat on the mat");
  size_t count = 0;
  EXPECT_EQ(rz_embed(model, &prompt, RZ_POOL_MEAN, 0, nullptr, 0, &count, nullptr), RZ_E_BUFFER);
  EXPECT_EQ(count, 96u);
  for (const int32_t pooling : {RZ_POOL_DEFAULT, RZ_POOL_MEAN, RZ_POOL_CLS, RZ_POOL_LAST}) {
    std::vector<float> vector(96);
    RZ_OK_OR_FAIL(rz_embed(model, &prompt, pooling, 0, vector.data(), vector.size(), &count, &err));
    double squares = 0;
    for (const float x : vector) squares += double{x} * double{x};
    EXPECT_NEAR(squares, 1, 1e-6);
  }
  size_t rows = 0;
  EXPECT_EQ(rz_embed(model, &prompt, RZ_POOL_NONE, 0, nullptr, 0, &rows, nullptr), RZ_E_BUFFER);
  std::vector<float> all(rows), small_batch(rows);
  RZ_OK_OR_FAIL(rz_embed(model, &prompt, RZ_POOL_NONE, RZ_EMBED_NO_NORMALIZE, all.data(), rows, &rows, &err));
  rz_model_options options = model_options();
  options.max_batch = 3;
  const ModelHandle chunked = load(&options);
  RZ_OK_OR_FAIL(
      rz_embed(chunked, &prompt, RZ_POOL_NONE, RZ_EMBED_NO_NORMALIZE, small_batch.data(), rows, &rows, &err));
  EXPECT_EQ(all, small_batch);
}

TEST(Quantize, WritesAModelThatLoads) {
  rz_source source = source_of(RZ_SOURCE_PATH);
  source.path = tiny_path().c_str();
  const std::string path = (scratch_folder() / "q8.gguf").string();
  RZ_OK_OR_FAIL(rz_quantize(&source, path.c_str(), "Q8_0", 0, nullptr, nullptr, &err));
  const ModelHandle model = load(nullptr, path);
  rz_model_info info = RZ_INIT(rz_model_info);
  RZ_OK_OR_FAIL(rz_model_get_info(model, &info, &err));
  EXPECT_STREQ(info.quantization, "Q8_0");
  EXPECT_EQ(generated(model).size(), 10u);
  EXPECT_EQ(rz_quantize(&source, path.c_str(), "Q99", 0, nullptr, nullptr, nullptr), RZ_E_ARGUMENT);
}

TEST(Api, TableHoldsEveryFunctionAndVersionsAreRight) {
  const rz_api *api = rz_get_api(RZ_ABI_VERSION);
  ASSERT_NE(api, nullptr);
  EXPECT_EQ(api->struct_size, sizeof(rz_api));
  EXPECT_EQ(api->model_load, rz_model_load);
  EXPECT_EQ(api->model_profile, rz_model_profile);
  EXPECT_EQ(api->device_ceilings, rz_device_ceilings);
  std::vector<void *> pointers((sizeof(rz_api) - 8) / sizeof(void *));
  std::memcpy(pointers.data(), reinterpret_cast<const char *>(api) + 8, pointers.size() * sizeof(void *));
  for (const void *pointer : pointers) EXPECT_NE(pointer, nullptr);
  EXPECT_EQ(rz_get_api(RZ_ABI_VERSION + 1), nullptr);
  EXPECT_EQ(rz_abi_version(), RZ_ABI_VERSION);
  for (rz_status status = RZ_E_INTERNAL; status <= RZ_OK; ++status) {
    EXPECT_EQ(std::string(rz_status_name(status)).substr(0, 3), "RZ_");
  }
  EXPECT_NE(rz_status_name(77), nullptr);
}

TEST(HostThread, GetsItsFloatingPointModeBackAndDoesNotChangeResults) {
  const rz_model_options manual = model_options(RZ_MODEL_MANUAL_STEP);
  const Tokens expected = generated(load());
  std::fesetround(FE_UPWARD);
#ifdef __SSE__
  const unsigned before = _mm_getcsr() | 0x8040;  // flush to zero, denormals are zero
  _mm_setcsr(before);
#endif
  const Tokens in_thread = generated(load()), by_hand = generated(load(&manual));
#ifdef __SSE__
  EXPECT_EQ(_mm_getcsr() & 0xffc0u, before & 0xffc0u);
  _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(in_thread, expected);
  EXPECT_EQ(by_hand, expected);
}

void everything(uint32_t flags) {
  const rz_model_options options = model_options(flags);
  const ModelHandle model = load(&options);
  EXPECT_EQ(generated(model).size(), 10u);
  const rz_prompt prompt = text_prompt("the cat sat");
  EXPECT_EQ(pull(model, prompt, generate_options(5)).tokens.size(), 5u);
  EXPECT_EQ(batch(model, {prompt, prompt}, generate_options(5))[1].tokens.size(), 5u);
  std::vector<float> vector(96);
  size_t count = 0;
  EXPECT_EQ(rz_embed(model, &prompt, RZ_POOL_MEAN, 0, vector.data(), vector.size(), &count, nullptr), RZ_OK);
  SessionHandle session, loaded;
  EXPECT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
  const Tokens tokens = some_tokens(70, 1);
  EXPECT_EQ(rz_session_eval(session, tokens.data(), tokens.size(), nullptr, 0, nullptr), RZ_OK);
  const std::string path = (scratch_folder() / "session").string();
  EXPECT_EQ(rz_session_save(session, path.c_str(), nullptr), RZ_OK);
  EXPECT_EQ(rz_session_load(model, path.c_str(), loaded.out(), nullptr), RZ_OK);
  rz_source source = source_of(RZ_SOURCE_PATH);
  source.path = tiny_path().c_str();
  EXPECT_EQ(rz_quantize(&source, (path + ".gguf").c_str(), "Q4_K_M", 2, nullptr, nullptr, nullptr), RZ_OK);
  rz_memory_estimate estimate = RZ_INIT(rz_memory_estimate);
  EXPECT_EQ(rz_model_estimate(&source, nullptr, &estimate, nullptr), RZ_OK);
  const rz_status stepped = flags & RZ_MODEL_MANUAL_STEP ? RZ_OK : RZ_E_ARGUMENT;
  EXPECT_EQ(rz_model_step(model, 100, nullptr, nullptr), stepped);
}

TEST(HostThread, MayHaveAStackOf64KiB) {
  tiny_path();
  for (uint32_t flags : {0u, uint32_t{RZ_MODEL_MANUAL_STEP}}) {
    on_small_stack([](void *f) { everything(*static_cast<uint32_t *>(f)); }, &flags);
  }
}

}  // namespace
}  // namespace rz::test
