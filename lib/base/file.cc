#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/checked.h"

namespace rz {

namespace {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_errno(const std::string &name, const char *doing) {
  const int error = errno;
  fail(Status::Io, "%s: cannot %s: %s", name.c_str(), doing, std::generic_category().message(error).c_str());
}

void check_range(const Source &source, uint64_t offset, uint64_t size) {
  const uint64_t have = offset <= source.size_bytes() ? source.size_bytes() - offset : 0;
  if (size <= have) return;
  fail(Status::Format, "%s: truncated: need %" PRIu64 " bytes at offset %" PRIu64 ", have %" PRIu64,
       source.name().c_str(), size, offset, have);
}

std::string folder_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// What every file that the system opens shares: its name, its size, and how to find its siblings.
class SystemSource : public Source {
 public:
  SystemSource(std::string name, uint64_t size, bool is_path, bool map)
      : name_(std::move(name)), size_(size), is_path_(is_path), map_(map) {}
  const std::string &name() const override { return name_; }
  uint64_t size_bytes() const override { return size_; }
  std::shared_ptr<const Source> sibling(const std::string &file_name) const override {
    if (!is_path_) return Source::sibling(file_name);
    const bool leaves_folder = file_name.find('/') != std::string::npos || file_name == "..";
    if (leaves_folder || file_name.empty() || file_name.find('\0') != std::string::npos) {
      fail(Status::Format, "%s: expected the name of a file beside it, found \"%s\"", name_.c_str(),
           file_name.c_str());
    }
    return open_path(folder_of(name_) + file_name, map_);
  }

 private:
  std::string name_;
  uint64_t size_;
  bool is_path_, map_;
};

// Bytes [begin, begin + size) of a file, mapped privately; the descriptor is not needed any more.
class MappedSource final : public SystemSource {
 public:
  MappedSource(std::string name, int fd, uint64_t begin, uint64_t size, bool is_path)
      : SystemSource(std::move(name), size, is_path, true) {
    if (size == 0) return;
    // A mapping starts on a page, the bytes asked for may not.
    const uint64_t before = begin % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    length_ = checked_cast<size_t>(size + before, "file size");
    base_ = mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(begin - before));
    if (base_ == MAP_FAILED) fail_errno(this->name(), "map");
    data_ = static_cast<const std::byte *>(base_) + before;
  }
  ~MappedSource() override {
    if (length_ > 0) munmap(base_, length_);
  }
  MappedSource(const MappedSource &) = delete;
  MappedSource &operator=(const MappedSource &) = delete;

  void read_at(uint64_t offset, void *buffer, uint64_t size) const override {
    check_range(*this, offset, size);
    if (size > 0) std::memcpy(buffer, data_ + offset, size);
  }
  const std::byte *data() const override { return data_; }
  void lock_memory() const override {
    if (length_ > 0 && mlock(base_, length_) != 0) fail_errno(name(), "lock in memory");
  }

 private:
  static constexpr std::byte kEmpty{};  // an empty file is mapped too: zero bytes, from here
  void *base_ = nullptr;
  size_t length_ = 0;
  const std::byte *data_ = &kEmpty;
};

class PreadSource final : public SystemSource {
 public:
  PreadSource(std::string name, Descriptor fd, uint64_t begin, uint64_t size, bool is_path)
      : SystemSource(std::move(name), size, is_path, false), fd_(std::move(fd)), begin_(begin) {}

  void read_at(uint64_t offset, void *buffer, uint64_t size) const override {
    check_range(*this, offset, size);
    auto *to = static_cast<std::byte *>(buffer);
    while (size > 0) {
      const ssize_t n = pread(fd_.get(), to, size, static_cast<off_t>(begin_ + offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno(name(), "read");
      if (n == 0) {
        fail(Status::Io, "%s: cut while open: expected %" PRIu64 " more bytes at offset %" PRIu64,
             name().c_str(), size, offset);
      }
      to += n;
      offset += static_cast<uint64_t>(n);
      size -= static_cast<uint64_t>(n);
    }
  }

 private:
  Descriptor fd_;
  uint64_t begin_;
};

class MemorySource final : public Source {
 public:
  MemorySource(const void *data, uint64_t size) : data_(static_cast<const std::byte *>(data)), size_(size) {}
  const std::string &name() const override { return name_; }
  uint64_t size_bytes() const override { return size_; }
  void read_at(uint64_t offset, void *buffer, uint64_t size) const override {
    check_range(*this, offset, size);
    if (size > 0) std::memcpy(buffer, data_ + offset, size);
  }
  const std::byte *data() const override { return data_; }

 private:
  const std::string name_ = "memory";
  const std::byte *data_;
  uint64_t size_;
};

class HostSource final : public Source {
 public:
  HostSource(ReadAt read_at, void *user, uint64_t size) : read_at_(read_at), user_(user), size_(size) {}
  const std::string &name() const override { return name_; }
  uint64_t size_bytes() const override { return size_; }
  void read_at(uint64_t offset, void *buffer, uint64_t size) const override {
    check_range(*this, offset, size);
    auto *to = static_cast<std::byte *>(buffer);
    while (size > 0) {
      const int64_t n = read_at_(user_, offset, to, size);
      if (n <= 0 || static_cast<uint64_t>(n) > size) {
        fail(Status::Io,
             "host io: read_at: expected 1 to %" PRIu64 " bytes from offset %" PRIu64 ", found %" PRId64,
             size, offset, n);
      }
      to += n;
      offset += static_cast<uint64_t>(n);
      size -= static_cast<uint64_t>(n);
    }
  }

 private:
  const std::string name_ = "host io";
  ReadAt read_at_;
  void *user_;
  uint64_t size_;
};

uint64_t regular_file_size(int fd, const std::string &name) {
  struct stat status;
  if (fstat(fd, &status) != 0) fail_errno(name, "open");
  if (S_ISDIR(status.st_mode)) fail(Status::Unsupported, "%s: expected a file, found a folder", name.c_str());
  if (!S_ISREG(status.st_mode)) fail(Status::Io, "%s: expected a regular file", name.c_str());
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

std::shared_ptr<const Source> Source::sibling(const std::string &file_name) const {
  fail(Status::Unsupported, "%s: has no folder to find \"%s\" in; open the model by its path", name().c_str(),
       file_name.c_str());
}

std::shared_ptr<const Source> open_path(const std::string &path, bool map) {
  // Not blocking: a pipe by that name is refused below instead of being waited for.
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) fail_errno(path, "open");
  const uint64_t size = regular_file_size(fd.get(), path);
  if (map) return std::make_shared<MappedSource>(path, fd.get(), 0, size, true);
  return std::make_shared<PreadSource>(path, std::move(fd), 0, size, true);
}

std::shared_ptr<const Source> open_memory(const void *data, uint64_t size) {
  if (!data) fail(Status::Argument, "memory: expected an address, found NULL");
  return std::make_shared<MemorySource>(data, size);
}

std::shared_ptr<const Source> open_descriptor(int fd, uint64_t offset, uint64_t size, bool map) {
  std::string name = "descriptor " + std::to_string(fd);
  const uint64_t file_size = regular_file_size(fd, name);
  if (offset > file_size || size > file_size - offset) {
    fail(Status::Argument, "%s: expected %" PRIu64 " bytes from offset %" PRIu64 ", found a file of %" PRIu64,
         name.c_str(), size, offset, file_size);
  }
  const uint64_t length = size == 0 ? file_size - offset : size;
  if (map) return std::make_shared<MappedSource>(std::move(name), fd, offset, length, false);
  // A copy of our own, so that the host may close its descriptor, as it may with a mapping.
  Descriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) fail_errno(name, "duplicate");
  return std::make_shared<PreadSource>(std::move(name), std::move(copy), offset, length, false);
}

std::shared_ptr<const Source> open_host_io(ReadAt read_at, void *user, uint64_t size) {
  if (!read_at) fail(Status::Argument, "host io: expected a read_at function, found NULL");
  return std::make_shared<HostSource>(read_at, user, size);
}

AtomicFile::AtomicFile(const std::string &path) : path_(path) {
  static std::atomic<uint32_t> counter;
  // O_EXCL makes the name ours; one left by a killed process is passed over. Permissions follow the umask.
  for (int tries = 0; tries < 100 && fd_ < 0; ++tries) {
    temporary_path_ = path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
    fd_ = open(temporary_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail_errno(path_, "create a file beside it");
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void AtomicFile::write(const void *data, uint64_t size) {
  position_ += size;
  write_at(position_ - size, data, size);
}

void AtomicFile::write_at(uint64_t offset, const void *data, uint64_t size) {
  if (offset > position_ || size > position_ - offset) {
    fail(Status::Internal,
         "%s: write of %" PRIu64 " bytes at %" PRIu64 " passes the %" PRIu64 " written before", path_.c_str(),
         size, offset, position_);
  }
  const auto *from = static_cast<const std::byte *>(data);
  while (size > 0) {
    const ssize_t n = pwrite(fd_, from, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(path_, "write");
    from += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<uint64_t>(n);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail_errno(path_, "sync");
  if (close(std::exchange(fd_, -1)) != 0) fail_errno(path_, "close");
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) fail_errno(path_, "replace");
  temporary_path_.clear();
  // The new name lasts through a power cut once its folder is synced; not every file system can do that.
  const std::string folder = folder_of(path_);
  const Descriptor opened(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) fsync(opened.get());
}

}  // namespace rz
