// What the writer writes, the reader reads; nothing half-written is ever seen.
#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/dump.h"
#include "support/error_of.h"
#include "support/gguf_bytes.h"
#include "support/shared_data.h"

namespace rz {
namespace {

using test::error_of;

std::span<const std::byte> bytes_of_text(const std::string &text) { return std::as_bytes(std::span(text)); }

void add(GgufWriter &writer, const char *name, Type type, std::vector<int64_t> dims) {
  writer.add_tensor(name, type, dims);
}

TEST(GgufWriter, WritesWhatTheReaderReads) {
  const std::string path = test::scratch_folder() / "model.gguf";
  const std::string first(68, '\1'), second(20, '\2');
  GgufWriter writer(path);
  writer.add_u32("u32", 4000000000);
  writer.add_u64("u64", UINT64_MAX);
  writer.add_f32("f32", 0.1f);
  writer.add_bool("bool", true);
  writer.add_string("string", "llama");
  writer.add_strings("strings", std::vector<std::string>{"a", "", "bb"});
  writer.add_f32s("f32s", std::vector<float>{0.5f, -1});
  writer.add_i32s("i32s", std::vector<int32_t>{-1, 2});
  add(writer, "first", Type::Q8_0, {32, 2});
  add(writer, "second", Type::F32, {5});
  writer.write_tensor(bytes_of_text(first));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.write_tensor(bytes_of_text(second));
  writer.finish();

  const auto file = open_gguf(open_path(path, true));
  std::string metadata;
  for (const auto &[key, value] : file->metadata.entries()) {
    metadata += std::string(key) + '=' + test::dump(value) + '\n';
  }
  EXPECT_EQ(
      metadata,
      "u32=u32 4000000000\nu64=u64 18446744073709551615\nf32=f32 0.1\nbool=bool true\nstring=string llama\n"
      "strings=array [string x 3] a  bb\nf32s=array [f32 x 2] 0.500000 -1.000000\n"
      "i32s=array [i32 x 2] -1.000000 2.000000\n");
  ASSERT_EQ(file->tensors.size(), 2u);
  EXPECT_EQ(file->find("first")->shape(), "32x2");
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->mapped(file->tensors[0])), 68), first);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->mapped(file->tensors[1])), 20), second);
}

// Copies a file through reader and writer, key by key and tensor by tensor.
void copy(const ModelFile &from, const std::string &path) {
  GgufWriter writer(path);
  for (const auto &[key, value] : from.metadata.entries()) writer.add(key, value);
  for (const TensorInfo &tensor : from.tensors) {
    writer.add_tensor(tensor.name, tensor.type,
                      std::span(tensor.dims).first(static_cast<size_t>(tensor.n_dims)));
  }
  for (const TensorInfo &tensor : from.tensors) writer.write_tensor({from.mapped(tensor), tensor.size_bytes});
  writer.finish();
}

TEST(GgufWriter, CopiesEveryValueTypeByteForByte) {
  for (const uint32_t alignment : {32u, 64u}) {
    test::GgufBytes file;
    if (alignment != 32) file.set("general.alignment", test::u32(alignment)).alignment = alignment;
    file.set("u8", test::u8(200))
        .set("i8", test::i8(-100))
        .set("u16", test::u16(60000))
        .set("i16", test::i16(-3));
    file.set("u32", test::u32(4))
        .set("i32", test::i32(-2))
        .set("f32", test::f32(0.1f))
        .set("f64", test::f64(0.1));
    file.set("u64", test::u64(UINT64_MAX)).set("i64", test::i64(INT64_MIN)).set("no", test::boolean(false));
    file.set("text", test::string("x"))
        .set("texts", test::strings({"a", ""}))
        .set("i32s", test::i32s({1, -2}));
    file.add_tensor({.name = "first", .dims = {3, 2}, .data = std::string(24, '\1')});
    file.add_tensor({.name = "second", .dims = {256}, .type = 12, .data = std::string(144, '\2')});
    const std::string path = test::scratch_folder() / "copy.gguf";
    copy(*open_gguf(file.source()), path);
    EXPECT_EQ(test::read_file(path), file.bytes());
  }
}

TEST(GgufWriter, CopiesRealFilesByteForByte) {
  RZ_NEED_SHARED_DATA();
  for (const char *name :
       {"golden/llama-q4_k_m.gguf", "vocab/ggml-vocab-llama-spm.gguf", "vocab/ggml-vocab-t5.gguf"}) {
    const std::string from = test::shared_data() / name, to = test::scratch_folder() / "copy.gguf";
    copy(*open_gguf(open_path(from, true)), to);
    EXPECT_TRUE(test::read_file(to) == test::read_file(from)) << name;
  }
}

TEST(GgufWriter, LeavesNothingBehindWithoutFinish) {
  const std::filesystem::path folder = test::scratch_folder();
  {
    GgufWriter writer(folder / "model.gguf");
    add(writer, "first", Type::F32, {4});
    writer.write_tensor(bytes_of_text(std::string(16, 'x')));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(GgufWriter, RefusesWhatWouldMakeABadFile) {
  const std::filesystem::path folder = test::scratch_folder();
  GgufWriter writer(folder / "model.gguf");
  const auto refused = [](auto &&call) { EXPECT_EQ(error_of(call).status(), Status::Internal); };
  writer.add_u32("key", 1);
  refused([&] { writer.add_u32("key", 2); });
  refused([&] { writer.add_u32("general.alignment", 3); });
  add(writer, "first", Type::F32, {4});
  refused([&] { add(writer, "first", Type::F32, {4}); });
  refused([&] { add(writer, "", Type::F32, {4}); });
  refused([&] { add(writer, std::string(64, 'n').c_str(), Type::F32, {4}); });
  refused([&] { add(writer, "none", Type::F32, {}); });
  refused([&] { add(writer, "five", Type::F32, {1, 1, 1, 1, 1}); });
  refused([&] { add(writer, "zero", Type::F32, {4, 0}); });
  refused([&] { add(writer, "part", Type::Q8_0, {33}); });
  refused([&] { writer.finish(); });
  refused([&] { writer.write_tensor(bytes_of_text(std::string(15, 'x'))); });
}

TEST(GgufWriter, TakesATensorInParts) {
  const std::filesystem::path folder = test::scratch_folder();
  const std::string text = "0123456789abcdef";
  for (const size_t part : std::initializer_list<size_t>{1, 5, 16}) {
    GgufWriter writer(folder / "model.gguf");
    add(writer, "first", Type::F32, {4});
    add(writer, "second", Type::F32, {4});
    for (size_t i = 0; i < 16; i += part) writer.write_part(bytes_of_text(text.substr(i, part)));
    writer.write_tensor(bytes_of_text(text));
    writer.finish();
    const auto file = open_gguf(open_path(folder / "model.gguf", true));
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->mapped(file->tensors[0])), 16), text);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->mapped(file->tensors[1])), 16), text);
  }
}

TEST(GgufWriter, RefusesPartsThatDoNotMakeTheTensor) {
  GgufWriter writer(test::scratch_folder() / "model.gguf");
  add(writer, "first", Type::F32, {4});
  add(writer, "second", Type::F32, {4});
  const auto refused = [](auto &&call) { EXPECT_EQ(error_of(call).status(), Status::Internal); };
  writer.write_part(bytes_of_text("0123456789"));
  refused([&] { writer.write_part({}); });
  refused([&] { writer.write_part(bytes_of_text("0123456")); });
  refused([&] { writer.write_tensor(bytes_of_text("012345")); });
  refused([&] { writer.finish(); });
}

TEST(GgufWriter, RefusesTensorsAndKeysOutOfTurn) {
  GgufWriter writer(test::scratch_folder() / "model.gguf");
  add(writer, "first", Type::F32, {4});
  writer.write_tensor(bytes_of_text(std::string(16, 'x')));
  const auto refused = [](auto &&call) { EXPECT_EQ(error_of(call).status(), Status::Internal); };
  refused([&] { writer.add_u32("late", 1); });
  refused([&] { add(writer, "late", Type::F32, {4}); });
  refused([&] { writer.write_tensor(bytes_of_text(std::string(16, 'x'))); });
}

}  // namespace
}  // namespace rz
