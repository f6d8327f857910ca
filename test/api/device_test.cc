// Which device a model is opened on: the CPU, a plugin, or "auto" between them; and that a model behind a
// plugin is like any other.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/host.h"
#include "plugin/fake_device.h"
#include "support/plugins.h"
#include "support/shared_data.h"

namespace rz::test {
namespace {

namespace fs = std::filesystem;

struct Line {
  int32_t level;
  std::string text;
};

// Options for the plugin in a file, with what a load logs and reports kept.
struct Opening {
  std::string library;
  rz_model_options options = model_options();
  std::vector<Line> log;
  std::vector<float> fractions;
  float stop_at = 2;  // the fraction at which the load is cancelled

  explicit Opening(const char *device, std::string file = test_plugin("fake_device"))
      : library(std::move(file)) {
    options.device = device;
    options.cuda_library = library.c_str();
    options.on_log = [](void *user, int32_t level, const char *message) {
      static_cast<Opening *>(user)->log.push_back({level, message});
    };
    options.log_user = options.progress_user = this;
    options.on_progress = [](void *user, float fraction) -> int32_t {
      auto *self = static_cast<Opening *>(user);
      self->fractions.push_back(fraction);
      return fraction >= self->stop_at;
    };
  }
  Opening(const Opening &) = delete;

  ModelHandle open() { return load(&options); }
  rz_status fail(std::string *message) {
    rz_model *model = nullptr;
    rz_error err = RZ_INIT(rz_error);
    const rz_status status = rz_model_load(tiny_path().c_str(), &options, &model, &err);
    EXPECT_EQ(model, nullptr);
    rz_model_release(model);
    *message = err.message;
    return status;
  }
  // Lines that say why the CPU was taken.
  std::vector<Line> reasons() const {
    std::vector<Line> found;
    std::ranges::copy_if(log, std::back_inserter(found),
                         [](const Line &line) { return line.text.starts_with("device \"auto\""); });
    return found;
  }
};

std::string device_of(const rz_model *model) {
  rz_model_info info = RZ_INIT(rz_model_info);
  EXPECT_EQ(rz_model_get_info(model, &info, nullptr), RZ_OK);
  return info.device;
}

Tokens generated(rz_model *model, const char *text = "the cat") {
  return stream(model, text_prompt(text), generate_options(20)).tokens;
}

const Tokens &expected() {
  static const Tokens tokens = generated(Opening("cpu").open());
  return tokens;
}

TEST(Device, BehindAPluginWritesWhatTheCpuWrites) {
  for (const char *device : {"cuda", "cuda:0", "cuda:1", "auto"}) {
    Opening opening(device);
    const ModelHandle model = opening.open();
    EXPECT_EQ(device_of(model), std::strcmp(device, "cuda:1") == 0 ? "fake 1" : "fake 0");
    EXPECT_EQ(generated(model), expected());
    EXPECT_TRUE(opening.reasons().empty());
  }
}

TEST(Device, BehindAPluginForksSavesAndStepsLikeAnyOther) {
  const auto timeline = [](const char *device, uint32_t flags) {
    Opening opening(device);
    opening.options.flags = flags;
    const ModelHandle model = opening.open();
    SessionHandle session, fork, loaded;
    EXPECT_EQ(rz_session_open(model, nullptr, session.out(), nullptr), RZ_OK);
    const Tokens tokens = some_tokens(70, 1);
    EXPECT_EQ(rz_session_eval(session, tokens.data(), tokens.size(), nullptr, 0, nullptr), RZ_OK);
    EXPECT_EQ(rz_session_fork(session, fork.out(), nullptr), RZ_OK);
    std::vector<float> logits(389), again(389);
    EXPECT_EQ(rz_session_eval(fork, tokens.data(), 3, logits.data(), 1, nullptr), RZ_OK);
    const std::string path = (scratch_folder() / "session").string();
    EXPECT_EQ(rz_session_save(session, path.c_str(), nullptr), RZ_OK);
    EXPECT_EQ(rz_session_load(model, path.c_str(), loaded.out(), nullptr), RZ_OK);
    EXPECT_EQ(rz_session_eval(loaded, tokens.data(), 3, again.data(), 1, nullptr), RZ_OK);
    EXPECT_EQ(logits, again);
    return logits;
  };
  EXPECT_EQ(timeline("cuda", 0), timeline("cpu", 0));
  EXPECT_EQ(timeline("cuda", RZ_MODEL_MANUAL_STEP), timeline("cpu", 0));
}

TEST(Device, TwoModelsShareAPluginFromTwoThreads) {
  std::vector<Tokens> results(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      Opening opening(i == 0 ? "cuda:0" : "cuda:1");
      const ModelHandle model = opening.open();
      for (int round = 0; round < 5; ++round) results[i] = generated(model);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(results[0], expected());
  EXPECT_EQ(results[1], expected());
}

TEST(Device, AutoTakesTheCpuWhereThePluginHasNoDeviceAndSaysWhyOnce) {
  const std::string text = (scratch_folder() / "text.so").string();
  std::ofstream(text) << "no library\n";
  const std::pair<std::string, const char *> files[] = {
      {"/nowhere/librz_cuda.so", "/nowhere/librz_cuda.so: expected a device plugin, found no such file"},
      {text, "does not load"},
      {test_plugin("no_plugin"), "rz_device_plugin"},
      {test_plugin("other_version"), "0.9.0"},
      {test_plugin("no_driver"), "fake: no driver"}};
  for (const auto &[file, reason] : files) {
    for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 40}) {  // with one, headers are looked at first
      Opening opening("auto", file);
      opening.options.memory_limit_bytes = limit;
      const ModelHandle model = opening.open();
      EXPECT_EQ(device_of(model).substr(0, 3), "cpu");
      EXPECT_EQ(generated(model), expected());
      ASSERT_EQ(opening.reasons().size(), 1u) << file;
      EXPECT_EQ(opening.reasons()[0].level, RZ_LOG_INFO);
      EXPECT_NE(opening.reasons()[0].text.find(reason), std::string::npos) << opening.reasons()[0].text;
      EXPECT_EQ(opening.fractions.back(), 1);
    }
  }
}

TEST(Device, AutoTakesTheCpuWhereTheDeviceIsLostWhileCompiling) {
  Opening opening("auto");
  opening.options.gpu_layers = kCompileLost;
  const ModelHandle model = opening.open();
  EXPECT_EQ(device_of(model).substr(0, 3), "cpu");
  EXPECT_EQ(generated(model), expected());
  ASSERT_EQ(opening.reasons().size(), 1u);
  EXPECT_NE(opening.reasons()[0].text.find("fake: lost"), std::string::npos);
  EXPECT_TRUE(std::ranges::is_sorted(opening.fractions));
  EXPECT_EQ(opening.fractions.back(), 1);
}

TEST(Device, AutoKeepsTheMemoryLimitOnTheCpuToo) {
  Opening opening("auto");
  opening.options.gpu_layers = kCompileLost;
  rz_source source = RZ_INIT(rz_source);
  source.path = tiny_path().c_str();
  rz_memory_estimate gpu = RZ_INIT(rz_memory_estimate);
  RZ_OK_OR_FAIL(rz_model_estimate(&source, &opening.options, &gpu, &err));
  opening.options.memory_limit_bytes = gpu.weights_bytes + gpu.kv_bytes + gpu.compute_bytes;
  std::string message;
  EXPECT_EQ(opening.fail(&message), RZ_E_LIMIT);
  EXPECT_EQ(opening.reasons().size(), 1u);
}

TEST(Device, AutoTakesTheCpuWhereTheDeviceHasNoRoomOrCannotComputeTheModel) {
  const std::pair<int32_t, const char *> faults[] = {{kCompileNoMemory, "fake: no memory"},
                                                     {kFootprintFails, "fake: no footprint"}};
  for (const auto &[fault, reason] : faults) {
    Opening opening("auto");
    opening.options.gpu_layers = fault;
    const ModelHandle model = opening.open();
    EXPECT_EQ(generated(model), expected());
    ASSERT_EQ(opening.reasons().size(), 1u) << reason;
    EXPECT_NE(opening.reasons()[0].text.find(reason), std::string::npos) << opening.reasons()[0].text;
  }
}

TEST(Device, CudaIsNeverTheCpu) {
  const std::pair<std::string, const char *> files[] = {{"/nowhere/librz_cuda.so", "no such file"},
                                                        {test_plugin("other_version"), "0.9.0"},
                                                        {test_plugin("no_driver"), "fake: no driver"}};
  std::string message;
  for (const auto &[file, reason] : files) {
    EXPECT_EQ(Opening("cuda", file).fail(&message), RZ_E_DEVICE);
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
  EXPECT_EQ(Opening("cuda:4").fail(&message), RZ_E_DEVICE);
  EXPECT_EQ(message, "fake: no device 4");
  Opening lost("cuda");
  lost.options.gpu_layers = kCompileLost;
  EXPECT_EQ(lost.fail(&message), RZ_E_DEVICE);
  EXPECT_TRUE(lost.reasons().empty());
}

TEST(Device, NamesThatAreNoneAreRefused) {
  std::string message;
  for (const char *device : {"cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda: 1", "cuda:99999999999", "cuda1",
                             "CUDA", "", "auto:0", "gpu"}) {
    EXPECT_EQ(Opening(device).fail(&message), RZ_E_ARGUMENT) << device;
    EXPECT_NE(message.find('"' + std::string(device) + '"'), std::string::npos) << message;
  }
  EXPECT_EQ(Opening("cuda", "").fail(&message), RZ_E_ARGUMENT);
  EXPECT_NE(message.find("cuda_library"), std::string::npos) << message;
  rz_ceilings out = RZ_INIT(rz_ceilings);
  EXPECT_EQ(rz_device_ceilings("cuda:x", 1, &out, nullptr), RZ_E_ARGUMENT);
}

TEST(Device, CpuAndVocabularyOnlyOpenNoPlugin) {
  const std::string copy = (scratch_folder() / "copy.so").string();
  fs::copy_file(test_plugin("fake_device"), copy);
  const auto is_open = [&] { return dlopen(copy.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr; };
  Opening("cpu", copy).open();
  Opening("cpu:plain", copy).open();
  for (const char *device : {"auto", "cuda"}) {
    Opening vocabulary(device, copy);
    vocabulary.options.flags = RZ_MODEL_VOCAB_ONLY;
    EXPECT_EQ(device_of(vocabulary.open()), "");
  }
  EXPECT_FALSE(is_open());
  Opening("auto", copy).open();
  EXPECT_TRUE(is_open());
}

TEST(Device, ProgressGoesOnWhileItCopiesWeights) {
  for (const uint32_t flags : {0u, uint32_t{RZ_MODEL_NO_MMAP}}) {
    Opening opening("cuda");
    opening.options.flags = flags;
    opening.open();
    const std::vector<float> &seen = opening.fractions;
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(seen.front(), 0);
    EXPECT_EQ(seen.back(), 1);
    const float copying = flags == 0 ? 0 : 0.5f;  // where reading ends
    for (int32_t i = 1; i < kFakeProgressSteps; ++i) {
      const float at = copying + (1 - copying) * static_cast<float>(i) / kFakeProgressSteps;
      EXPECT_TRUE(std::ranges::any_of(seen, [&](float f) { return f > at - 1e-4f && f < at + 1e-4f; })) << at;
    }
  }
}

TEST(Device, ProgressNeverFallsWhateverADeviceReports) {
  Opening opening("cuda");
  opening.options.gpu_layers = kWildProgress;
  opening.open();
  EXPECT_TRUE(std::ranges::is_sorted(opening.fractions));
  EXPECT_EQ(opening.fractions.back(), 1);
}

TEST(Device, ALoadCanBeCancelledWhileItCopiesWeights) {
  for (const char *device : {"cuda", "auto"}) {
    Opening opening(device);
    opening.stop_at = 0.55f;
    std::string message;
    EXPECT_EQ(opening.fail(&message), RZ_E_CANCELLED);
    EXPECT_NEAR(opening.fractions.back(), 0.6, 1e-4);
    EXPECT_TRUE(opening.reasons().empty());
  }
}

TEST(Device, EstimateCountsTheCopyOfTheWeightsOnce) {
  rz_source source = RZ_INIT(rz_source);
  source.path = tiny_path().c_str();
  const auto estimate = [&](const char *device, uint32_t flags) {
    Opening opening(device);
    opening.options.flags = flags;
    rz_memory_estimate out = RZ_INIT(rz_memory_estimate);
    rz_error err = RZ_INIT(rz_error);
    EXPECT_EQ(rz_model_estimate(&source, &opening.options, &out, &err), RZ_OK) << err.message;
    return out;
  };
  const rz_memory_estimate cpu = estimate("cpu", 0), mapped = estimate("cuda", 0);
  EXPECT_EQ(cpu.device_bytes, 0u);
  EXPECT_EQ(mapped.weights_bytes, kFakeCopyBytes);
  EXPECT_EQ(mapped.kv_bytes, cpu.kv_bytes);
  EXPECT_GT(mapped.device_bytes, kFakeCopyBytes);
  EXPECT_LE(mapped.device_bytes, kFakeCopyBytes + mapped.compute_bytes);
  for (const uint32_t flag : {RZ_MODEL_NO_MMAP, RZ_MODEL_LOCK_MEMORY}) {
    EXPECT_EQ(estimate("cuda", flag).weights_bytes, kFakeCopyBytes + cpu.weights_bytes);
    EXPECT_EQ(estimate("cpu", flag).weights_bytes, cpu.weights_bytes);
  }

  Opening limited("cuda");
  limited.options.memory_limit_bytes = mapped.weights_bytes + mapped.kv_bytes + mapped.compute_bytes;
  EXPECT_EQ(generated(limited.open()), expected());
  limited.options.memory_limit_bytes -= 1;
  std::string message;
  EXPECT_EQ(limited.fail(&message), RZ_E_LIMIT);
}

TEST(Device, ErrorsOfAStepReachTheGeneration) {
  const struct {
    int32_t fault;
    rz_status status;
    const char *message;
  } cases[] = {{kRunNumeric, RZ_E_NUMERIC, "fake: fault"},
               {kRunBadAlloc, RZ_E_NOMEM, "out of memory"},
               {kRunStandard, RZ_E_INTERNAL, "fake: standard"},
               {kRunUnknown, RZ_E_INTERNAL, "unknown exception"},
               {kRunLongMessage, RZ_E_DEVICE, "fake: fault"}};
  for (const auto &c : cases) {
    Opening opening("cuda");
    opening.options.gpu_layers = c.fault;
    const ModelHandle model = opening.open();
    const Result result = stream(model, text_prompt("the cat"), generate_options(5));
    EXPECT_EQ(result.status, c.status) << c.message;
    EXPECT_NE(result.message.find(c.message), std::string::npos) << result.message;
    EXPECT_TRUE(result.tokens.empty());
  }
  EXPECT_EQ(generated(Opening("cuda").open()), expected());
}

TEST(Device, ProfileOfAPluginHasTheOpsOfTheCpu) {
  const auto profile = [](const char *device) {
    Opening opening(device);
    opening.options.threads = 1;
    const ModelHandle model = opening.open();
    rz_generate_options options = generate_options(5);
    options.flags |= RZ_GENERATE_PROFILE;
    EXPECT_EQ(stream(model, text_prompt("the cat"), options).tokens.size(), 5u);
    size_t n = 0;
    EXPECT_EQ(rz_model_profile(model, nullptr, 0, &n, nullptr), RZ_E_BUFFER);
    std::vector<rz_profile_entry> entries(n, RZ_INIT(rz_profile_entry));
    EXPECT_EQ(rz_model_profile(model, entries.data(), n, &n, nullptr), RZ_OK);

    return entries;
  };
  const std::vector<rz_profile_entry> cpu = profile("cpu"), plugin = profile("cuda");
  ASSERT_GT(cpu.size(), 3u);
  ASSERT_EQ(plugin.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_STREQ(plugin[i].op, cpu[i].op);
    EXPECT_EQ(plugin[i].calls, cpu[i].calls);
    EXPECT_EQ(plugin[i].bytes, cpu[i].bytes);
    EXPECT_EQ(plugin[i].flops, cpu[i].flops);
  }
}

}  // namespace
}  // namespace rz::test
