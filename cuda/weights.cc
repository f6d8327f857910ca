#include "cuda/weights.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cuda/kernels/kernels.h"
#include "model/plan_weights.h"

namespace rz::cuda {

namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Tiles shape_of(const Matrix &m) {
  return make_tiles(format_of(m), static_cast<int32_t>(m.rows), static_cast<int32_t>(m.cols));
}

uint64_t device_bytes(const Matrix &m) {
  return aligned(static_cast<uint64_t>(m.experts) * bytes_of(shape_of(m)));
}
uint64_t device_bytes(const Vector &v) { return aligned(static_cast<uint64_t>(v.size) * sizeof(float)); }

}  // namespace

Format format_of(const Matrix &matrix) {
  const Format format = format_of(matrix.type);
  if (format == Format::Count) {
    fail(Status::Unsupported, "%.*s: the CUDA device has no format for %s",
         static_cast<int>(matrix.name.size()), matrix.name.data(), traits(matrix.type).name);
  }
  return format;
}

// A matrix may share its first byte with a longer one that it is the beginning of.
DeviceWeights::Key DeviceWeights::key_of(const Matrix &m) { return {m.data, m.rows}; }
DeviceWeights::Key DeviceWeights::key_of(const Vector &v) { return {v.data, v.size}; }

uint64_t DeviceWeights::bytes(const Plan &plan) {
  uint64_t total = 0;
  MatrixSet seen;
  for_each_weight(
      plan,
      [&](const Matrix &m) {
        if (seen.add(m)) total += device_bytes(m);
      },
      [&](const Vector &v) { total += device_bytes(v); });
  return total;
}

DeviceWeights::DeviceWeights(Queue &queue, const Plan &plan, const Progress &progress) {
  uint64_t total = 0, file_bytes = 0, largest_tile = 0;
  for_each_weight(
      plan,
      [&](const Matrix &m) {
        if (!at_.emplace(key_of(m), total).second) return;
        total += device_bytes(m);
        file_bytes += m.bytes();
        largest_tile = std::max(largest_tile, kTileRows * m.row_bytes());
      },
      [&](const Vector &v) {
        if (at_.emplace(key_of(v), total).second) total += device_bytes(v);
      });
  memory_ = DeviceMemory(queue.device(), total);
  const uint64_t staging_bytes = std::max(largest_tile, std::min(kStagingBytes, file_bytes));
  for (Staging &s : staging_) {
    s.host = HostMemory(staging_bytes);
    s.device = DeviceMemory(queue.device(), staging_bytes);
    s.used = queue.make_mark();
  }
  std::map<Key, bool> copied;
  uint64_t done = 0;
  for_each_weight(
      plan,
      [&](const Matrix &m) {
        if (!copied.emplace(key_of(m), true).second) return;
        copy_matrix(queue, m, memory_.data() + at_.at(key_of(m)), [&](uint64_t bytes) {
          done += bytes;
          progress(static_cast<float>(static_cast<double>(done) / static_cast<double>(file_bytes)));
        });
      },
      [&](const Vector &v) {
        if (!copied.emplace(key_of(v), true).second) return;
        queue.copy_in(memory_.data() + at_.at(key_of(v)), v.data,
                      static_cast<uint64_t>(v.size) * sizeof(float));
      });
  queue.wait();
  for (Staging &s : staging_) s = {};
}

template <class OnCopied>
void DeviceWeights::copy_matrix(Queue &queue, const Matrix &m, std::byte *out, OnCopied on_copied) {
  const Tiles tiles = shape_of(m);
  const uint64_t row_bytes = m.row_bytes(), tile_rows = kTileRows;
  const auto rows = static_cast<uint64_t>(m.rows);
  const uint64_t rows_at_once = staging_[0].host.size_bytes() / (tile_rows * row_bytes) * tile_rows;
  for (uint64_t expert = 0; expert < static_cast<uint64_t>(m.experts); ++expert) {
    for (uint64_t first = 0; first < rows; first += rows_at_once) {
      const uint64_t count = std::min(rows_at_once, rows - first), bytes = count * row_bytes;
      Staging &staging = staging_[turn_++ % kStagings];
      if (staging.in_use) queue.wait_for(*staging.used);
      std::memcpy(staging.host.as<std::byte>(), m.data + (expert * rows + first) * row_bytes, bytes);
      if (tiles.format == Format::F32) {
        queue.copy_in(out + (expert * rows + first) * row_bytes, staging.host.as<std::byte>(), bytes);
      } else {
        queue.copy_in(staging.device.data(), staging.host.as<std::byte>(), bytes);
        const uint64_t row_tile = first / tile_rows,
                       row_tile_bytes = bytes_of(tiles) / static_cast<uint64_t>(tiles.row_tiles);
        PackArgs args;
        args.from = m.type;
        args.in = staging.device.data();
        args.rows = static_cast<int32_t>(count);
        args.to = tiles;
        args.out = out + expert * bytes_of(tiles) + row_tile * row_tile_bytes;
        args.row_tiles = static_cast<int32_t>((count + tile_rows - 1) / tile_rows);
        pack(queue, args);
      }
      queue.reach(*staging.used);
      staging.in_use = true;
      on_copied(bytes);
    }
  }
}

Tiles DeviceWeights::tiles(const Matrix &matrix) const {
  if (!matrix) return {};
  Tiles tiles = shape_of(matrix);
  tiles.data = memory_.data() + at_.at(key_of(matrix));
  return tiles;
}

const float *DeviceWeights::floats(const Vector &vector) const {
  return vector ? memory_.as<float>(at_.at(key_of(vector))) : nullptr;
}

}  // namespace rz::cuda
