// Sequences of equal length in pages of the shape that a layer of an 8B model has: 8 kv heads of 128, read by
// 32 heads. Pages of a sequence lie anywhere in memory, as the engine's pool gives them out.
#pragma once

#include <vector>

#include "cuda/bench/inputs.h"
#include "cuda/kernels/kernels.h"

namespace rz::cuda {

constexpr int32_t kBenchHeads = 32, kBenchKvHeads = 8, kBenchDim = 128;

inline int32_t pages_for(int32_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

class Timelines {
 public:
  static uint64_t page_bytes(Type type);  // F16 or Q8_0
  static uint64_t bytes(Type type, int32_t count, int32_t length);

  Timelines(Queue &queue, Type type, int32_t count, int32_t length);

  KvPages kv() const;
  // A batch of rows in the sequences from `first` on. One for each of `count` sequences, at its end:
  Rows decoding(int32_t first, int32_t count) const;
  // or all of one sequence's.
  Rows prompt(int32_t sequence) const;

 private:
  void fill_first_page(Queue &queue);

  Type type_;
  int32_t length_;
  DeviceMemory pages_;
  DeviceMemory tables_;         // (count, pages of a sequence)
  DeviceMemory table_of_row_;   // (count): where each sequence's table begins
  DeviceMemory same_table_;     // (count, length): the same, for every row of a prompt
  DeviceMemory ends_, places_;  // (count) positions at the end; (length) 0, 1, ...
};

// Rows of q, k and v as the matmul leaves them, and the angles of a rope.
struct QkvRows {
  DeviceMemory q, k, v, q_out, angles;
  QkvRows(Queue &queue, int32_t rows);
  AppendArgs append(const Rows &rows, const KvPages &kv) const;
};

}  // namespace rz::cuda
