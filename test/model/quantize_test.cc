// Writing models in other block formats: what changes, what stays, and that nothing half-done is left.
#include "model/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "format/model_file.h"
#include "quant/mix.h"
#include "support/error_of.h"
#include "support/gguf_bytes.h"
#include "support/relative_error.h"
#include "support/shared_data.h"
#include "support/tensor_values.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

namespace fs = std::filesystem;

// A llama whose rows are whole super-blocks, but for the feed-forward's.
TinyModel wide_model() { return tiny_model("llama", Type::Q4_K); }

std::shared_ptr<const Source> f32_model(const Patch &patch = {}) {
  TinyModel what = wide_model();
  what.type = Type::F32;
  return open_path(write_patched(what, patch).string(), true);
}

// The path of what `scheme` makes of it.
std::string quantized(std::shared_ptr<const Source> source, std::string_view scheme, int32_t threads = 2,
                      const Progress &progress = {}) {
  const fs::path path = scratch_folder() / "out.gguf";
  quantize_file(std::move(source), path.string(), scheme, threads, progress);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
  return path.string();
}

std::unique_ptr<ModelFile> open_quantized(std::shared_ptr<const Source> source, std::string_view scheme) {
  return open_model_file(open_path(quantized(std::move(source), scheme), true));
}

TEST(Quantize, GivesEachTensorTheTypeThatTheMixSays) {
  const auto file = open_quantized(f32_model(), "Q4_K_M");
  const std::pair<const char *, Type> expected[] = {
      {"token_embd.weight", Type::Q4_K},        {"output.weight", Type::Q6_K},
      {"output_norm.weight", Type::F32},        {"blk.0.attn_norm.weight", Type::F32},
      {"blk.0.attn_q.weight", Type::Q4_K},      {"blk.0.attn_v.weight", Type::Q4_K},
      {"blk.1.attn_v.weight", Type::Q6_K},      {"blk.1.attn_k.weight", Type::Q4_K},
      {"blk.1.attn_output.weight", Type::Q4_K}, {"blk.1.ffn_up.weight", Type::Q4_K},
      {"blk.0.ffn_down.weight", Type::Q5_0},  // 288 a row: no super-blocks
      {"blk.1.ffn_down.weight", Type::Q8_0}};
  for (const auto &[name, type] : expected) {
    ASSERT_NE(file->find(name), nullptr) << name;
    EXPECT_STREQ(traits(file->find(name)->type).name, traits(type).name) << name;
  }
}

TEST(Quantize, GivesATiedEmbeddingTheOutputsType) {
  TinyModel what = wide_model();
  what.type = Type::F32;
  what.tied = true;
  const auto file = open_quantized(open_path(write_patched(what, {}).string(), true), "Q4_K_M");
  EXPECT_EQ(file->find("token_embd.weight")->type, Type::Q6_K);
}

TEST(Quantize, CountsQueryHeadsPerValueHeadAsTheMetadataSays) {
  TinyModel what = wide_model();
  what.type = Type::F32;
  what.heads = 8;
  what.kv_heads = 2;
  const auto wide = open_quantized(open_path(write_patched(what, {}).string(), true), "Q2_K");
  EXPECT_EQ(wide->find("blk.0.attn_v.weight")->type, Type::Q4_K);
  what.kv_heads = 4;
  const auto narrow = open_quantized(open_path(write_patched(what, {}).string(), true), "Q2_K");
  EXPECT_EQ(narrow->find("blk.0.attn_v.weight")->type, Type::Q3_K);
}

TEST(Quantize, KeepsEveryValueCloseInEveryMix) {
  const auto source = f32_model();
  const auto before = open_model_file(source);
  const auto closest = [](Type type) {  // about what each format loses of uniform noise
    switch (type) {
      case Type::F32:
        return 0.0;
      case Type::F16:
      case Type::BF16:
        return 0.003;
      case Type::Q8_0:
        return 0.01;
      case Type::Q6_K:
        return 0.03;
      case Type::Q5_0:
      case Type::Q5_1:
      case Type::Q5_K:
        return 0.06;
      case Type::Q3_K:
        return 0.2;
      case Type::Q2_K:
        return 0.35;
      default:
        return 0.12;
    }
  };
  for (const Mix &mix : mixes()) {
    const auto after = open_quantized(source, mix.name);
    ASSERT_EQ(after->tensors.size(), before->tensors.size());
    for (size_t i = 0; i < before->tensors.size(); ++i) {
      const TensorInfo &tensor = after->tensors[i];
      EXPECT_EQ(tensor.name, before->tensors[i].name);
      EXPECT_EQ(tensor.shape(), before->tensors[i].shape());
      const double lost = relative_error(weights_of(*after, tensor), weights_of(*before, before->tensors[i]));
      EXPECT_LE(lost, closest(tensor.type))
          << mix.name << " " << tensor.name << " " << traits(tensor.type).name;
    }
  }
}

TEST(Quantize, TakesEveryFormatAsItsSource) {
  for (int number = 0; number <= static_cast<int>(Type::IQ4_XS); ++number) {
    TinyModel what = wide_model();
    what.type = static_cast<Type>(number);
    const auto source = open_path(write_patched(what, {}).string(), true);
    const auto before = open_model_file(source), after = open_quantized(source, "Q8_0");
    const TensorInfo &was = *before->find("blk.0.attn_q.weight"), &is = *after->find("blk.0.attn_q.weight");
    EXPECT_EQ(was.type, what.type);
    EXPECT_EQ(is.type, Type::Q8_0);
    EXPECT_LE(relative_error(weights_of(*after, is), weights_of(*before, was)), 0.01)
        << traits(what.type).name;
  }
}

TEST(Quantize, WritesModelsThatLoadUnderTheirNewName) {
  for (const char *scheme : {"Q8_0", "Q4_K_M", "Q2_K", "IQ4_XS"}) {
    const auto model = load_model(open_path(quantized(f32_model(), scheme), true), {.check_tensors = true});
    EXPECT_EQ(model->quantization, scheme);
  }
}

TEST(Quantize, KeepsAllMetadataButWhatTellsTheFormatAndTheShards) {
  const auto source = f32_model([](TinyFile &file) {
    file.set("general.alignment", uint32_t{64});
    file.set("general.quantization_version", uint32_t{1});
    file.set("somebody's own key", std::vector<std::string>{"kept", ""});
  });
  const auto before = open_model_file(source), after = open_quantized(source, "Q5_K_M");
  for (const auto &[key, value] : before->metadata.entries()) {
    const Value *kept = after->metadata.find(key);
    ASSERT_NE(kept, nullptr) << key;
    if (key.starts_with("general.") && (key.ends_with("file_type") || key.ends_with("version"))) continue;
    EXPECT_EQ(kept->type, value.type) << key;
    EXPECT_EQ(kept->text(), value.text()) << key;
  }
  EXPECT_EQ(after->metadata.entries().size(), before->metadata.entries().size());
  EXPECT_EQ(after->metadata.integer("general.file_type", 0, 99), 17);
  EXPECT_EQ(after->metadata.integer("general.quantization_version", 0, 99), 2);
  EXPECT_EQ(after->metadata.array("somebody's own key").strings[0], "kept");
  EXPECT_EQ(after->tensors[1].offset % 64, 0u);
}

TEST(Quantize, CopiesWhatNeedsNoChangeByteForByte) {
  const float nan = std::nanf("");
  GgufBytes file;
  file.set("general.architecture", string("llama"));
  file.add_tensor({.name = "norm.weight", .dims = {8}, .data = raw(nan) + std::string(28, '\3')});
  file.add_tensor({.name = "odd.bias", .dims = {5, 2}, .type = 1, .data = std::string(20, '\4')});
  file.add_tensor({.name = "ids.weight", .dims = {4, 4}, .type = 26, .data = std::string(64, '\5')});
  file.add_tensor({.name = "matrix.weight", .dims = {32, 2}, .type = 8, .data = std::string(68, '\6')});
  const auto after = open_quantized(file.source(), "Q8_0");
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    EXPECT_EQ(traits(after->tensors[i].type).gguf_id, file.tensors[i].type);
    std::string bytes(after->tensors[i].size_bytes, 0);
    after->read(after->tensors[i], bytes.data());
    EXPECT_EQ(bytes, file.tensors[i].data) << file.tensors[i].name;
  }
}

TEST(Quantize, JoinsShards) {
  const fs::path folder = scratch_folder();
  for (uint16_t i = 0; i < 2; ++i) {
    GgufBytes shard;
    shard.set("split.no", u16(i)).set("split.count", u16(2)).set("split.tensors.count", i32(2));
    if (i == 0) shard.set("general.architecture", string("llama"));
    std::string row;
    for (int n = 0; n < 64; ++n) row += raw(static_cast<float>(n + i));
    shard.add_tensor({.name = i == 0 ? "first.weight" : "second.weight", .dims = {32, 2}, .data = row});
    const std::string name = i == 0 ? "model-00001-of-00002.gguf" : "model-00002-of-00002.gguf";
    std::ofstream(folder / name, std::ios::binary) << shard.bytes();
  }
  const auto file = open_quantized(open_path((folder / "model-00001-of-00002.gguf").string(), true), "Q8_0");
  EXPECT_EQ(file->sources.size(), 1u);
  EXPECT_EQ(file->metadata.find("split.count"), nullptr);
  EXPECT_EQ(file->metadata.find("split.tensors.count"), nullptr);
  ASSERT_EQ(file->tensors.size(), 2u);
  EXPECT_EQ(file->tensors[1].type, Type::Q8_0);
  EXPECT_NEAR(weights_of(*file, file->tensors[1])[63], 64, 0.3f);
}

// A model with one matrix of 5 million weights, more than are worked on at a time, and one past it.
std::string large_model() {
  GgufBytes file;
  file.set("general.architecture", string("llama"));
  std::string large(5'120'000 * 2, '\0');
  for (size_t i = 0; i < large.size(); i += 2) large[i] = static_cast<char>(i / 2 % 251), large[i + 1] = 0x30;
  file.add_tensor({.name = "large.weight", .dims = {256, 20000}, .type = 1, .data = large});
  file.add_tensor({.name = "small.weight", .dims = {32, 3}, .type = 1, .data = large.substr(0, 192)});
  return file.bytes();
}

TEST(Quantize, WritesTheSameBytesWithAnyNumberOfThreads) {
  const auto source = source_of(large_model());
  const std::string one = read_file(quantized(source, "Q8_0", 1));
  EXPECT_TRUE(read_file(quantized(source, "Q8_0", 3)) == one);
  EXPECT_TRUE(read_file(quantized(source, "Q8_0", 100)) == one);
  const auto model = f32_model();
  EXPECT_TRUE(read_file(quantized(model, "Q3_K_M", 1)) == read_file(quantized(model, "Q3_K_M", 4)));
}

TEST(Quantize, DecodesEveryStretchOfALargeTensor) {
  const auto source = source_of(large_model());
  const auto before = open_model_file(source), after = open_quantized(source, "Q8_0");
  const std::vector<float> expected = weights_of(*before, before->tensors[0]);
  const std::vector<float> found = weights_of(*after, after->tensors[0]);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 0.001f) << i;
}

TEST(Quantize, AsksAHostsStorageForLittleAtATimeAndOnTheCallersThread) {
  struct Host {
    std::string bytes;
    std::thread::id thread = std::this_thread::get_id();
    uint64_t longest = 0;
    bool strangers = false;
  } host{large_model()};
  const ReadAt read_at = [](void *user, uint64_t offset, void *buffer, uint64_t size) {
    auto &h = *static_cast<Host *>(user);
    h.longest = std::max(h.longest, size);
    h.strangers |= std::this_thread::get_id() != h.thread;
    std::memcpy(buffer, h.bytes.data() + offset, size);
    return static_cast<int64_t>(size);
  };
  const std::string path = quantized(open_host_io(read_at, &host, host.bytes.size()), "Q8_0", 3);
  EXPECT_LE(host.longest, 16u << 20);
  EXPECT_FALSE(host.strangers);
  EXPECT_TRUE(read_file(path) == read_file(quantized(source_of(host.bytes), "Q8_0")));
}

// Counts reports, and stops at the one whose number is given.
struct Reports {
  std::vector<float> fractions;
  size_t stop_at = SIZE_MAX;
  Progress progress() {
    return {[](void *user, float fraction) {
              auto &r = *static_cast<Reports *>(user);
              r.fractions.push_back(fraction);
              return int32_t{r.fractions.size() > r.stop_at};
            },
            this};
  }
};

TEST(Quantize, ReportsProgressFromNothingToAll) {
  Reports reports;
  quantized(f32_model(), "Q8_0", 2, reports.progress());
  EXPECT_EQ(reports.fractions.front(), 0);
  EXPECT_EQ(reports.fractions.back(), 1);
  EXPECT_GT(reports.fractions.size(), 10u);
  EXPECT_TRUE(std::is_sorted(reports.fractions.begin(), reports.fractions.end()));
}

TEST(Quantize, LeavesNothingBehindAndTheOldFileAloneWhenStopped) {
  const auto source = f32_model();
  Reports all;
  quantized(source, "Q8_0", 2, all.progress());
  const fs::path path = scratch_folder() / "out.gguf";
  std::ofstream(path) << "old";
  for (size_t stop = 0; stop < all.fractions.size(); ++stop) {
    Reports some{{}, stop};
    const Error error = error_of([&] { quantize_file(source, path.string(), "Q8_0", 2, some.progress()); });
    EXPECT_EQ(error.status(), Status::Cancelled);
    EXPECT_EQ(some.fractions.size(), stop + 1);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
  }
}

TEST(Quantize, ReplacesItsOwnSource) {
  const fs::path path = write_patched(wide_model(), {});
  quantize_file(open_path(path.string(), true), path.string(), "Q8_0", 2, {});
  EXPECT_EQ(open_model_file(open_path(path.string(), true))->find("blk.0.attn_q.weight")->type, Type::Q8_0);
}

TEST(Quantize, RefusesUnknownSchemesListingThoseItKnows) {
  const fs::path folder = scratch_folder();
  const Error error = error_of([&] { quantize_file(f32_model(), folder / "out.gguf", "Q4_K", 1, {}); });
  EXPECT_EQ(error.status(), Status::Argument);
  EXPECT_EQ(error.what(), "scheme: expected one of " + mix_names() + ", found \"Q4_K\"");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(Quantize, NamesTheTensorWhoseWeightsAreNoNumbers) {
  const auto source = f32_model([](TinyFile &file) {
    const float nan = std::nanf("");
    std::memcpy(file.tensor("blk.1.ffn_up.weight").bytes.data() + 4 * 70'000, &nan, sizeof nan);
    std::memcpy(file.tensor("output.weight").bytes.data(), &nan, sizeof nan);
  });
  const fs::path folder = scratch_folder();
  for (const int32_t threads : {1, 4}) {
    const Error error = error_of([&] { quantize_file(source, folder / "out.gguf", "Q4_K_M", threads, {}); });
    EXPECT_EQ(error.status(), Status::Numeric);
    // 65536 and 4464: the 70,000th.
    EXPECT_EQ(std::string(error.what()).find("blk.1.ffn_up.weight: weights from 65536 on: Q4_K: "), 0u)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("found nan at 4464"), std::string::npos) << error.what();
    EXPECT_TRUE(fs::is_empty(folder));
  }
}

TEST(Quantize, SaysWhyItCannotWrite) {
  const Error error = error_of([&] { quantize_file(f32_model(), "/nowhere/at/all.gguf", "Q8_0", 1, {}); });
  EXPECT_EQ(error.status(), Status::Io);
  EXPECT_NE(std::string(error.what()).find("/nowhere/at/all.gguf"), std::string::npos);
}

TEST(Quantize, QuantizesRealModels) {
  RZ_NEED_SHARED_DATA();
  for (const char *name : {"golden/llama-bf16.gguf", "golden/qwen3moe.gguf", "golden/gpt2.gguf",
                           "models/stories260K/stories260K-f32.gguf"}) {
    const auto source = open_path(shared_data() / name, true);
    for (const char *scheme : {"Q8_0", "Q4_K_M"})
      EXPECT_NO_THROW(load_model(open_path(quantized(source, scheme), true), {}));
  }
}

}  // namespace
}  // namespace rz::test
