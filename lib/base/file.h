// Where bytes come from and go to. A Source is read-only random access to a model file, however the host gave
// it: a path, memory, a descriptor with an offset, or the host's own read function. AtomicFile is the way
// out: the old file or the new one, never half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rz {

class Source {
 public:
  virtual ~Source() = default;
  // For messages: the path, "memory", "descriptor 5", "host io".
  virtual const std::string &name() const = 0;
  virtual uint64_t size_bytes() const = 0;
  // Fills buffer[0, size) from `offset`, or throws: Format when the range passes the end, Io when reading
  // fails.
  virtual void read_at(uint64_t offset, void *buffer, uint64_t size) const = 0;
  // The whole content in memory, or nullptr where it must be read piece by piece. Lives as long as the
  // Source.
  virtual const std::byte *data() const { return nullptr; }
  // Another file in the same folder (shards); throws Unsupported where the source has no folder.
  virtual std::shared_ptr<const Source> sibling(const std::string &file_name) const;
  // Asks the system to keep the mapped pages in RAM; throws Io where it refuses. No-op without a mapping.
  virtual void lock_memory() const {}
};

// `map` false reads with pread instead of mapping, so a file cut while open gives Io rather than a fault.
std::shared_ptr<const Source> open_path(const std::string &path, bool map);
// Borrows data[0, size).
std::shared_ptr<const Source> open_memory(const void *data, uint64_t size);
// Maps (or preads) the descriptor from `offset`, `size` bytes, 0 = to the end. Does not close it.
std::shared_ptr<const Source> open_descriptor(int fd, uint64_t offset, uint64_t size, bool map);
// Host storage: read_at returns the number of bytes read, or < 0.
using ReadAt = int64_t (*)(void *user, uint64_t offset, void *buffer, uint64_t size);
std::shared_ptr<const Source> open_host_io(ReadAt read_at, void *user, uint64_t size);

// Writes a temporary file beside `path`; commit() syncs it and renames it over `path`. Destroyed without
// commit(), it leaves nothing behind.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  void write(const void *data, uint64_t size);
  void write_at(uint64_t offset, const void *data, uint64_t size);  // patches what was written before
  uint64_t position() const { return position_; }
  void commit();

 private:
  std::string path_, temporary_path_;
  int fd_ = -1;
  uint64_t position_ = 0;
};

}  // namespace rz
