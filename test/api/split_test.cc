// Models of which a GPU computes the last layers and the CPU the others, by the C API. A plugin that is the
// CPU inside shows that nothing is lost between them: the bits are those of one device. The emulated GPU
// shows that its kernels can begin in the middle of a model.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/host.h"
#include "plugin/fake_device.h"
#include "support/devices.h"
#include "support/plugins.h"
#include "support/relative_error.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

constexpr size_t kVocab = 389;  // of the tiny model, which has two layers

// Options for a plugin in a file, with what a load logs kept.
struct Opening {
  std::string library;
  rz_model_options options = model_options();
  std::vector<std::string> log;

  Opening(const char *device, int32_t gpu_layers, const char *plugin = "fake_device")
      : library(test_plugin(plugin)) {
    options.device = device;
    options.gpu_layers = gpu_layers;
    options.cuda_library = library.c_str();
    options.on_log = [](void *user, int32_t level, const char *message) {
      EXPECT_EQ(level, RZ_LOG_INFO) << message;
      static_cast<Opening *>(user)->log.emplace_back(message);
    };
    options.log_user = this;
  }
  Opening(const Opening &) = delete;

  ModelHandle open(const std::string &path = tiny_path()) { return load(&options, path); }
  rz_status fail(std::string *message) {
    rz_error err = RZ_INIT(rz_error);
    rz_model *model = nullptr;
    const rz_status status = rz_model_load(tiny_path().c_str(), &options, &model, &err);
    *message = err.message;
    rz_model_release(model);
    return status;
  }
  rz_memory_estimate estimate() {
    rz_source source = RZ_INIT(rz_source);
    source.path = tiny_path().c_str();
    rz_memory_estimate out = RZ_INIT(rz_memory_estimate);
    rz_error err = RZ_INIT(rz_error);
    EXPECT_EQ(rz_model_estimate(&source, &options, &out, &err), RZ_OK) << err.message;
    return out;
  }
  // The line that says how layers were divided, or nothing.
  std::string division() const {
    const auto line = std::ranges::find_if(
        log, [](const std::string &text) { return text.find("layers on") != std::string::npos; });
    return line == log.end() ? std::string() : *line;
  }
};

std::string device_of(const rz_model *model) {
  rz_model_info info = RZ_INIT(rz_model_info);
  EXPECT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  return info.device;
}

std::string cpu_name() {
  static const std::string name = device_of(load());
  return name;
}

Tokens generated(rz_model *model) {
  return stream(model, text_prompt("the cat"), generate_options(20)).tokens;
}

SessionHandle open_session(rz_model *model) {
  SessionHandle session;
  EXPECT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
  return session;
}

std::vector<float> eval(rz_session *session, const Tokens &tokens) {
  std::vector<float> logits(kVocab);
  EXPECT_EQ(rz_session_eval(session, tokens.data(), tokens.size(), logits.data(), 1, nullptr), RZ_OK);
  return logits;
}

TEST(SplitModel, WritesWhatTheCpuWrites) {
  Opening opening("cuda", 1);
  const ModelHandle split = opening.open(), cpu = load();
  EXPECT_EQ(device_of(split), "fake 0, 1 of 2 layers; " + cpu_name());
  EXPECT_EQ(opening.division(), "") << "the host has said so itself";
  EXPECT_EQ(generated(split), generated(cpu));
  rz_generate_options options = generate_options(20);
  options.temperature = 0.9f;
  options.seed = 3;
  const std::vector<Tokens> prompts = {some_tokens(3, 1), some_tokens(40, 2), some_tokens(170, 3)};
  std::vector<rz_prompt> together;
  for (const Tokens &tokens : prompts) together.push_back(token_prompt(tokens));
  const std::vector<Result> expected = batch(cpu, together, options), found = batch(split, together, options);
  for (size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(found[i].tokens, expected[i].tokens) << i;
}

TEST(SplitModel, EmbedsWhatTheCpuEmbeds) {
  const ModelHandle split = Opening("cuda", 1).open(), cpu = load();
  const rz_prompt prompt = text_prompt("the cat");
  const auto embed = [&](rz_model *model) {
    std::vector<float> out(512);
    size_t n = 0;
    EXPECT_EQ(rz_embed(model, &prompt, RZ_POOL_MEAN, 0, out.data(), out.size(), &n, nullptr), RZ_OK);
    out.resize(n);
    return out;
  };
  EXPECT_EQ(embed(split), embed(cpu));
}

TEST(SplitModel, IsSteppedThroughInSmallPieces) {
  Opening opening("cuda", 1);
  opening.options.flags = RZ_MODEL_MANUAL_STEP;
  const ModelHandle model = opening.open();
  GenerationHandle generation;
  const rz_prompt prompt = text_prompt("the cat");
  const rz_generate_options options = generate_options(20);
  RZ_OK_OR_FAIL(rz_generation_start(model, &prompt, &options, generation.out(), &err));
  Result result;
  rz_event event = RZ_INIT(rz_event);
  while (event.type != RZ_EVENT_END) {
    int32_t work_left = 0;
    RZ_OK_OR_FAIL(rz_model_step(model, 1, &work_left, &err));
    while (rz_generation_next(generation, 0, &event, nullptr) == RZ_OK && event.type != 0) {
      result.add(event);
      if (event.type == RZ_EVENT_END) break;
    }
  }
  EXPECT_EQ(result.tokens, generated(load()));
}

// Keys and values of the first layers lie in the host's memory and those of the last ones on the GPU; a saved
// session has them as one device would.
TEST(SplitModel, SessionsMoveBetweenItAndTheCpu) {
  const std::string path = (scratch_folder() / "session").string();
  const Tokens before = some_tokens(83, 1), after = some_tokens(9, 2);
  const auto open = [](bool split) { return split ? Opening("cuda", 1).open() : load(); };
  const ModelHandle one = load();
  const SessionHandle whole = open_session(one);
  eval(whole, before);
  const std::vector<float> expected = eval(whole, after);
  for (const bool split : {true, false}) {
    const ModelHandle from = open(split), to = open(!split);
    const SessionHandle session = open_session(from);
    eval(session, before);
    SessionHandle fork, loaded;
    RZ_OK_OR_FAIL(rz_session_fork(session, fork.out(), &err));
    EXPECT_EQ(eval(fork, after), expected);
    RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
    RZ_OK_OR_FAIL(rz_session_load(to, path.c_str(), loaded.out(), &err));
    EXPECT_EQ(eval(loaded, after), expected) << (split ? "split to CPU" : "CPU to split");
  }
}

TEST(SplitModel, ProfileAddsBothDevicesUp) {
  const auto profile = [](rz_model *model) {
    rz_generate_options options = generate_options(5);
    options.flags |= RZ_GENERATE_PROFILE;
    EXPECT_EQ(stream(model, text_prompt("the cat"), options).tokens.size(), 5u);
    std::vector<rz_profile_entry> entries(20, RZ_INIT(rz_profile_entry));
    size_t n = 0;
    EXPECT_EQ(rz_model_profile(model, entries.data(), entries.size(), &n, nullptr), RZ_OK);
    entries.resize(n);
    return entries;
  };
  const std::vector<rz_profile_entry> cpu = profile(load()), split = profile(Opening("cuda", 1).open());
  ASSERT_EQ(split.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_STREQ(split[i].op, cpu[i].op);
    EXPECT_EQ(split[i].calls, cpu[i].calls);
    EXPECT_EQ(split[i].bytes, cpu[i].bytes);
    EXPECT_EQ(split[i].flops, cpu[i].flops);
  }
}

TEST(SplitModel, EveryLayerOrMoreIsNoSplitAndTheCpuHasNoneToDivide) {
  for (const int32_t layers : {0, 2, 3, 900}) EXPECT_EQ(device_of(Opening("cuda", layers).open()), "fake 0");
  EXPECT_EQ(device_of(Opening("cpu", 1).open()), cpu_name());
  std::string message;
  EXPECT_EQ(Opening("cuda", -1).fail(&message), RZ_E_ARGUMENT);
  EXPECT_NE(message.find("gpu_layers"), std::string::npos) << message;
}

TEST(SplitModel, EstimateCountsTheCopyOfTheGpusLayersAndTheOthersInTheFile) {
  Opening opening("cuda", 1);
  const rz_memory_estimate cpu = Opening("cpu", 0).estimate(), all = Opening("cuda", 0).estimate(),
                           one = opening.estimate();
  EXPECT_EQ(one.kv_bytes, cpu.kv_bytes);
  EXPECT_GT(one.compute_bytes, all.compute_bytes);
  EXPECT_GT(one.device_bytes, kFakeLayerBytes);
  EXPECT_LT(one.device_bytes, kFakeLayerBytes + one.compute_bytes);
  EXPECT_GT(one.weights_bytes, kFakeLayerBytes + cpu.weights_bytes / 4);
  EXPECT_LT(one.weights_bytes, kFakeLayerBytes + cpu.weights_bytes * 3 / 4);
  opening.options.flags = RZ_MODEL_NO_MMAP;
  EXPECT_EQ(opening.estimate().weights_bytes, kFakeLayerBytes + cpu.weights_bytes);
  opening.options.flags = 0;

  opening.options.memory_limit_bytes = one.weights_bytes + one.kv_bytes + one.compute_bytes;
  EXPECT_EQ(generated(opening.open()), generated(load()));
  opening.options.memory_limit_bytes -= 1;
  std::string message;
  EXPECT_EQ(opening.fail(&message), RZ_E_LIMIT);
}

TEST(SplitModel, HasAsManyLayersOnTheGpuAsFitAndSaysSo) {
  static_assert(kFakeRoomForOne == 6);
  Opening opening("cuda:6", 0);
  const rz_memory_estimate estimate = opening.estimate();
  EXPECT_TRUE(opening.log.empty());
  EXPECT_EQ(estimate.device_bytes, Opening("cuda:6", 1).estimate().device_bytes);
  opening.options.memory_limit_bytes = uint64_t{1} << 40;  // the division is looked at before the load, too
  const ModelHandle model = opening.open();
  EXPECT_EQ(device_of(model), "fake 6, 1 of 2 layers; " + cpu_name());
  EXPECT_EQ(generated(model), generated(load()));
  const uint64_t all = Opening("cuda:6", 2).estimate().device_bytes, free = 2 * kFakeLayerBytes;
  EXPECT_EQ(opening.division(), "1 of 2 layers on fake 6, the rest on the CPU, for " + std::to_string(all) +
                                    " bytes are needed and " + std::to_string(free) + " are free, of which " +
                                    std::to_string(free / 8) + " are kept back");
  EXPECT_EQ(std::ranges::count(opening.log, opening.division()), 1);
}

TEST(SplitModel, WithoutRoomForOneLayerCudaFailsAndAutoIsTheCpu) {
  std::string message;
  const std::string expected =
      "full: 3500 bytes needed for one of 2 layers, 1600 free, of which 200 are kept back";
  EXPECT_EQ(Opening("cuda", 0, "no_room").fail(&message), RZ_E_NOMEM);
  EXPECT_EQ(message, expected);
  rz_source source = RZ_INIT(rz_source);
  source.path = tiny_path().c_str();
  rz_memory_estimate out = RZ_INIT(rz_memory_estimate);
  const Opening full("cuda", 0, "no_room");
  EXPECT_EQ(rz_model_estimate(&source, &full.options, &out, nullptr), RZ_E_NOMEM);

  Opening automatic("auto", 0, "no_room");
  const ModelHandle model = automatic.open();
  EXPECT_EQ(device_of(model), cpu_name());
  EXPECT_EQ(generated(model), generated(load()));
  ASSERT_FALSE(automatic.log.empty());
  EXPECT_EQ(automatic.log[0], "device \"auto\": the CPU, for CUDA is not to be had: " + expected);
  EXPECT_EQ(automatic.division(), "");
  EXPECT_EQ(automatic.estimate().device_bytes, 0u);
}

TEST(SplitModel, ADeviceThatDoesNotSayWhatIsFreeIsAskedOnlyWhereItMatters) {
  static_assert(kFakeFree == 5);
  std::string message;
  EXPECT_EQ(Opening("cuda:5", 0).fail(&message), RZ_E_DEVICE);
  EXPECT_EQ(message, "fake: no free bytes");
  EXPECT_EQ(device_of(Opening("cuda:5", 1).open()), "fake 5, 1 of 2 layers; " + cpu_name());
}

TEST(SplitModel, ALongNameOfTheGpuLeavesRoomForTheRest) {
  static_assert(kFakeLongName == 8);
  EXPECT_EQ(device_of(Opening("cuda:8", 1).open()), "fake 8, 1 of 2 layers; " + cpu_name());
  EXPECT_EQ(device_of(Opening("cuda:8", 2).open()).substr(0, 15), "fake 8 (a GPU w");
}

TEST(SplitModel, ReportsProgressThatNeverFalls) {
  Opening opening("cuda", 1);
  std::vector<float> seen;
  opening.options.progress_user = &seen;
  opening.options.on_progress = [](void *user, float fraction) -> int32_t {
    static_cast<std::vector<float> *>(user)->push_back(fraction);
    return 0;
  };
  opening.open();
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_GT(seen.size(), static_cast<size_t>(kFakeProgressSteps));
  EXPECT_EQ(seen.back(), 1);
}

// ---- on the emulated GPU ----------------------------------------------------------------------------------
TEST(SplitOnCuda, SamplesOnTheDeviceWhatTheHostWouldSample) {
  const ModelHandle model = Opening("cuda", 1, "cuda_emulated").open();
  EXPECT_EQ(device_of(model), "cuda:0 (emulator), 1 of 2 layers; " + cpu_name());
  rz_generate_options options = generate_options(16);
  options.temperature = 0.9f;
  options.seed = 7;
  const Result device = stream(model, text_prompt("the cat"), options);
  options.on_logits = [](void *, float *, size_t, const int32_t *, size_t) -> int32_t { return 0; };
  const Result host = stream(model, text_prompt("the cat"), options);
  EXPECT_EQ(device.tokens.size(), 16u);
  EXPECT_EQ(device.tokens, host.tokens);
  EXPECT_EQ(device.logprobs, host.logprobs);
}

TEST(SplitOnCuda, SessionsMoveBetweenItAndTheCpu) {
  const std::string path = (scratch_folder() / "session").string();
  const Tokens before = some_tokens(40, 1), after = some_tokens(3, 2);
  const ModelHandle cpu = load(), split = Opening("cuda", 1, "cuda_emulated").open();
  for (const auto &[from, to] : {std::pair<rz_model *, rz_model *>{cpu, split}, {split, cpu}}) {
    const SessionHandle session = open_session(from);
    eval(session, before);
    RZ_OK_OR_FAIL(rz_session_save(session, path.c_str(), &err));
    SessionHandle loaded;
    RZ_OK_OR_FAIL(rz_session_load(to, path.c_str(), loaded.out(), &err));
    EXPECT_LT(relative_error(eval(loaded, after), eval(session, after)), 3e-3);
  }
}

TEST(SplitOnCuda, StoriesOf260ThousandParametersAreReproduced) {
  RZ_NEED_SHARED_DATA();
  const std::filesystem::path folder = shared_data() / "models" / "stories260K";
  const auto expected = nlohmann::json::parse(read_file(folder / "expected.json"));
  const ModelHandle model =
      Opening("cuda", 2, "cuda_emulated").open((folder / "stories260K-f32.gguf").string());
  EXPECT_NE(device_of(model).find(", 2 of 5 layers"), std::string::npos);
  const auto &run = expected["runs"].back();
  const auto ids = run["ids"].get<Tokens>(), greedy = run["greedy"].get<Tokens>();
  EXPECT_EQ(greedy.size(), 200u);
  EXPECT_EQ(stream(model, token_prompt(ids), generate_options(200)).tokens, greedy);
}

}  // namespace
}  // namespace rz::test
