// Files that have broken systems like this one, each one patch away from a valid file. Every case must give
// its code and a piece of its message, mapped and unmapped, within the bounds of support/hostile.h.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "format/dump.h"
#include "format/model_file.h"
#include "support/error_of.h"
#include "support/gguf_bytes.h"
#include "support/hostile.h"

namespace rz {
namespace {

using test::GgufBytes;
using Patch = std::function<void(GgufBytes &)>;

GgufBytes valid() {
  GgufBytes file;
  file.set("general.name", test::string("tiny")).set("count", test::u32(3));
  file.set("tokens", test::strings({"a", "bb", "ccc"})).set("scores", test::f32s({1, 2, 3}));
  file.add_tensor({.name = "first", .dims = {32, 2}, .type = 8, .data = std::string(68, '\1')});
  file.add_tensor({.name = "second", .dims = {8}, .type = 0, .data = std::string(32, '\2')});
  return file;
}

void expect_refused(const std::string &bytes, Status status, const std::string &piece,
                    const std::string &what) {
  for (const bool mapped : {true, false}) {
    const auto source = mapped ? test::source_of(bytes) : test::unmapped_source_of(bytes);
    const test::Outcome outcome = test::run_hostile(bytes.size(), [&] { open_model_file(source); });
    EXPECT_FALSE(outcome.foreign) << what << ": " << outcome.message;
    EXPECT_EQ(outcome.status, status) << what << (mapped ? " (mapped): " : " (read): ") << outcome.message;
    EXPECT_NE(outcome.message.find(piece), std::string::npos) << what << ": \"" << outcome.message << '"';
    EXPECT_LT(outcome.seconds.count(), 2.0) << what;
  }
}

void expect_refused(const Patch &patch, Status status, const std::string &piece,
                    const std::string &what = "") {
  GgufBytes file = valid();
  patch(file);
  expect_refused(file.bytes(), status, piece, what.empty() ? piece : what);
}

TEST(BadGguf, TheUnpatchedFileIsGood) {
  for (const auto &source : {valid().source(), test::unmapped_source_of(valid().bytes())}) {
    EXPECT_EQ(open_model_file(source)->tensors.size(), 2u);
  }
}

TEST(BadGguf, WrongMagicIsFormat) {
  for (const std::string bytes :
       {"", "GGU", "gguf", "<!DOCTYPE html><html><body>Not found</body></html>", "lmgg"}) {
    expect_refused(bytes, Status::Format, "magic", bytes);
  }
  expect_refused("<!DOCTYPE html>", Status::Format, "found bytes 3c 21 44 4f", "html");
}

TEST(BadGguf, OtherVersionsAreUnsupportedNamingThem) {
  for (const uint32_t version : {0u, 1u, 4u, 99u, UINT32_MAX}) {
    expect_refused([&](GgufBytes &file) { file.version = version; }, Status::Unsupported,
                   "expected 2 or 3, found " + std::to_string(version));
  }
  for (const uint32_t version : {0x02000000u, 0x03000000u}) {
    expect_refused([&](GgufBytes &file) { file.version = version; }, Status::Unsupported, "big-endian");
  }
}

TEST(BadGguf, CutAnywhereIsFormatSayingNeedAndHave) {
  const GgufBytes file = valid();
  const std::string bytes = file.bytes();
  const size_t end_of_data = bytes.size();  // the last tensor fills its padding
  for (size_t size = 4; size < end_of_data; ++size) {
    for (const bool mapped : {true, false}) {
      const std::string cut = bytes.substr(0, size);
      const Error error = test::error_of(
          [&] { open_model_file(mapped ? test::source_of(cut) : test::unmapped_source_of(cut)); });
      EXPECT_EQ(error.status(), Status::Format) << size;
      const std::string message = error.what();
      EXPECT_NE(message.find("truncated: need "), std::string::npos) << size << ": " << message;
      EXPECT_NE(message.find(", have "), std::string::npos) << size << ": " << message;
    }
  }
  expect_refused(bytes.substr(0, file.header_bytes()), Status::Format, "truncated", "header only");
}

TEST(BadGguf, AbsurdCountsAreLimits) {
  for (const uint64_t count : {uint64_t{0xffffffff}, uint64_t{1} << 63, UINT64_MAX}) {
    expect_refused([&](GgufBytes &file) { file.n_entries = count; }, Status::Limit, "metadata count");
    expect_refused([&](GgufBytes &file) { file.n_tensors = count; }, Status::Limit, "tensor count");
  }
  expect_refused([](GgufBytes &file) { file.n_tensors = 0x1D1D1D1D; }, Status::Limit, "found 488447261");
  expect_refused([](GgufBytes &file) { file.n_entries = 200000; }, Status::Format, "", "too many keys");
  expect_refused([](GgufBytes &file) { file.n_tensors = 200000; }, Status::Format, "", "too many tensors");
}

TEST(BadGguf, StringsLongerThanTheFileAreTruncated) {
  const GgufBytes file = valid();
  for (const uint64_t length :
       {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, uint64_t{file.bytes().size()}}) {
    expect_refused([&](GgufBytes &f) { f.set("general.name", test::string_of_length(length, "tiny")); },
                   Status::Format, "general.name: truncated: need " + std::to_string(length));
    expect_refused([&](GgufBytes &f) { f.entries[1].key_length = length; }, Status::Format,
                   "metadata[1]: truncated: need " + std::to_string(length));
    expect_refused([&](GgufBytes &f) { f.tensors[1].name_length = length; }, Status::Format,
                   "tensor[1]: truncated: need " + std::to_string(length));
  }
  // One more byte than is left.
  GgufBytes last;
  last.set("general.name", test::string_of_length(5, "tiny"));
  expect_refused(last.bytes(), Status::Format, "general.name: truncated: need 5 bytes, have 4", "one more");
}

TEST(BadGguf, ArraysThatWrapAreLimits) {
  const auto with = [](uint32_t element, uint64_t count, const std::string &bytes) {
    return [=](GgufBytes &file) { file.set("tokens", test::array(element, count, bytes)); };
  };
  for (const uint64_t count : {uint64_t{1} << 61, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
    for (const uint32_t element : {0u, 4u, 6u, 8u, 10u, 12u}) {
      expect_refused(with(element, count, "12345678"), Status::Limit, "tokens: expected at most");
    }
  }
  expect_refused(with(8, 3000000000, "12345678"), Status::Limit, "tokens");
  expect_refused(with(8, 2, test::raw(uint64_t{1}) + "a" + test::raw(UINT64_MAX)), Status::Limit,
                 "tokens[1]");
  expect_refused(with(8, 2, test::raw(uint64_t{1}) + "a" + test::raw(uint64_t{1} << 63)), Status::Limit,
                 "tokens[1]");
  expect_refused(with(8, 2, test::raw(uint64_t{1}) + "a" + test::raw(uint64_t{100000})), Status::Format,
                 "truncated");
  expect_refused(with(10, 100000, "12345678"), Status::Format, "tokens: truncated: need 800000 bytes");
  expect_refused(with(8, 4000000, "12345678"), Status::Format,
                 "tokens: truncated: need 4000000 strings, have ");
  // No two arrays may share the room for strings either.
  expect_refused(
      [](GgufBytes &file) {
        file.set("a", test::array(8, 3000000, std::string(24000000, '\0')));
        file.set("b", test::array(8, 3000000, std::string(24000000, '\0')));
      },
      Status::Limit, "b: expected at most");
}

TEST(BadGguf, UnknownValueTypesAreFormat) {
  expect_refused([](GgufBytes &file) { file.set("tokens", test::array(99, 1, "abcd")); }, Status::Format,
                 "tokens: expected an element type below 13, found 99");
  expect_refused([](GgufBytes &file) { file.set("tokens", test::array(13, 1, "abcd")); }, Status::Format,
                 "found 13");
  expect_refused(
      [](GgufBytes &file) {
        file.set("count", {99, "abcd"});
      },
      Status::Format, "count: expected a value type below 13, found 99");
  const std::string inner = test::raw(uint32_t{4}) + test::raw(uint64_t{0});
  expect_refused([&](GgufBytes &file) { file.set("tokens", test::array(9, 1, inner)); }, Status::Unsupported,
                 "tokens: expected an array of scalars or strings");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += test::raw(uint32_t{9}) + test::raw(uint64_t{1});
  expect_refused([&](GgufBytes &file) { file.set("tokens", test::array(9, 1, deep)); }, Status::Unsupported,
                 "tokens", "deep nesting");
}

TEST(BadGguf, KeysMustBeNamesAndUnique) {
  expect_refused([](GgufBytes &file) { file.entries[1].key = ""; }, Status::Format,
                 "metadata[1]: expected a name of 1 to 65535 bytes, found 0");
  expect_refused([](GgufBytes &file) { file.entries[1].key = std::string(65536, 'k'); }, Status::Format,
                 "found 65536");
  for (const std::string &key :
       std::vector<std::string>{{"a\0b", 3}, {"\0", 1}, "a\nb", "\x1b[2J", "\xff", "\xed\xa0\x80"}) {
    expect_refused([&](GgufBytes &file) { file.entries[1].key = key; }, Status::Format,
                   "metadata[1]: expected a name");
    expect_refused([&](GgufBytes &file) { file.tensors[1].name = key; }, Status::Format,
                   "tensor[1]: expected a name");
  }
  expect_refused([](GgufBytes &file) { file.append("general.name", test::u32(1)); }, Status::Format,
                 "general.name: metadata[4] repeats the key of metadata[0]");
}

TEST(BadGguf, AlignmentMustBeASmallPowerOfTwo) {
  for (const uint32_t alignment : {0u, 1u, 3u, 4u, 33u, 1u << 21, 1u << 31, UINT32_MAX}) {
    expect_refused([&](GgufBytes &file) { file.set("general.alignment", test::u32(alignment)); },
                   Status::Format, "general.alignment: expected a power of two");
  }
  for (const test::RawValue &value :
       {test::u64(32), test::i32(32), test::f32(32), test::string("32"), test::u8(32)}) {
    expect_refused([&](GgufBytes &file) { file.set("general.alignment", value); }, Status::Format,
                   "general.alignment: expected a u32");
  }
}

TEST(BadGguf, TensorNamesMustBeShortAndUnique) {
  expect_refused([](GgufBytes &file) { file.tensors[1].name = "first"; }, Status::Format,
                 "first: tensor[1] repeats the name of tensor[0]");
  expect_refused([](GgufBytes &file) { file.tensors[1].name = std::string(64, 'n'); }, Status::Format,
                 "tensor[1]: expected a name of 1 to 63 bytes, found 64");
  expect_refused([](GgufBytes &file) { file.tensors[1].name = std::string(70000, 'n'); }, Status::Format,
                 "70000");
  expect_refused([](GgufBytes &file) { file.tensors[1].name = ""; }, Status::Format, "found 0");
  GgufBytes longest = valid();
  longest.tensors[1].name = std::string(63, 'n');
  EXPECT_NE(open_gguf(longest.source())->find(std::string(63, 'n')), nullptr);
}

TEST(BadGguf, DimensionsMustBeOneToFourAndPositive) {
  for (const uint32_t n_dims : {0u, 5u, 64u, UINT32_MAX}) {
    expect_refused([&](GgufBytes &file) { file.tensors[1].n_dims = n_dims; }, Status::Format,
                   "second: expected 1 to 4 dimensions, found " + std::to_string(n_dims));
  }
  for (const uint64_t dim : {uint64_t{0}, UINT64_MAX, uint64_t{1} << 63}) {
    expect_refused(
        [&](GgufBytes &file) {
          file.tensors[0].dims = {32, dim};
        },
        Status::Format,
        "first: dimension 1: expected 1 or more, found " + std::to_string(static_cast<int64_t>(dim)));
  }
}

TEST(BadGguf, ProductsThatWrapAreOverflows) {
  const uint64_t g = uint64_t{1} << 32;
  for (const std::vector<uint64_t> &dims : std::vector<std::vector<uint64_t>>{{g, g},
                                                                              {g, g / 2},
                                                                              {g / 2, g / 2, 4},
                                                                              {g, g, g, g},
                                                                              {65536, 65536, 65536, 65536},
                                                                              {3, 6148914691236517206}}) {
    expect_refused([&](GgufBytes &file) { file.tensors[1].dims = dims; }, Status::Format, "second: overflow");
  }
  // Elements fit 64 bits, their bytes do not.
  for (const uint32_t type : {28u, 27u, 0u}) {
    expect_refused(
        [&](GgufBytes &file) {
          file.tensors[1] = {.name = "second", .dims = {g, g / 4}, .type = type};
        },
        Status::Format, "second: overflow");
  }
  // Past 32 bits, but not past 64: the exact number is in the message.
  expect_refused([&](GgufBytes &file) { file.tensors[1].dims = {65536, 65537}; }, Status::Format, "17180131");
}

TEST(BadGguf, TypesMustBeKnownAndRowsWholeBlocks) {
  const auto with_type = [](uint32_t type) { return [=](GgufBytes &file) { file.tensors[1].type = type; }; };
  expect_refused(with_type(UINT32_MAX), Status::Unsupported, "second: type 4294967295 (unknown)");
  expect_refused(with_type(1000), Status::Unsupported, "second: type 1000 (unknown)");
  expect_refused(with_type(4), Status::Unsupported, "second: type 4 (Q4_2 (removed))");
  expect_refused(with_type(16), Status::Unsupported, "IQ2_XXS");
  expect_refused(
      [](GgufBytes &file) {
        file.tensors[0].dims = {33, 2};
      },
      Status::Format, "first: expected rows of a multiple of 32 (Q8_0), found 33");
  expect_refused(with_type(12), Status::Format, "second: expected rows of a multiple of 256 (Q4_K), found 8");
}

TEST(BadGguf, TensorsMustLieApartInsideTheFile) {
  const auto with_offset = [](uint64_t offset) {
    return [=](GgufBytes &file) { file.tensors[1].offset = offset; };
  };
  const uint64_t data = (valid().header_bytes() + 31) / 32 * 32;
  const auto range = [&](uint64_t begin, uint64_t size) {
    return "[" + std::to_string(data + begin) + ", " + std::to_string(data + begin + size) + ")";
  };
  for (const uint64_t offset : {1u, 97u, 100u}) {
    expect_refused(with_offset(offset), Status::Format,
                   "second: expected an offset that is a multiple of 32");
  }
  expect_refused(with_offset(64), Status::Format,
                 "second: bytes " + range(64, 32) + " overlap " + range(0, 68) + " of first");
  expect_refused(with_offset(0), Status::Format, "overlap");
  expect_refused(
      [](GgufBytes &file) {
        file.tensors[0].offset = 32;
        file.tensors[1].offset = 0;
        file.tensors[1].dims = {9};
      },
      Status::Format, "first: bytes " + range(32, 68) + " overlap " + range(0, 36) + " of second");
  expect_refused(with_offset(128), Status::Format, "second: truncated: need bytes " + range(128, 32));
  expect_refused(with_offset(uint64_t{1} << 62), Status::Format, "second: truncated: need bytes");
  for (const uint64_t below : {32u, 64u, 256u}) {
    expect_refused(with_offset(0 - below), Status::Format, "second: overflow");
  }
}

TEST(BadGguf, SplitKeysMustBeSane) {
  for (const uint16_t count : {uint16_t{0}, uint16_t{65535}}) {
    expect_refused([&](GgufBytes &file) { file.set("split.count", test::u16(count)); }, Status::Format,
                   "split.count: expected an integer in [1, 1024], found u16 " + std::to_string(count));
  }
  expect_refused([](GgufBytes &file) { file.set("split.count", test::string("3")); }, Status::Format,
                 "split.count: expected an integer in [1, 1024], found string \"3\"");
  expect_refused([](GgufBytes &file) { file.set("split.no", test::u16(1)); }, Status::Format,
                 "split.no: expected 0, the first shard, found 1");
  expect_refused([](GgufBytes &file) { file.set("split.tensors.count", test::i32(3)); }, Status::Format,
                 "split.tensors.count: expected 3, found 2");
}

TEST(BadGguf, EveryPositionIsInTheMessage) {
  const GgufBytes file = valid();
  // The value type of the second key: 4 + 4 + 8 + 8, the first entry, then the key.
  const size_t at = 24 + (8 + 12 + 4 + 8 + 4) + 8 + 5;
  std::string bytes = file.bytes();
  bytes[at] = 77;
  expect_refused(
      bytes, Status::Format,
      "memory: count: expected a value type below 13, found 77 (offset " + std::to_string(at) + ")",
      "offset");
}

TEST(BadGguf, RandomDamageIsRefusedOrHarmless) {
  const std::string bytes = valid().bytes();
  std::mt19937_64 random(7);
  const uint64_t extremes[] = {0, 1, 0x7f, 0xff, 0x7fffffff, 0xffffffff, uint64_t{1} << 63, UINT64_MAX};
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (uint64_t n = random() % 3 + 1; n > 0; --n) {
      const size_t at = random() % (damaged.size() - 8);
      const uint64_t value = random() % 2 ? random() : extremes[random() % 8];
      damaged.replace(at, size_t{1} << random() % 4, test::raw(value), 0, size_t{1} << random() % 4);
    }
    try {
      test::dump(
          *open_model_file(random() % 2 ? test::source_of(damaged) : test::unmapped_source_of(damaged)));
    } catch (const Error &error) {
      const Status status = error.status();
      EXPECT_TRUE(status == Status::Format || status == Status::Limit || status == Status::Unsupported)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace rz
