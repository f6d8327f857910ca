#include "format/gguf_shards.h"

#include <cinttypes>
#include <cstdio>
#include <optional>

#include "base/error.h"

namespace rz {

namespace {

constexpr int64_t kMostShards = 1024;  // a terabyte in files of a gigabyte
constexpr const char *kCountKey = "split.count", *kNumberKey = "split.no",
                     *kTensorsKey = "split.tensors.count";

struct ShardName {
  std::string prefix;
  int number, count;  // number from 1
};

// Takes NAME-00001-of-00003.gguf apart.
std::optional<ShardName> parse_shard_name(const std::string &name) {
  constexpr std::string_view kPattern = "-#####-of-#####.gguf";
  if (name.size() < kPattern.size()) return std::nullopt;
  const std::string tail = name.substr(name.size() - kPattern.size());
  for (size_t i = 0; i < tail.size(); ++i) {
    const bool fits = kPattern[i] == '#' ? tail[i] >= '0' && tail[i] <= '9' : tail[i] == kPattern[i];
    if (!fits) return std::nullopt;
  }
  return ShardName{name.substr(0, name.size() - tail.size()), std::stoi(tail.substr(1, 5)),
                   std::stoi(tail.substr(10, 5))};
}

std::string shard_name(const std::string &prefix, int64_t number, int64_t count) {
  char tail[64];
  std::snprintf(tail, sizeof tail, "-%05" PRId64 "-of-%05" PRId64 ".gguf", number, count);
  return prefix + tail;
}

void read_siblings(ModelFile &file, int64_t n_shards) {
  const std::string name = base_name(file.sources[0]->name());
  const std::optional<ShardName> parsed = parse_shard_name(name);
  if (parsed && (parsed->number != 1 || parsed->count != n_shards)) {
    fail(Status::Format, "%s: expected shard 1 of %" PRId64 " by its metadata, found %d of %d by its name",
         name.c_str(), n_shards, parsed->number, parsed->count);
  }
  for (int64_t i = 1; i < n_shards; ++i) {
    const std::string sibling = shard_name(parsed ? parsed->prefix : name, i + 1, n_shards);
    Metadata metadata;
    read_gguf_shard(file, file.sources[0]->sibling(sibling), metadata);
    const int64_t number = metadata.integer(kNumberKey, 0, kMostShards);
    const int64_t count = metadata.integer(kCountKey, 0, kMostShards);
    if (number == i && count == n_shards) continue;
    fail(Status::Format, "%s: expected split.no %" PRId64 " of %" PRId64 ", found %" PRId64 " of %" PRId64,
         sibling.c_str(), i, n_shards, number, count);
  }
}

}  // namespace

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

std::unique_ptr<ModelFile> open_gguf(std::shared_ptr<const Source> source) {
  auto file = std::make_unique<ModelFile>();
  Metadata &metadata = file->metadata;
  read_gguf_shard(*file, std::move(source), metadata);
  const int64_t n_shards = metadata.integer_or(kCountKey, 1, kMostShards, 1);
  const int64_t number = metadata.integer_or(kNumberKey, 0, kMostShards, 0);
  if (number != 0) {
    fail(Status::Format, "split.no: expected 0, the first shard, found %" PRId64, number);
  }
  if (n_shards > 1) read_siblings(*file, n_shards);
  const auto n_tensors = static_cast<int64_t>(file->tensors.size());
  const int64_t announced = metadata.integer_or(kTensorsKey, 0, INT32_MAX, n_tensors);
  if (announced != n_tensors) {
    fail(Status::Format, "split.tensors.count: expected %" PRId64 ", found %" PRId64 " tensors", announced,
         n_tensors);
  }
  file->index_tensors();
  return file;
}

}  // namespace rz
