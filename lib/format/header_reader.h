// Reads a file's header from front to back, whether it is mapped or not. What take() hands out stays where it
// is: in the mapping, or in chunks read from the source and kept by the ModelFile, so that views can point
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/value_type.h"

namespace rz {

// How much of a name a message shows (for %.*s): at most 80 bytes, ending with a whole character.
int width(std::string_view name);

class HeaderReader {
 public:
  HeaderReader(const Source &source, std::vector<std::unique_ptr<std::string>> &chunks);

  // The next n bytes. Throws Format `<what>: truncated: need .., have ..` when the file ends before.
  const char *take(uint64_t n, std::string_view what);
  template <class T>
  T number(std::string_view what) {
    return load<T>(take(sizeof(T), what));
  }
  std::string_view string(std::string_view what);  // length (u64), then the bytes

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return size_ - position_; }
  uint64_t last() const { return last_; }  // where the bytes last asked for begin

 private:
  void fetch(uint64_t n, std::string_view what);

  const Source &source_;
  std::vector<std::unique_ptr<std::string>> &chunks_;
  const char *window_;  // bytes [window_begin_, window_end_) of the file
  uint64_t window_begin_ = 0, window_end_ = 0;
  uint64_t size_, position_ = 0, last_ = 0;
  uint64_t next_chunk_;
};

}  // namespace rz
