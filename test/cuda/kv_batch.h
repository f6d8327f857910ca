// Sequences with pages on the device, and batches of their rows: the problem that tests of append and of
// attention share. Pages of a sequence lie anywhere in the pool, and what nobody wrote is NaN.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "cpu/kernels.h"
#include "cpu/kv_head.h"
#include "cuda/emulator/faults.h"
#include "cuda/kernels/kernels.h"

namespace rz::cuda::test {

using rz::test::exact_values;
using rz::test::random_values;

// A vector in device memory.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t n) : n_(n), memory_(0, std::max<size_t>(n, 1) * sizeof(T)) {}  // NaN all over
  explicit OnDevice(const std::vector<T> &values) : OnDevice(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }
  T *data() const { return memory_.as<T>(); }
  size_t size() const { return n_; }
  std::vector<T> values() const { return {data(), data() + n_}; }

 private:
  size_t n_;
  DeviceMemory memory_;
};

struct KvShape {
  Type type = Type::F16;
  int32_t kv_heads = 1, head_dim = 64, value_dim = 64;
};

// The pages of some sequences, of one layer between two others, and every key and value in them.
class Sequences {
 public:
  Sequences(const KvShape &shape, const std::vector<int32_t> &lengths)
      : shape_(shape), layout_(make_layout(shape)), lengths_(lengths), pages_(page_bytes(lengths)) {
    std::vector<int32_t> free(pages_.size() / layout_.page_bytes);
    std::iota(free.begin(), free.end(), 0);
    std::mt19937 random(7);
    std::shuffle(free.begin(), free.end(), random);
    for (const int32_t length : lengths) {
      first_table_.push_back(static_cast<int32_t>(tables_.size()));
      for (int32_t i = 0; i < pages_for(length); ++i) {
        tables_.push_back(free.back());
        free.pop_back();
      }
    }
    device_tables_ = std::make_unique<OnDevice<int32_t>>(tables_);
  }

  // Keys and values of all tokens, which the pages hold exactly, by the plain kernels of lib/cpu; 8-bit
  // floats, which those do not have, by their definition.
  void fill() {
    for (int32_t s = 0; s < count(); ++s) {
      for (int32_t t = 0; t < lengths_[static_cast<size_t>(s)]; ++t) {
        for (int32_t h = 0; h < shape_.kv_heads; ++h) append(s, t, h, key(s, t, h), value(s, t, h));
      }
    }
  }
  void append(int32_t s, int32_t t, int32_t h, const std::vector<float> &k, const std::vector<float> &v) {
    const cpu::Kernels &plain = *cpu::plain_kernels();
    const int32_t slot = t % rz::kPageTokens, padded = (shape_.value_dim + 15) / 16 * 16;
    if (shape_.type == Type::F8) {
      put(k, shape_.head_dim, key_page(s, t, h) + slot, rz::kPageTokens);
      put(v, padded, value_page(s, t, h) + slot * padded, 1);
      return;
    }
    plain.append_k(shape_.type, key_page(s, t, h), slot, k.data(), shape_.head_dim);
    plain.append_v(shape_.type, value_page(s, t, h), slot, v.data(), shape_.value_dim);
  }

  std::vector<float> key(int32_t s, int32_t t, int32_t h) const {
    return exact_values(shape_.type, shape_.head_dim, seed_of(s, t, h));
  }
  std::vector<float> value(int32_t s, int32_t t, int32_t h) const {
    return exact_values(shape_.type, shape_.value_dim, seed_of(s, t, h) + 1);
  }
  std::byte *key_page(int32_t s, int32_t t, int32_t h) const {
    return page_of(s, t) + layer().k_offset + layer().k_head_bytes * static_cast<uint64_t>(h);
  }
  std::byte *value_page(int32_t s, int32_t t, int32_t h) const {
    return page_of(s, t) + layer().v_offset + layer().v_head_bytes * static_cast<uint64_t>(h);
  }

  int32_t count() const { return static_cast<int32_t>(lengths_.size()); }
  const KvShape &shape() const { return shape_; }
  const KvLayout::Layer &layer() const { return layout_.layers[1]; }
  std::vector<std::byte> pages() const { return pages_.values(); }
  int32_t table_of(int32_t s) const { return first_table_[static_cast<size_t>(s)]; }
  const int32_t *tables() const { return device_tables_->data(); }
  KvPages kv() const {
    return {pages_.data(),        layout_.page_bytes,   layer().k_offset, layer().v_offset,
            layer().k_head_bytes, layer().v_head_bytes, shape_.kv_heads,  shape_.head_dim,
            shape_.value_dim,     shape_.type};
  }

 private:
  // Numbers to every `stride`-th byte; zeros up to `padded` of them.
  static void put(const std::vector<float> &x, int32_t padded, std::byte *to, int32_t stride) {
    for (size_t d = 0; d < static_cast<size_t>(padded); ++d) {
      const double v = d < x.size() ? static_cast<double>(x[d]) : 0;
      to[d * static_cast<size_t>(stride)] = std::byte{rz::test::nearest_f8(v)};
    }
  }
  static KvLayout make_layout(const KvShape &shape) {
    Plan plan;
    plan.kv = {{1, 16, 16}, {shape.kv_heads, shape.head_dim, shape.value_dim}, {2, 8, 8}};
    return KvLayout::make(plan, shape.type);
  }
  static int32_t pages_for(int32_t length) { return (length + rz::kPageTokens - 1) / rz::kPageTokens; }
  size_t page_bytes(const std::vector<int32_t> &lengths) const {
    int32_t pages = 3;  // that nobody has
    for (const int32_t length : lengths) pages += pages_for(length);
    return static_cast<size_t>(pages) * layout_.page_bytes;
  }
  static uint32_t seed_of(int32_t s, int32_t t, int32_t h) {
    return static_cast<uint32_t>((s * 10000 + t) * 32 + 2 * h);
  }
  std::byte *page_of(int32_t s, int32_t t) const {
    const auto page = static_cast<size_t>(tables_[static_cast<size_t>(table_of(s) + t / rz::kPageTokens)]);
    return pages_.data() + page * layout_.page_bytes;
  }

  KvShape shape_;
  KvLayout layout_;
  std::vector<int32_t> lengths_;
  OnDevice<std::byte> pages_;
  std::vector<int32_t> tables_, first_table_;
  std::unique_ptr<OnDevice<int32_t>> device_tables_;
};

// A row of a batch: where it stands in which sequence; position -1 = it only fills up the batch.
struct RowAt {
  int32_t sequence = 0, position = -1;
};

// The batch as kernels see it.
struct DeviceRows {
  OnDevice<int32_t> positions, table_of_row;
  const int32_t *tables;

  DeviceRows(const Sequences &sequences, const std::vector<RowAt> &rows)
      : positions(rows.size()), table_of_row(rows.size()), tables(sequences.tables()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      positions.data()[i] = rows[i].position;
      table_of_row.data()[i] = rows[i].position < 0 ? -1 : sequences.table_of(rows[i].sequence);
    }
  }
  Rows args() const {
    return {static_cast<int32_t>(positions.size()), positions.data(), table_of_row.data(), tables};
  }
};

inline std::vector<Half> halves_of(const std::vector<float> &values) {
  std::vector<Half> halves;
  for (const float v : values) halves.push_back(float_to_half(v));
  return halves;
}

}  // namespace rz::cuda::test
