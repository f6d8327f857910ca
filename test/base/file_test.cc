// Sources give the same bytes however the file is reached, and refuse what lies outside it.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "support/error_of.h"
#include "support/shared_data.h"

namespace rz {
namespace {

using test::error_of;

std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 8));
  return bytes;
}

std::string write_file(const std::string &name, const std::string &bytes) {
  const auto path = test::scratch_folder() / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string read(const Source &source, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  source.read_at(offset, bytes.data(), size);
  return bytes;
}

struct Descriptor {
  explicit Descriptor(const std::string &path) : fd(open(path.c_str(), O_RDONLY)) {}
  ~Descriptor() { close(fd); }
  int fd;
};

TEST(Source, GivesTheSameBytesMappedReadAndThroughADescriptor) {
  const std::string bytes = pattern(20000);
  const std::string path = write_file("file", bytes);
  const Descriptor file(path);
  for (const bool map : {true, false}) {
    for (const auto &source : {open_path(path, map), open_descriptor(file.fd, 0, 0, map)}) {
      EXPECT_EQ(source->size_bytes(), bytes.size());
      EXPECT_EQ(source->data() != nullptr, map);
      EXPECT_EQ(read(*source, 0, bytes.size()), bytes);
      EXPECT_EQ(read(*source, 12345, 77), bytes.substr(12345, 77));
      EXPECT_EQ(read(*source, bytes.size(), 0), "");
      if (map) {
        EXPECT_EQ(std::memcmp(source->data(), bytes.data(), bytes.size()), 0);
      }
    }
  }
}

TEST(Source, ReadsADescriptorFromAnyOffset) {
  const std::string bytes = pattern(30000);
  const std::string path = write_file("archive", bytes);
  const Descriptor file(path);
  for (const bool map : {true, false}) {
    for (const uint64_t offset : {1u, 4095u, 4096u, 4097u, 20001u}) {
      const auto rest = open_descriptor(file.fd, offset, 0, map);
      EXPECT_EQ(read(*rest, 0, rest->size_bytes()), bytes.substr(offset));
      const auto part = open_descriptor(file.fd, offset, 1000, map);
      EXPECT_EQ(part->size_bytes(), 1000u);
      EXPECT_EQ(read(*part, 990, 10), bytes.substr(offset + 990, 10));
      EXPECT_EQ(error_of([&] { read(*part, 990, 11); }).status(), Status::Format);
    }
    EXPECT_EQ(error_of([&] { open_descriptor(file.fd, 30001, 0, map); }).status(), Status::Argument);
    EXPECT_EQ(error_of([&] { open_descriptor(file.fd, 1, 30000, map); }).status(), Status::Argument);
    EXPECT_EQ(error_of([&] { open_descriptor(file.fd, UINT64_MAX, UINT64_MAX, map); }).status(),
              Status::Argument);
  }
}

TEST(Source, OutlivesTheHostsDescriptorAndDoesNotMoveIt) {
  const std::string path = write_file("file", "0123456789");
  for (const bool map : {true, false}) {
    std::shared_ptr<const Source> source;
    {
      const Descriptor file(path);
      source = open_descriptor(file.fd, 2, 0, map);
      EXPECT_EQ(read(*source, 0, 3), "234");
      EXPECT_EQ(lseek(file.fd, 0, SEEK_CUR), 0);
    }
    EXPECT_EQ(read(*source, 5, 3), "789");
  }
}

TEST(Source, NamesNeedAndHaveWhenARangePassesTheEnd) {
  const std::string path = write_file("file", "0123456789");
  for (const bool map : {true, false}) {
    const auto source = open_path(path, map);
    const Error error = error_of([&] { read(*source, 7, 4); });
    EXPECT_EQ(error.status(), Status::Format);
    EXPECT_STREQ(error.what(), (path + ": truncated: need 4 bytes at offset 7, have 3").c_str());
    char byte;
    EXPECT_EQ(error_of([&] { source->read_at(UINT64_MAX, &byte, 1); }).status(), Status::Format);
    EXPECT_EQ(error_of([&] { source->read_at(1, &byte, UINT64_MAX); }).status(), Status::Format);
  }
}

TEST(Source, TakesAnEmptyFile) {
  const std::string path = write_file("empty", "");
  for (const bool map : {true, false}) {
    const auto source = open_path(path, map);
    EXPECT_EQ(source->size_bytes(), 0u);
    EXPECT_EQ(source->data() != nullptr, map);
    source->lock_memory();
    EXPECT_EQ(error_of([&] { read(*source, 0, 1); }).status(), Status::Format);
  }
}

TEST(Source, SaysWhyAFileCannotBeOpened) {
  const std::string folder = test::scratch_folder();
  const Error absent = error_of([&] { open_path(folder + "/absent", true); });
  EXPECT_EQ(absent.status(), Status::Io);
  EXPECT_NE(std::string(absent.what()).find("absent: cannot open: No such file"), std::string::npos);
  EXPECT_EQ(error_of([&] { open_path(folder, true); }).status(), Status::Unsupported);
  EXPECT_EQ(error_of([&] { open_path("", true); }).status(), Status::Io);
  EXPECT_EQ(error_of([&] { open_path("/dev/null", true); }).status(), Status::Io);
  EXPECT_EQ(error_of([&] { open_descriptor(-1, 0, 0, true); }).status(), Status::Io);
}

TEST(Source, GivesIoWhenAnUnmappedFileIsCutWhileOpen) {
  const std::string path = write_file("file", pattern(1000));
  const auto source = open_path(path, false);
  ASSERT_EQ(truncate(path.c_str(), 500), 0);
  EXPECT_EQ(error_of([&] { read(*source, 400, 200); }).status(), Status::Io);
  EXPECT_EQ(read(*source, 400, 100), pattern(1000).substr(400, 100));
}

TEST(Source, FindsSiblingsInItsOwnFolderOnly) {
  const std::string path = write_file("one", "first");
  const std::string folder = path.substr(0, path.rfind('/'));
  std::ofstream(folder + "/two") << "second";
  for (const bool map : {true, false}) {
    const auto sibling = open_path(path, map)->sibling("two");
    EXPECT_EQ(read(*sibling, 0, 6), "second");
    EXPECT_EQ(sibling->data() != nullptr, map);
  }
  const auto source = open_path(path, true);
  for (const std::string &name :
       std::vector<std::string>{"../one", "/etc/hostname", "a/b", "..", "", {"two\0x", 5}}) {
    EXPECT_EQ(error_of([&] { source->sibling(name); }).status(), Status::Format) << name;
  }
  EXPECT_EQ(error_of([&] { source->sibling("absent"); }).status(), Status::Io);
  EXPECT_EQ(error_of([&] { open_memory("x", 1)->sibling("two"); }).status(), Status::Unsupported);
  const Descriptor file(path);
  EXPECT_EQ(error_of([&] { open_descriptor(file.fd, 0, 0, true)->sibling("two"); }).status(),
            Status::Unsupported);
}

TEST(Source, BorrowsMemory) {
  const std::string bytes = pattern(100);
  const auto source = open_memory(bytes.data(), bytes.size());
  EXPECT_EQ(source->data(), reinterpret_cast<const std::byte *>(bytes.data()));
  EXPECT_EQ(read(*source, 90, 10), bytes.substr(90));
  EXPECT_EQ(error_of([&] { read(*source, 90, 11); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { open_memory(nullptr, 5); }).status(), Status::Argument);
}

struct Host {
  std::string bytes;
  int64_t most = 7;  // bytes a call
  int64_t answer_instead = 0;
  int calls = 0;
  static int64_t read_at(void *user, uint64_t offset, void *buffer, uint64_t size) {
    auto *host = static_cast<Host *>(user);
    ++host->calls;
    if (host->answer_instead != 0) return host->answer_instead;
    const uint64_t left = offset < host->bytes.size() ? host->bytes.size() - offset : 0;
    const uint64_t n = std::min({size, left, static_cast<uint64_t>(host->most)});
    std::memcpy(buffer, host->bytes.data() + offset, n);
    return static_cast<int64_t>(n);
  }
};

TEST(Source, PutsShortReadsOfTheHostTogether) {
  Host host{.bytes = pattern(1000)};
  const auto source = open_host_io(Host::read_at, &host, host.bytes.size());
  EXPECT_EQ(source->data(), nullptr);
  EXPECT_EQ(read(*source, 3, 900), host.bytes.substr(3, 900));
  EXPECT_GT(host.calls, 100);
}

TEST(Source, GivesIoWhenTheHostFailsStopsOrLies) {
  Host host{.bytes = pattern(1000)};
  const auto longer = open_host_io(Host::read_at, &host, 2000);
  EXPECT_EQ(error_of([&] { read(*longer, 0, 1500); }).status(), Status::Io);
  for (const int64_t answer : {int64_t{-1}, int64_t{11}, INT64_MAX, INT64_MIN}) {
    host.answer_instead = answer;
    EXPECT_EQ(error_of([&] { read(*longer, 0, 10); }).status(), Status::Io) << answer;
  }
  EXPECT_EQ(error_of([&] { read(*longer, 1999, 2); }).status(), Status::Format);
  EXPECT_EQ(error_of([&] { open_host_io(nullptr, nullptr, 5); }).status(), Status::Argument);
}

size_t files_in(const std::filesystem::path &folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(AtomicFile, ReplacesTheOldFileOnlyWhenCommitted) {
  const std::string path = write_file("state", "old");
  const auto folder = std::filesystem::path(path).parent_path();
  {
    AtomicFile file(path);
    file.write("new content", 11);
    EXPECT_EQ(test::read_file(path), "old");
  }
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(files_in(folder), 1u);

  AtomicFile file(path);
  file.write("new content", 11);
  file.write_at(0, "NEW", 3);
  file.write("!", 1);
  EXPECT_EQ(file.position(), 12u);
  file.commit();
  EXPECT_EQ(test::read_file(path), "NEW content!");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, PatchesOnlyWhatWasWritten) {
  AtomicFile file(test::scratch_folder() / "file");
  file.write("abc", 3);
  EXPECT_EQ(error_of([&] { file.write_at(2, "xy", 2); }).status(), Status::Internal);
  EXPECT_EQ(error_of([&] { file.write_at(UINT64_MAX, "x", 1); }).status(), Status::Internal);
}

TEST(AtomicFile, SaysWhereItCannotWrite) {
  const std::string path = test::scratch_folder() / "absent" / "file";
  const Error error = error_of([&] { AtomicFile file(path); });
  EXPECT_EQ(error.status(), Status::Io);
  EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
}

}  // namespace
}  // namespace rz
