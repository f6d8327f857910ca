#include "format/header_reader.h"

#include <algorithm>
#include <cinttypes>

#include "base/error.h"
#include "base/utf8.h"

namespace rz {

namespace {
constexpr uint64_t kFirstChunk = 64 << 10;   // the header of a model without a large vocabulary
constexpr uint64_t kLargestChunk = 4 << 20;  // what may be read in vain past the header's end
// A source may claim any size, so what is read into memory at once has a bound of its own.
constexpr uint64_t kLargestItem = 1 << 30;
}  // namespace

int width(std::string_view name) { return static_cast<int>(utf8_complete_prefix(name.substr(0, 80))); }

HeaderReader::HeaderReader(const Source &source, std::vector<std::unique_ptr<std::string>> &chunks)
    : source_(source),
      chunks_(chunks),
      window_(reinterpret_cast<const char *>(source.data())),
      window_end_(source.data() ? source.size_bytes() : 0),
      size_(source.size_bytes()),
      next_chunk_(kFirstChunk) {}

const char *HeaderReader::take(uint64_t n, std::string_view what) {
  last_ = position_;
  if (n > remaining()) {
    fail(Status::Format, "%.*s: truncated: need %" PRIu64 " bytes, have %" PRIu64, width(what), what.data(),
         n, remaining());
  }
  if (n > window_end_ - position_) fetch(n, what);
  const char *bytes = window_ + (position_ - window_begin_);
  position_ += n;
  return bytes;
}

std::string_view HeaderReader::string(std::string_view what) {
  const auto length = number<uint64_t>(what);
  return {take(length, what), length};
}

// Opens a new window that begins at the position: what is left of the old one, then bytes of the source.
void HeaderReader::fetch(uint64_t n, std::string_view what) {
  if (n > kLargestItem) {
    fail(Status::Limit, "%.*s: expected at most %" PRIu64 " bytes, found %" PRIu64, width(what), what.data(),
         kLargestItem, n);
  }
  auto chunk = std::make_unique<std::string>(std::min(remaining(), std::max(n, next_chunk_)), '\0');
  const uint64_t left = window_end_ - position_;
  if (left > 0) std::copy_n(window_ + (position_ - window_begin_), left, chunk->data());
  source_.read_at(window_end_, chunk->data() + left, chunk->size() - left);
  window_ = chunk->data();
  window_begin_ = position_;
  window_end_ = position_ + chunk->size();
  next_chunk_ = std::min(next_chunk_ * 2, kLargestChunk);
  chunks_.push_back(std::move(chunk));
}

}  // namespace rz
