// The boundary to a device plugin: what crosses it arrives, errors of every method too, and what is no plugin
// of this build is refused.
#include "backend/plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "model/model.h"
#include "plugin/fake_device.h"
#include "support/error_of.h"
#include "support/plugins.h"
#include "support/shared_data.h"
#include "support/tiny_models.h"

namespace rz::test {
namespace {

std::unique_ptr<Device> open_fake(int32_t number = 0) {
  return open_plugin_device(test_plugin("fake_device"), std::to_string(number));
}

const Model &tiny() {
  static const std::unique_ptr<Model> model =
      load_model(open_path(write_tiny_model(tiny_model("llama"), scratch_folder()).string(), true), {});
  return *model;
}

ExecutorOptions options_with(int32_t fault = kNoFault) {
  ExecutorOptions options;
  options.max_rows = options.max_logit_rows = 8;
  options.pages = 4;
  options.gpu_layers = fault;
  return options;
}

std::unique_ptr<Executor> compile(int32_t fault = kNoFault) {
  return open_fake()->compile(tiny().plan, options_with(fault));
}

// Five tokens of one sequence, which begins on page 1; logits of the last one.
struct Question {
  std::vector<int32_t> tokens{5, 300, 17, 301, 42}, positions{0, 1, 2, 3, 4}, sequences{0, 0, 0, 0, 0};
  std::vector<int32_t> pages{1}, logit_rows{4};
  std::vector<std::span<const int32_t>> tables{pages};
  std::vector<float> logits = std::vector<float>(static_cast<size_t>(tiny().plan.vocab));

  Batch batch() {
    Batch b;
    b.tokens = tokens;
    b.positions = positions;
    b.sequences = sequences;
    b.page_tables = tables;
    b.logit_rows = logit_rows;
    b.logits = logits.data();
    return b;
  }
};

int32_t n_ops() { return static_cast<int32_t>(tiny().plan.ops.size()); }

TEST(Plugin, ComputesABatchWholeOrInParts) {
  const auto executor = compile();
  Question whole, parts;
  EXPECT_EQ(executor->run(whole.batch(), {}), n_ops());
  EXPECT_TRUE(std::ranges::any_of(whole.logits, [](float x) { return x != 0; }));
  int32_t runs = 0;
  for (RunControl control; control.first_op < n_ops(); ++runs) {
    control.stop_after = control.first_op;
    control.first_op = executor->run(parts.batch(), control);
    ASSERT_EQ(control.first_op, control.stop_after + 1);
  }
  EXPECT_EQ(runs, n_ops());
  EXPECT_EQ(parts.logits, whole.logits);
}

TEST(Plugin, SeesACancelledRun) {
  const auto executor = compile();
  Question question;
  const std::atomic<bool> cancel = true;
  RunControl control;
  control.cancel = &cancel;
  EXPECT_EQ(executor->run(question.batch(), control), 1);
}

TEST(Plugin, ReadsWritesAndCopiesPages) {
  const auto executor = compile();
  Question question;
  executor->run(question.batch(), {});
  const KvLayout expected = KvLayout::make(tiny().plan, Type::F16);
  const KvLayout &layout = executor->kv_layout();
  ASSERT_EQ(layout.page_bytes, expected.page_bytes);
  ASSERT_EQ(layout.layers.size(), expected.layers.size());
  EXPECT_EQ(layout.layers.back().v_offset, expected.layers.back().v_offset);
  const auto page = [&](int32_t number) {
    std::vector<std::byte> bytes(layout.page_bytes);
    executor->read_page(number, bytes.data());
    return bytes;
  };
  const std::vector<std::byte> written = page(1), untouched = page(3);
  EXPECT_NE(written, untouched);
  executor->copy_page(1, 2);
  EXPECT_EQ(page(2), written);
  executor->write_page(2, untouched.data());
  EXPECT_EQ(page(2), untouched);
  EXPECT_EQ(page(1), written);
}

TEST(Plugin, GivesBuffersProfileAndFootprint) {
  const auto executor = compile();
  Question question;
  RunControl control;
  control.profile = true;
  control.stop_after = 0;  // the embeddings
  executor->run(question.batch(), control);
  const BufferId x = std::get<EmbedOp>(tiny().plan.ops[0]).out;
  std::vector<float> rows(5 * static_cast<size_t>(tiny().plan.hidden));
  executor->read_buffer(x, 5, rows.data());
  EXPECT_NE(rows.front(), 0);
  EXPECT_NE(rows.back(), 0);
  const std::vector<float> ones(rows.size(), 1);
  executor->write_buffer(x, 5, ones.data());
  executor->read_buffer(x, 5, rows.data());
  EXPECT_EQ(rows, ones);

  const std::vector<ProfileEntry> profile = executor->profile();
  ASSERT_EQ(profile.size(), 1u);
  EXPECT_STREQ(profile[0].op, "Embed");
  EXPECT_EQ(profile[0].calls, 1u);

  const auto device = open_fake();
  EXPECT_EQ(device->name(), "fake 0");
  const Footprint footprint = device->footprint(tiny().plan, options_with());
  EXPECT_EQ(footprint.weights_bytes, kFakeCopyBytes);
  EXPECT_EQ(footprint.compute_bytes, executor->compute_bytes());
  EXPECT_EQ(footprint.device_bytes, kFakeCopyBytes + executor->compute_bytes());
  EXPECT_EQ(device->free_bytes(), uint64_t{1} << 40);
  EXPECT_EQ(device->ceilings().threads, 132);
  EXPECT_EQ(device->ceilings().read_bytes_per_s, kFakeReadRate);
}

TEST(Plugin, ErrorsOfEveryMethodKeepTheirStatusAndMessage) {
  Question question;
  std::vector<std::byte> page(KvLayout::make(tiny().plan, Type::F16).page_bytes);
  float out = 0;
  const auto run = [&](Executor &e) { e.run(question.batch(), {}); };
  const struct {
    int32_t fault;
    Status status;
    std::function<void(Executor &)> call;
    const char *message;  // null: "fake: fault N"
  } cases[] = {
      {kRunNumeric, Status::Numeric, run, nullptr},
      {kRunBadAlloc, Status::NoMemory, run, "out of memory"},
      {kRunStandard, Status::Internal, run, "fake: standard"},
      {kRunUnknown, Status::Internal, run, "unknown exception"},
      {kCopyPageFails, Status::Device, [](Executor &e) { e.copy_page(0, 1); }, nullptr},
      {kReadPageFails, Status::Io, [&](Executor &e) { e.read_page(0, page.data()); }, nullptr},
      {kWritePageFails, Status::State, [&](Executor &e) { e.write_page(0, page.data()); }, nullptr},
      {kReadBufferFails, Status::Argument, [&](Executor &e) { e.read_buffer(0, 1, &out); }, nullptr},
      {kWriteBufferFails, Status::Limit, [&](Executor &e) { e.write_buffer(0, 1, &out); }, nullptr},
      {kProfileFails, Status::Busy, [](Executor &e) { e.profile(); }, nullptr},
      {kComputeBytesFails, Status::Timeout, [](Executor &e) { e.compute_bytes(); }, nullptr},
  };
  for (const auto &c : cases) {
    const auto executor = compile(c.fault);
    std::string message;
    EXPECT_EQ(status_of([&] { c.call(*executor); }, &message), c.status) << c.fault;
    EXPECT_EQ(message, c.message ? c.message : "fake: fault " + std::to_string(c.fault));
    if (c.fault != kRunNumeric) continue;
    EXPECT_EQ(status_of([&] { c.call(*executor); }), c.status) << "the second time";
  }
}

TEST(Plugin, ErrorsOfADeviceKeepTheirStatusAndMessage) {
  const Plan &plan = tiny().plan;
  std::string message;
  EXPECT_EQ(status_of([] { open_fake(kFakeMissing); }, &message), Status::Device);
  EXPECT_EQ(message, "fake: no device 4");
  EXPECT_EQ(status_of([] { open_fake(kFakeName); }, &message), Status::NoMemory);
  EXPECT_EQ(message, "fake: no name");
  EXPECT_EQ(status_of([] { open_fake(kFakeCeilings)->ceilings(); }, &message), Status::Device);
  EXPECT_EQ(message, "fake: no ceilings");
  EXPECT_EQ(status_of([] { open_fake(kFakeFree)->free_bytes(); }, &message), Status::Device);
  EXPECT_EQ(message, "fake: no free bytes");
  EXPECT_EQ(status_of([&] { open_fake()->footprint(plan, options_with(kFootprintFails)); }, &message),
            Status::Unsupported);
  EXPECT_EQ(message, "fake: no footprint");
  EXPECT_EQ(status_of([] { compile(kCompileNoMemory); }, &message), Status::NoMemory);
  EXPECT_EQ(message, "fake: no memory");
  EXPECT_EQ(status_of([] { compile(kKvLayoutFails); }), Status::Limit);
}

TEST(Plugin, CutsAMessageThatIsTooLong) {
  Question question;
  const auto executor = compile(kRunLongMessage);
  std::string message;
  EXPECT_EQ(status_of([&] { executor->run(question.batch(), {}); }, &message), Status::Device);
  EXPECT_EQ(message.size(), sizeof(PluginError::message) - 1);
  EXPECT_EQ(message.substr(0, 11), "fake: fault");
}

TEST(Plugin, ReportsProgressAndStopsWhenTold) {
  std::vector<float> fractions;
  ExecutorOptions options = options_with();
  options.progress.user = &fractions;
  options.progress.report = [](void *user, float fraction) -> int32_t {
    static_cast<std::vector<float> *>(user)->push_back(fraction);
    return fraction > 0.75f;
  };
  std::string message;
  EXPECT_EQ(status_of([&] { open_fake()->compile(tiny().plan, options); }, &message), Status::Cancelled);
  EXPECT_NE(message.find("progress"), std::string::npos);
  ASSERT_EQ(fractions.size(), 9u);
  EXPECT_FLOAT_EQ(fractions.back(), 0.8f);
}

TEST(Plugin, OfAnotherBuildIsRefusedWithBothBuilds) {
  for (const char *name : {"other_version", "other_layout"}) {
    const std::string path = test_plugin(name);
    std::string message;
    EXPECT_EQ(status_of([&] { open_plugin_device(path, "0"); }, &message), Status::Device);
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find(RZ_VERSION), std::string::npos) << message;
    char layout[9];
    std::snprintf(layout, sizeof layout, "%08x", kPluginBuild.layout ^ 1);
    EXPECT_NE(message.find(name == std::string("other_version") ? "0.9.0" : layout), std::string::npos)
        << message;
  }
}

TEST(Plugin, OfANameWithoutAFolderIsInTheCurrentOne) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(test_plugin("no_driver")).parent_path());
  std::string message;
  EXPECT_EQ(status_of([] { open_plugin_device("no_driver.so", "0"); }, &message), Status::Device);
  fs::current_path(before);
  EXPECT_EQ(message, "fake: no driver");
}

TEST(Plugin, IsRefusedWhereTheFileIsNone) {
  const std::string text = (scratch_folder() / "text.so").string();
  std::ofstream(text) << "no library\n";
  const std::pair<std::string, const char *> files[] = {
      {(scratch_folder() / "missing.so").string(), "no such file"},
      {"missing_in_this_folder.so", "no such file"},
      {text, "does not load"},
      {scratch_folder().string(), "does not load"},
      {test_plugin("no_plugin"), kPluginSymbol}};
  for (const auto &file : files) {
    const auto &[path, part] = file;
    std::string message;
    EXPECT_EQ(status_of([&] { open_plugin_device(file.first, "0"); }, &message), Status::Device) << path;
    EXPECT_EQ(message.substr(0, path.size()), path);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace rz::test
