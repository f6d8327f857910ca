#include "engine/session_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace rz {

namespace {

constexpr char kMagic[8] = {'r', 'z', 's', 'e', 's', 's', '\r', '\n'};
constexpr uint32_t kVersion = 1;
constexpr size_t kBlock = size_t{1} << 20;  // hashed and written at once
constexpr int32_t kPagesUnderLock = 16;     // copied before a step may run again

struct Header {  // little endian, no padding
  char magic[8];
  uint32_t version, page_tokens;
  uint64_t model_low, model_high;
  uint64_t page_bytes;
  uint32_t kv_type;
  int32_t context;
  int32_t n_tokens, n_computed;  // of which the pages hold n_computed
};
static_assert(sizeof(Header) == 56);

size_t pages_of(int32_t computed) { return static_cast<size_t>((computed + kPageTokens - 1) / kPageTokens); }

Header header_for(Engine &engine) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.page_tokens = kPageTokens;
  const Hash128 model = engine.options().model_identity();
  header.model_low = model.low;
  header.model_high = model.high;
  const KvLayout &layout = engine.executor().kv_layout();
  header.page_bytes = layout.page_bytes;
  header.kv_type = static_cast<uint32_t>(layout.type);
  return header;
}

// The checksum of a file: each block's hash is the seed of the next one's, so the whole need not lie in
// memory.
class Checksum {
 public:
  Checksum() { block_.reserve(kBlock); }
  // Calls full(block) for each block that fills up.
  template <class Full>
  void add(const void *data, size_t size, Full full) {
    const auto *bytes = static_cast<const std::byte *>(data);
    while (size > 0) {
      const size_t n = std::min(size, kBlock - block_.size());
      block_.insert(block_.end(), bytes, bytes + n);
      bytes += n;
      size -= n;
      if (block_.size() == kBlock) flush(full);
    }
  }
  template <class Full>
  void flush(Full full) {
    hash_ = hash64(block_.data(), block_.size(), hash_);
    full(block_);
    block_.clear();
  }
  uint64_t value() const { return hash_; }

 private:
  std::vector<std::byte> block_;
  uint64_t hash_ = 0;
};

class Writer {
  auto to_file() {
    return [this](const std::vector<std::byte> &block) { file_.write(block.data(), block.size()); };
  }

 public:
  explicit Writer(const std::string &path) : file_(path) {}
  void write(const void *data, size_t size) { checksum_.add(data, size, to_file()); }
  void commit() {
    checksum_.flush(to_file());
    const uint64_t sum = checksum_.value();
    file_.write(&sum, sizeof sum);
    file_.commit();
  }

 private:
  AtomicFile file_;
  Checksum checksum_;
};

// Reads a file from front to back, checking the sum at its end.
class Reader {
 public:
  explicit Reader(const Source &source) : source_(source), end_(source.size_bytes() - sizeof(uint64_t)) {}
  void read(void *out, size_t size) {
    if (size > end_ - position_) damaged("expected more");
    source_.read_at(position_, out, size);
    position_ += size;
    checksum_.add(out, size, [](const auto &) {});
  }
  void skip(uint64_t size) {
    std::vector<std::byte> block(static_cast<size_t>(std::min<uint64_t>(size, kBlock)));
    for (; size > 0; size -= std::min<uint64_t>(size, block.size())) {
      read(block.data(), static_cast<size_t>(std::min<uint64_t>(size, block.size())));
    }
  }
  void finish() {
    uint64_t sum = 0;
    if (position_ != end_) damaged("expected less");
    source_.read_at(end_, &sum, sizeof sum);
    checksum_.flush([](const auto &) {});
    if (sum != checksum_.value()) damaged("checksum differs");
  }
  [[noreturn]] void damaged(const char *how) const {
    fail(Status::State, "%s: damaged session: %s (%llu bytes found)", source_.name().c_str(), how,
         static_cast<unsigned long long>(source_.size_bytes()));
  }

 private:
  const Source &source_;
  uint64_t end_, position_ = 0;
  Checksum checksum_;
};

// The header of a file whose checksum and sizes are right.
Header check_file(const Source &source, const Header &expected) {
  const char *name = source.name().c_str();
  const uint64_t size = source.size_bytes();
  if (size < sizeof(Header) + sizeof(uint64_t)) {
    fail(Status::State, "%s: damaged session: expected at least %zu bytes, found %llu", name,
         sizeof(Header) + sizeof(uint64_t), static_cast<unsigned long long>(size));
  }
  Reader reader(source);
  Header found;
  reader.read(&found, sizeof found);
  if (std::memcmp(found.magic, kMagic, sizeof kMagic) != 0) reader.damaged("no session begins like this");
  if (found.version != kVersion) {
    fail(Status::State, "%s: expected session version %u, found %u", name, kVersion, found.version);
  }
  reader.skip(size - sizeof(Header) - sizeof(uint64_t));
  reader.finish();
  if (found.model_low != expected.model_low || found.model_high != expected.model_high ||
      found.page_bytes != expected.page_bytes || found.kv_type != expected.kv_type ||
      found.page_tokens != expected.page_tokens) {
    fail(Status::State, "%s: the session was saved with another model or kv_type", name);
  }
  if (found.n_tokens < 0 || found.n_computed < 0 || found.n_computed > found.n_tokens || found.context < 1) {
    reader.damaged("impossible counts");
  }
  const uint64_t content = static_cast<uint64_t>(found.n_tokens) * sizeof(int32_t) +
                           static_cast<uint64_t>(pages_of(found.n_computed)) * found.page_bytes;
  if (size != sizeof(Header) + content + sizeof(uint64_t)) reader.damaged("size differs from what it holds");
  return found;
}

std::vector<int32_t> read_tokens(Reader &reader, const Header &header, int32_t vocab) {
  std::vector<int32_t> tokens(static_cast<size_t>(header.n_tokens));
  reader.read(tokens.data(), tokens.size() * sizeof(int32_t));
  const auto known = [&](int32_t token) { return token >= 0 && token < vocab; };
  if (!std::ranges::all_of(tokens, known)) reader.damaged("a token is not in the vocabulary");
  return tokens;
}

}  // namespace

void SessionFile::save(const Session &session, const std::string &path) {
  Engine &engine = session.engine_;
  const Timeline &timeline = session.timeline_;
  Header header = header_for(engine);
  {
    const Engine::Lock lock = engine.lock();
    session.check_free();
  }
  // The session belongs to this thread, so its pages stay; only copying them must not meet a step.
  header.context = session.context_;
  header.n_tokens = timeline.size();
  header.n_computed = timeline.computed();
  Writer writer(path);
  writer.write(&header, sizeof header);
  writer.write(timeline.tokens.data(), timeline.tokens.size() * sizeof(int32_t));
  const auto page_bytes = static_cast<size_t>(header.page_bytes);
  const size_t n_pages = pages_of(header.n_computed);
  std::vector<std::byte> copied(page_bytes * std::min<size_t>(n_pages, kPagesUnderLock));
  for (size_t first = 0; first < n_pages; first += kPagesUnderLock) {
    const size_t n = std::min<size_t>(n_pages - first, kPagesUnderLock);
    {
      const Engine::Lock lock = engine.exclusive();
      for (size_t i = 0; i < n; ++i) {
        engine.executor().read_page(timeline.kv.pages[first + i], copied.data() + i * page_bytes);
      }
    }
    writer.write(copied.data(), n * page_bytes);
  }
  writer.commit();
}

std::shared_ptr<Session> SessionFile::load(Engine &engine, const std::string &path) {
  const Header expected = header_for(engine);
  const std::shared_ptr<const Source> source = open_path(path, false);
  const Header header = check_file(*source, expected);
  const int32_t longest = engine.options().context;
  if (header.n_tokens > longest) {
    fail(Status::Context, "%s: %d tokens, the model was opened for %d", path.c_str(), header.n_tokens,
         longest);
  }
  engine.check_fits(header.n_tokens);

  auto session = std::make_shared<Session>(engine, std::min(header.context, longest));
  Timeline &timeline = session->timeline_;
  Reader reader(*source);
  Header again;
  reader.read(&again, sizeof again);
  timeline.tokens = read_tokens(reader, header, engine.options().step.vocab);
  const std::span<const int32_t> computed =
      std::span(timeline.tokens).first(static_cast<size_t>(header.n_computed));
  {
    const Engine::Lock lock = engine.lock();
    if (!engine.pool().reserve(timeline.kv, header.n_computed)) {
      fail(Status::Limit, "%s: %zu KV pages needed, %d available", path.c_str(), pages_of(header.n_computed),
           engine.pool().available());
    }
  }
  std::vector<std::byte> page(static_cast<size_t>(header.page_bytes));
  for (size_t i = 0; i < pages_of(header.n_computed); ++i) {
    reader.read(page.data(), page.size());
    const Engine::Lock lock = engine.exclusive();
    engine.executor().write_page(timeline.kv.pages[i], page.data());
  }
  reader.finish();  // the file may have changed since it was checked
  const Engine::Lock lock = engine.lock();
  engine.pool().append(timeline.kv, computed);
  return session;
}

}  // namespace rz
