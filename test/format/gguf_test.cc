// The GGUF reader on files that are right, however they are reached.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "format/dump.h"
#include "format/model_file.h"
#include "support/error_of.h"
#include "support/gguf_bytes.h"
#include "support/hostile.h"
#include "support/shared_data.h"

namespace rz {
namespace {

using test::error_of;
using test::GgufBytes;

std::string pattern(size_t size, int seed) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

// A value of every type, and tensors of several.
GgufBytes everything() {
  GgufBytes file;
  file.set("u8", test::u8(200))
      .set("i8", test::i8(-100))
      .set("u16", test::u16(60000))
      .set("i16", test::i16(-30000));
  file.set("u32", test::u32(4000000000)).set("i32", test::i32(-2000000000)).set("f32", test::f32(0.1f));
  file.set("yes", test::boolean(true))
      .set("no", test::boolean(false))
      .set("string", test::string("h\xc3\xa9llo"));
  file.set("u64", test::u64(UINT64_MAX)).set("i64", test::i64(INT64_MIN)).set("f64", test::f64(0.1));
  file.set("strings", test::strings({"a", "", "ccc"})).set("i32s", test::i32s({-1, 0, 7}));
  file.set("f32s", test::f32s({0.5f, -2}))
      .set("no strings", test::strings({}))
      .set("empty", test::string(""));
  file.set("bools", test::array(7, 3, std::string("\0\1\2", 3)));
  file.add_tensor({.name = "matrix", .dims = {64, 3}, .type = 8, .data = pattern(64 * 3 / 32 * 34, 1)});
  file.add_tensor({.name = "vector", .dims = {5}, .type = 0, .data = pattern(20, 2)});
  file.add_tensor({.name = "cube", .dims = {2, 3, 4, 5}, .type = 1, .data = pattern(240, 3)});
  return file;
}

struct Host {
  std::string bytes;
  int calls = 0;
  static int64_t read_at(void *user, uint64_t offset, void *buffer, uint64_t size) {
    auto *host = static_cast<Host *>(user);
    ++host->calls;
    const uint64_t n = std::min<uint64_t>(size, 1000);
    std::memcpy(buffer, host->bytes.data() + offset, n);
    return static_cast<int64_t>(n);
  }
};

TEST(GgufReader, ReadsEveryValueType) {
  const auto file = open_gguf(everything().source());
  std::string metadata;
  for (const auto &[key, value] : file->metadata.entries()) {
    metadata += std::string(key) + '=' + test::dump(value) + '\n';
  }
  EXPECT_EQ(
      metadata,
      "u8=u8 200\ni8=i8 -100\nu16=u16 60000\ni16=i16 -30000\nu32=u32 4000000000\ni32=i32 -2000000000\n"
      "f32=f32 0.1\nyes=bool true\nno=bool false\nstring=string h\xc3\xa9llo\nu64=u64 18446744073709551615\n"
      "i64=i64 -9223372036854775808\nf64=f64 0.1\nstrings=array [string x 3] a  ccc\n"
      "i32s=array [i32 x 3] -1.000000 0.000000 7.000000\nf32s=array [f32 x 2] 0.500000 -2.000000\n"
      "no strings=array [string x 0]\nempty=string \nbools=array [bool x 3] 0.000000 1.000000 2.000000\n");
}

TEST(GgufReader, ReadsTheTensorTable) {
  const GgufBytes bytes = everything();
  const auto file = open_gguf(bytes.source());
  ASSERT_EQ(file->tensors.size(), 3u);
  const TensorInfo *cube = file->find("cube");
  ASSERT_NE(cube, nullptr);
  EXPECT_EQ(cube->type, Type::F16);
  EXPECT_EQ(cube->n_dims, 4);
  EXPECT_EQ(cube->elements(), 120u);
  EXPECT_EQ(cube->size_bytes, 240u);
  EXPECT_EQ(cube->shape(), "2x3x4x5");
  EXPECT_EQ(file->find("vector")->shape(), "5");
  EXPECT_EQ(file->find("vector")->dims, (std::array<int64_t, kMaxDims>{5, 1, 1, 1}));
  EXPECT_EQ(file->find("matri"), nullptr);
  EXPECT_EQ(file->find("zebra"), nullptr);
  for (const test::RawTensor &raw : bytes.tensors) {
    const TensorInfo *tensor = file->find(raw.name);
    EXPECT_EQ(tensor->offset % 32, 0u);
    std::string read(tensor->size_bytes, '\0');
    file->read(*tensor, read.data());
    EXPECT_EQ(read, raw.data);
    EXPECT_EQ(std::memcmp(file->mapped(*tensor), raw.data.data(), raw.data.size()), 0);
  }
  EXPECT_EQ(file->file_bytes(), bytes.bytes().size());
}

TEST(GgufReader, ReadsVersion2LikeVersion3) {
  GgufBytes file = everything();
  const std::string newer = test::dump(*open_gguf(file.source()));
  file.version = 2;
  EXPECT_EQ(test::dump(*open_gguf(file.source())), newer);
}

TEST(GgufReader, SaysTheSameHoweverTheFileIsReached) {
  const std::string bytes = everything().bytes();
  const std::string path = test::scratch_folder() / "model.gguf";
  std::ofstream(path, std::ios::binary) << "before" << bytes << "after";
  const int fd = open(path.c_str(), O_RDONLY);
  const std::string expected = test::dump(*open_gguf(test::source_of(bytes)));
  for (const bool map : {true, false}) {
    EXPECT_EQ(test::dump(*open_gguf(open_descriptor(fd, 6, bytes.size(), map))), expected);
  }
  std::ofstream(path, std::ios::binary) << bytes;
  for (const bool map : {true, false}) EXPECT_EQ(test::dump(*open_gguf(open_path(path, map))), expected);
  Host host{.bytes = bytes};
  EXPECT_EQ(test::dump(*open_gguf(open_host_io(Host::read_at, &host, bytes.size()))), expected);
  close(fd);
}

TEST(GgufReader, ReadsHeadersOfManyChunksWithoutAMapping) {
  GgufBytes file = everything();
  std::vector<std::string> tokens;
  for (int i = 0; i < 100000; ++i) tokens.push_back("token " + std::to_string(i * 7919));
  file.set("tokens", test::strings(tokens)).set("long", test::string(std::string(3000000, 'x')));
  file.set("scores", test::f32s(std::vector<float>(100000, 0.25f))).set("last", test::u32(5));
  EXPECT_EQ(test::dump(*open_gguf(test::unmapped_source_of(file.bytes()))),
            test::dump(*open_gguf(file.source())));
}

TEST(GgufReader, ReadsOnlyTheHeader) {
  GgufBytes file = everything();
  file.add_tensor({.name = "large", .dims = {1 << 20, 4}, .data = std::string(16 << 20, '\1')});
  Host host{.bytes = file.bytes()};
  open_gguf(open_host_io(Host::read_at, &host, host.bytes.size()));
  EXPECT_LT(host.calls, 100);
}

TEST(GgufReader, HonoursTheFilesAlignment) {
  for (const uint32_t alignment : {8u, 64u, 4096u}) {
    GgufBytes file = everything();
    file.set("general.alignment", test::u32(alignment)).alignment = alignment;
    const auto opened = open_gguf(file.source());
    EXPECT_EQ(opened->tensors[1].offset % alignment, 0u);
    std::string read(20, '\0');
    opened->read(opened->tensors[1], read.data());
    EXPECT_EQ(read, file.tensors[1].data);
  }
}

TEST(GgufReader, TakesAFileOfVocabularyOnlyThatEndsWithItsHeader) {
  GgufBytes file = everything();
  file.tensors.clear();
  ASSERT_EQ(file.bytes().size(), file.header_bytes());
  EXPECT_EQ(open_gguf(file.source())->tensors.size(), 0u);
  EXPECT_EQ(open_gguf(test::source_of(GgufBytes().bytes()))->metadata.entries().size(), 0u);
}

TEST(GgufReader, TakesAFileWithoutPaddingAfterTheLastTensorAndWithGaps) {
  GgufBytes file = everything();
  std::string bytes = file.bytes();
  bytes.resize(bytes.size() - 240 % 32);
  EXPECT_NO_THROW(open_gguf(test::source_of(bytes)));
  file.tensors[1].data.resize(1000);
  EXPECT_EQ(open_gguf(file.source())->find("vector")->size_bytes, 20u);
}

TEST(GgufReader, ReadsTensorsThatMemoryHoldsWhereNoFloatMayLie) {
  const std::string bytes = everything().bytes();
  const std::string shifted = "x" + bytes;
  const auto file = open_gguf(open_memory(shifted.data() + 1, bytes.size()));
  EXPECT_EQ(file->mapped(file->tensors[0]), nullptr);
  EXPECT_EQ(test::dump(*file), test::dump(*open_gguf(test::source_of(bytes))));
}

TEST(GgufReader, CountsElementsPast32BitsExactly) {
  GgufBytes file;
  file.add_tensor({.name = "huge", .dims = {65536, 65537}, .type = 1});
  struct Sparse {
    std::string header;
    static int64_t read_at(void *user, uint64_t offset, void *buffer, uint64_t size) {
      const std::string &header = static_cast<Sparse *>(user)->header;
      std::memset(buffer, 0, size);
      if (offset < header.size()) header.copy(static_cast<char *>(buffer), size, offset);
      return static_cast<int64_t>(size);
    }
  } sparse{file.bytes()};
  const auto opened = open_gguf(open_host_io(Sparse::read_at, &sparse, uint64_t{9} << 30));
  EXPECT_EQ(opened->tensors[0].elements(), 4295032832u);
  EXPECT_EQ(opened->tensors[0].size_bytes, 8590065664u);
}

TEST(GgufReader, TakesTimeLinearInKeysAndTensors) {
  constexpr int kMany = 200000;
  GgufBytes keys, tensors;
  for (int i = 0; i < kMany; ++i) {
    keys.append("a.key.that.begins.like.all.others." + std::to_string(i), test::u32(7));
    tensors.add_tensor({.name = "blk." + std::to_string(i) + ".weight", .dims = {1}, .data = "1234"});
  }
  for (const GgufBytes &file : {keys, tensors}) {
    const std::string bytes = file.bytes();
    size_t read = 0;
    const test::Outcome outcome = test::run_hostile(bytes.size(), [&] {
      const auto opened = open_gguf(open_memory(bytes.data(), bytes.size()));
      read = opened->metadata.entries().size() + opened->tensors.size();
    });
    EXPECT_EQ(outcome.message, "");
    EXPECT_EQ(read, static_cast<size_t>(kMany));
    EXPECT_LT(outcome.seconds.count(), 2.0);
  }
}

// Writes a model in three shards, two tensors in each, and gives back the first one's path.
std::string write_shards(const std::filesystem::path &folder,
                         const std::function<void(int, GgufBytes &)> &patch) {
  for (int i = 0; i < 3; ++i) {
    GgufBytes shard;
    shard.set("split.no", test::u16(static_cast<uint16_t>(i))).set("split.count", test::u16(3));
    shard.set("split.tensors.count", test::i32(6));
    if (i == 0) shard.set("general.name", test::string("whole"));
    for (int t = 0; t < 2; ++t) {
      const int n = i * 2 + t;
      shard.add_tensor({.name = "t" + std::to_string(n), .dims = {8}, .data = pattern(32, n)});
    }
    patch(i, shard);
    const std::string name = "model-0000" + std::to_string(i + 1) + "-of-00003.gguf";
    std::ofstream(folder / name, std::ios::binary) << shard.bytes();
  }
  return folder / "model-00001-of-00003.gguf";
}

TEST(GgufShards, AreReadAsOneModel) {
  const std::string path = write_shards(test::scratch_folder(), [](int, GgufBytes &) {});
  for (const bool map : {true, false}) {
    const auto file = open_gguf(open_path(path, map));
    ASSERT_EQ(file->tensors.size(), 6u);
    EXPECT_EQ(file->sources.size(), 3u);
    EXPECT_EQ(file->metadata.string("general.name"), "whole");
    for (int n = 0; n < 6; ++n) {
      const TensorInfo *tensor = file->find("t" + std::to_string(n));
      EXPECT_EQ(tensor->shard, n / 2);
      std::string read(32, '\0');
      file->read(*tensor, read.data());
      EXPECT_EQ(read, pattern(32, n));
      EXPECT_EQ(file->mapped(*tensor) != nullptr, map);
    }
  }
}

TEST(GgufShards, AreFoundFromARelativePath) {
  const std::filesystem::path folder = test::scratch_folder();
  const std::string path = write_shards(folder, [](int, GgufBytes &) {});
  const auto relative = std::filesystem::relative(path);
  EXPECT_EQ(open_gguf(open_path(relative, true))->tensors.size(), 6u);
}

TEST(GgufShards, AreRefusedWhereTheyDoNotBelongTogether) {
  const auto opening = [](const std::function<void(int, GgufBytes &)> &patch) {
    const std::string path = write_shards(test::scratch_folder(), patch);
    return error_of([&] { open_gguf(open_path(path, true)); });
  };
  const auto in_shard = [&](int shard, const char *key, uint16_t value) {
    return opening([=](int i, GgufBytes &file) {
      if (i == shard) file.set(key, test::u16(value));
    });
  };
  for (const uint16_t count : {uint16_t{0}, uint16_t{65535}, uint16_t{2}}) {
    EXPECT_EQ(in_shard(0, "split.count", count).status(), Status::Format) << count;
    EXPECT_EQ(in_shard(1, "split.count", count).status(), Status::Format) << count;
  }
  EXPECT_EQ(in_shard(0, "split.no", 1).status(), Status::Format);
  const Error wrong = in_shard(1, "split.no", 2);
  EXPECT_EQ(wrong.status(), Status::Format);
  EXPECT_STREQ(wrong.what(), "model-00002-of-00003.gguf: expected split.no 1 of 3, found 2 of 3");
  EXPECT_EQ(in_shard(0, "split.tensors.count", 5).status(), Status::Format);
  EXPECT_EQ(opening([](int i, GgufBytes &file) {
              if (i == 2) file.remove("split.no");
            }).status(),
            Status::Format);
  const Error repeated = opening([](int i, GgufBytes &file) {
    if (i == 2) file.tensor("t4").name = "t1";
  });
  EXPECT_EQ(repeated.status(), Status::Format);
  EXPECT_STREQ(repeated.what(), "t1: tensor[4] repeats the name of tensor[1]");
}

TEST(GgufShards, SayWhichOneIsMissingOrUnreachable) {
  const std::filesystem::path folder = test::scratch_folder();
  const std::string path = write_shards(folder, [](int, GgufBytes &) {});
  const std::string bytes = test::read_file(path);
  EXPECT_EQ(error_of([&] { open_gguf(test::source_of(bytes)); }).status(), Status::Unsupported);
  const std::string second = folder / "model-00002-of-00003.gguf";
  const Error wrong_first = error_of([&] { open_gguf(open_path(second, true)); });
  EXPECT_EQ(wrong_first.status(), Status::Format);
  EXPECT_NE(std::string(wrong_first.what()).find("split.no: expected 0"), std::string::npos);
  std::filesystem::remove(second);
  const Error missing = error_of([&] { open_gguf(open_path(path, true)); });
  EXPECT_EQ(missing.status(), Status::Io);
  EXPECT_NE(std::string(missing.what()).find("model-00002-of-00003.gguf"), std::string::npos);
}

TEST(ModelFile, RefusesSafetensorsAsUnsupported) {
  std::string bytes = test::raw(uint64_t{2}) + "{}";
  const Error error = error_of([&] { open_model_file(test::source_of(bytes)); });
  EXPECT_EQ(error.status(), Status::Unsupported);
  EXPECT_EQ(open_model_file(everything().source())->tensors.size(), 3u);
}

TEST(GgufReader, OpensEveryRealFile) {
  RZ_NEED_SHARED_DATA();
  int opened = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(test::shared_data())) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path());
    // The only file there whose block format this version does not read.
    if (entry.path().stem() == "gpt-oss-mxfp4") {
      const Error error = error_of([&] { open_gguf(open_path(entry.path(), true)); });
      EXPECT_EQ(error.status(), Status::Unsupported);
      EXPECT_NE(std::string(error.what()).find("MXFP4"), std::string::npos);
      continue;
    }
    const auto file = open_gguf(open_path(entry.path(), true));
    EXPECT_GT(file->metadata.entries().size(), 5u);
    EXPECT_EQ(test::dump(*open_gguf(open_path(entry.path(), false))), test::dump(*file));
    ++opened;
  }
  EXPECT_GT(opened, 0);
}

}  // namespace
}  // namespace rz
