// Who attends to what: a block's tile of queries, and the softmax that it keeps of each.
#pragma once

#include "cuda/kernels/kernels.h"
#include "cuda/simt.h"

namespace rz::cuda {

constexpr int kAttentionWarps = 4, kAttentionThreads = kAttentionWarps * kWarp;
constexpr int kQueries = 16;  // rows of an mma
constexpr int kChunkPages = kChunkTokens / kPageTokens;
constexpr float kMinusInfinity = -__builtin_inff();
constexpr float kLog2E = 1.4426950408889634f;  // e^x = 2^(x log2 e)

// How queries are packed, worked out by the host.
struct AttentionJob {
  AttentionArgs a;
  int32_t group;      // heads of a kv head
  int32_t parts;      // tiles that a group larger than a tile takes
  int32_t tile_rows;  // most rows of a tile
  int32_t fan;        // blocks that share tile_rows neighbouring rows: 1, or one a row
};

// ---- tiles ----------------------------------------------------------------------------------------------------
struct Tile {
  int row, rows;    // of the batch
  int head, heads;  // of each row
  int kv_head;
  int first, last;  // positions that any of the queries sees; last -1 = rows that fill up the batch
  int table;        // where the sequence's begins
  RZ_DEVICE int queries() const { return rows * heads; }
  RZ_DEVICE int first_chunk() const { return first / kChunkTokens; }
  RZ_DEVICE int chunks() const { return last / kChunkTokens - first_chunk() + 1; }
};

RZ_DEVICE int first_seen(const AttentionArgs &a, int position) {
  const int first = position - a.window + 1;
  return a.window != 0 && first > 0 ? first : 0;
}

// Rows make a tile where they lie in the same `tile_rows` rows of the batch and are of one sequence. False:
// no tile begins with `row`. position: that of row + lane.
RZ_DEVICE bool find_tile(const AttentionJob &job, int row, Tile &tile, int &position) {
  const AttentionArgs &a = job.a;
  const int begin = row / job.tile_rows * job.tile_rows;
  // The last lane looks at the row before; tiles have at most 16.
  const int other = lane() == kWarp - 1 ? row - 1 : row + lane();
  const bool near = other >= begin && other < begin + job.tile_rows && other < a.rows.count;
  position = near ? a.rows.positions[other] : -1;
  const int mine = a.rows.positions[row], table = a.rows.table_of_row[row];
  const bool same = near && (position < 0) == (mine < 0) && (mine < 0 || a.rows.table_of_row[other] == table);
  const uint32_t with_row = ballot(same);
  if (with_row >> (kWarp - 1)) return false;
  const int part = block_y() % job.parts, heads_left = job.group - part * kQueries;
  tile.row = row;
  tile.rows = count_bits(with_row & ~(with_row + 1));  // up to the first lane whose row is not the same
  tile.kv_head = block_y() / job.parts;
  tile.head = tile.kv_head * job.group + part * kQueries;
  tile.heads = heads_left < kQueries ? heads_left : kQueries;
  tile.first = first_seen(a, mine);
  tile.last = shfl(position, tile.rows - 1);
  tile.table = table;
  return true;
}

// Number row * heads + head of the batch's queries sees positions first to last; last -1 = there is none.
struct Query {
  int number, first, last;
};

// Number i of the tile's. All lanes take part.
RZ_DEVICE Query query_of(const AttentionArgs &a, const Tile &tile, int i, int position) {
  const int row = i / tile.heads;
  const int last = shfl(position, row < tile.rows ? row : 0);
  if (row >= tile.rows) return {0, 0, -1};
  return {(tile.row + row) * a.heads + tile.head + i % tile.heads, first_seen(a, last), last};
}

RZ_DEVICE Half *out_of(const AttentionArgs &a, int query) {
  return a.out + static_cast<size_t>(query / a.heads) * a.out_stride + query % a.heads * a.kv.value_dim;
}

// Zeros behind the heads of a row, and all of a row that only fills up the batch.
RZ_DEVICE void clear_rows(const AttentionArgs &a, const Tile &tile) {
  if (block_y() != 0 || block_z() != 0) return;
  const int from = tile.last < 0 ? 0 : a.heads * a.kv.value_dim;
  for (int row = tile.row; row < tile.row + tile.rows; ++row) {
    Half *out = out_of(a, row * a.heads);
    for (int i = from + thread(); i < a.out_stride; i += kAttentionThreads) out[i] = 0;
  }
}

// ---- a running softmax ----------------------------------------------------------------------------------------
struct Softmax {
  float largest = kMinusInfinity, sum = 0;  // of scores times log2 e
};
struct Factors {
  float before, later;
};

// What is subtracted from scores: anything but infinity where there are none.
RZ_DEVICE float base_of(float largest) { return largest == kMinusInfinity ? 0.0f : largest; }

// `total` takes in a later chunk; values are to be merged with the same factors.
RZ_DEVICE Factors merge(Softmax &total, const Softmax &later) {
  const float largest = maximum(total.largest, later.largest), base = base_of(largest);
  const Factors f = {exp2(total.largest - base), exp2(later.largest - base)};
  total = {largest, fma(total.sum, f.before, later.sum * f.later)};
  return f;
}
RZ_DEVICE float merged(const Factors &f, float before, float later) {
  return fma(before, f.before, later * f.later);
}

}  // namespace rz::cuda
