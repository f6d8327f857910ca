// The small rooms of the ground floor: errors, checked arithmetic, hashes, log, progress.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "support/error_of.h"

namespace rz {
namespace {

using test::error_of;

TEST(Error, CarriesStatusAndMessage) {
  const Error error =
      error_of([] { fail(Status::Limit, "%s: expected at most %d, found %d", "rows", 3, 4); });
  EXPECT_EQ(error.status(), Status::Limit);
  EXPECT_STREQ(error.what(), "rows: expected at most 3, found 4");
  EXPECT_EQ(
      std::string(error_of([] { fail(Status::Io, "%s", std::string(5000, 'x').c_str()); }).what()).size(),
      503u);
}

TEST(Checked, GivesExactResultsOrFormat) {
  EXPECT_EQ(checked_add<uint64_t>(UINT64_MAX - 1, 1, "sum"), UINT64_MAX);
  EXPECT_EQ(error_of([] { checked_add<uint64_t>(UINT64_MAX, 1, "sum"); }).status(), Status::Format);
  EXPECT_EQ(checked_mul<uint64_t>(1ull << 32, (1ull << 32) - 1, "product"), 0xffffffff00000000u);
  EXPECT_EQ(error_of([] { checked_mul<uint64_t>(1ull << 32, 1ull << 32, "product"); }).status(),
            Status::Format);
  EXPECT_EQ(checked_align(33, 32, "offset"), 64u);
  EXPECT_EQ(checked_align(64, 32, "offset"), 64u);
  EXPECT_EQ(error_of([] { checked_align(UINT64_MAX - 3, 32, "offset"); }).status(), Status::Format);
  EXPECT_EQ((checked_cast<int32_t>(uint64_t{2147483647}, "id")), 2147483647);
  const Error error = error_of([] { checked_cast<int32_t>(uint64_t{2147483648}, "id"); });
  EXPECT_EQ(error.status(), Status::Format);
  EXPECT_STREQ(error.what(), "id: overflow, 2147483648 does not fit 4 bytes");
}

TEST(Hash, GivesXxh3sKnownValues) {
  EXPECT_EQ(hash64("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(hash128("", 0), (Hash128{.low = 0x6001c324468d497fu, .high = 0x99aa06d3014798d8u}));
}

TEST(Hash, DependsOnEveryByteAndTheSeed) {
  std::string bytes(500, 'a');
  const uint64_t plain = hash64(bytes.data(), bytes.size());
  const Hash128 plain128 = hash128(bytes.data(), bytes.size());
  EXPECT_EQ(hash64(std::string(500, 'a').data(), 500), plain);
  EXPECT_NE(hash64(bytes.data(), bytes.size(), 1), plain);
  EXPECT_NE(hash64(bytes.data(), bytes.size() - 1), plain);
  for (char &byte : bytes) {
    byte = 'b';
    EXPECT_NE(hash64(bytes.data(), bytes.size()), plain);
    EXPECT_NE(hash128(bytes.data(), bytes.size()), plain128);
    byte = 'a';
  }
}

TEST(Logger, PassesOnWhatIsAtOrBelowItsLevel) {
  std::vector<std::string> lines;
  const auto write = [](void *user, int32_t level, const char *message) {
    static_cast<std::vector<std::string> *>(user)->push_back(std::to_string(level) + " " + message);
  };
  const Logger logger{.write = write, .user = &lines, .level = LogLevel::Warn};
  logger.log(LogLevel::Error, "lost %s", "page");
  logger.log(LogLevel::Warn, "%d left", 3);
  logger.log(LogLevel::Info, "dropped");
  EXPECT_EQ(lines, (std::vector<std::string>{"1 lost page", "2 3 left"}));
  Logger{}.log(LogLevel::Error, "nobody listens");
}

TEST(Progress, StopsTheWorkWhenToldTo) {
  const auto report = [](void *user, float fraction) {
    *static_cast<float *>(user) = fraction;
    return fraction > 0.5f ? int32_t{1} : int32_t{0};
  };
  float last = 0;
  const Progress progress{.report = report, .user = &last};
  progress(0.25f);
  EXPECT_EQ(last, 0.25f);
  EXPECT_EQ(error_of([&] { progress(0.75f); }).status(), Status::Cancelled);
  Progress{}(1.0f);
}

}  // namespace
}  // namespace rz
