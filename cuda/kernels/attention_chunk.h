// One chunk of tokens for one tile of queries, by the four warps of a block: each warp scores every fourth
// page, the block finds each query's maximum, the weights meet in shared memory as halves, and each warp sums
// a quarter of the values' columns over all the tokens. The order of every sum is fixed by the chunk; tokens
// that a query does not see are exact zeros in it.
#pragma once

#include "cuda/kernels/attention.h"
#include "cuda/kernels/attention_page.h"

namespace rz::cuda {

template <int kDim>
struct AttentionShared {
  Words4 q[kDim / 16][kWarp];                      // A fragments of the tile's queries
  Words4 weights[kQueries][kChunkTokens / 8 + 2];  // halves; 16 more, so that rows begin in different banks
  float maxima[kChunkPages][kQueries], sums[kChunkPages][kQueries];
  int arrived;
};

// kDim: what head_dim and value_dim are padded to.
template <int kDim, Type kPages>
struct Attender {
  static constexpr int kSteps = kDim / 16;
  static constexpr int kTiles = kDim / kAttentionWarps / 8;  // products side by side in a warp's columns
  static constexpr int kWarpPages = kChunkPages / kAttentionWarps;
  // Sums of values, and scores that are not masked yet, are to be multiplied with it.
  static constexpr float kUnscale = kPages == Type::F8 ? kF8Unscale : 1.0f;
  using Keys = KeysOf<kPages>;
  using Values = ValuesOf<kPages, kTiles>;
  using Scores = float[4][4];     // of 32 tokens, 8 t + j and 8 t + 4 + j for both of the lane's queries
  using Sums = float[kTiles][4];  // kTiles (2 t + e % 2) + j of the warp's columns, for query e / 2

  const AttentionArgs &a;
  const Tile &tile;
  Query query[2];  // of the lane: the tile's g and g + 8

  RZ_DEVICE static AttentionShared<kDim> &mine() { return shared<AttentionShared<kDim>>(); }

  // Each warp brings a quarter of the queries' fragments to shared memory.
  RZ_DEVICE Attender(const AttentionArgs &args, const Tile &of, int position) : a(args), tile(of) {
    const Half *from[2];
    RZ_UNROLL
    for (int r = 0; r < 2; ++r) {
      query[r] = query_of(a, tile, lane() / 4 + 8 * r, position);
      from[r] = a.q + static_cast<size_t>(query[r].number) * a.kv.head_dim;
    }
    for (int step = warp(); step < kSteps; step += kAttentionWarps) {
      uint32_t pairs[4];
      RZ_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int d = 16 * step + i / 2 * 8;
        const Half *at = from[i % 2] + d + lane() % 4;
        pairs[i] = query[i % 2].last >= 0 && d < a.kv.head_dim ? pair_of(at[0], at[4]) : 0;
      }
      st(&mine().q[step][lane()], {pairs[0], pairs[1], pairs[2], pairs[3]});
    }
    sync();
  }

  // A chunk's pages, numbers [first, end) of the sequence's.
  struct Pages {
    int first, end;
    RZ_DEVICE bool has(int page) const { return page >= first && page < end; }
  };
  RZ_DEVICE Pages pages_of(int chunk) const {
    const int first = chunk * kChunkPages, seen = tile.first / kPageTokens, last = tile.last / kPageTokens;
    return {seen > first ? seen : first, last < first + kChunkPages ? last + 1 : first + kChunkPages};
  }

  // Asks for a chunk's K and V: the loads that wait for each other will find them in L2.
  RZ_DEVICE void ask_for(int chunk) const {
    const Pages pages = pages_of(chunk);
    RZ_NO_UNROLL
    for (int page = pages.first + warp(); page < pages.end; page += kAttentionWarps) {
      const int at = a.rows.tables[tile.table + page];
      const std::byte *k = keys_of(a.kv, at, tile.kv_head), *v = values_of(a.kv, at, tile.kv_head);
      const int k_bytes = static_cast<int>(a.kv.k_head_bytes), v_bytes = static_cast<int>(a.kv.v_head_bytes);
      RZ_NO_UNROLL
      for (int i = lane() * 128; i < k_bytes; i += kWarp * 128) prefetch(k + i);
      RZ_NO_UNROLL
      for (int i = lane() * 128; i < v_bytes; i += kWarp * 128) prefetch(v + i);
    }
  }

  // Scaled, capped, times log2 e; minus infinity for what the query does not see.
  RZ_DEVICE void mask(int page, Scores &s) const {
    const float scale = kUnscale * (a.softcap == 0 ? a.scale * kLog2E : a.scale / a.softcap);
    const float cap = a.softcap * kLog2E;
    RZ_UNROLL
    for (int e = 0; e < 16; ++e) {
      float &v = s[e / 4][e % 4];
      v *= scale;
      if (a.softcap != 0) v = cap * tanh(v);
      const int position = page * kPageTokens + lane() % 4 * 8 + e % 2 * 4 + e / 4;
      const Query &of = query[e % 4 / 2];
      if (position < of.first || position > of.last) v = kMinusInfinity;
    }
  }

  // Scores of the warp's pages, and each page's maxima to shared memory.
  RZ_DEVICE void score_pages(const Pages &pages, int first, int where, Scores (&s)[kWarpPages]) const {
    Keys keys[kWarpPages];
    RZ_UNROLL
    for (int i = 0; i < kWarpPages; ++i) {
      const int slot = warp() + i * kAttentionWarps, at = shfl(where, slot);
      // Of a page that the chunk does not have, no row is read.
      keys[i] =
          Keys(keys_of(a.kv, at, tile.kv_head), a.kv.head_dim, pages.has(first + slot) ? a.kv.head_dim : 0);
      RZ_UNROLL
      for (int j = 0; j < 4; ++j) s[i][j][0] = s[i][j][1] = s[i][j][2] = s[i][j][3] = 0;
    }
    // Two steps at a time: the loads of more would take the registers of other blocks.
    RZ_NO_UNROLL
    for (int steps = 0; steps < kSteps; steps += 2) {
      RZ_UNROLL
      for (int step = steps; step < steps + 2; ++step) {
        const Words4 q = ld(&mine().q[step][lane()]);
        const uint32_t fragment[4] = {q.x, q.y, q.z, q.w};
        RZ_UNROLL
        for (int i = 0; i < kWarpPages; ++i) {
          Half2 b[4][2];
          keys[i].step(16 * step, b);
          RZ_UNROLL
          for (int j = 0; j < 4; ++j) mma16816(s[i][j], fragment, b[j][0], b[j][1]);
        }
      }
    }
    RZ_UNROLL
    for (int i = 0; i < kWarpPages; ++i) {
      const int slot = warp() + i * kAttentionWarps;
      mask(first + slot, s[i]);
      RZ_UNROLL
      for (int r = 0; r < 2; ++r) {
        float largest = kMinusInfinity;
        RZ_UNROLL
        for (int e = 0; e < 8; ++e) largest = maximum(largest, s[i][e / 2][2 * r + e % 2]);
        largest = maximum(largest, shfl_xor(largest, 1));
        largest = maximum(largest, shfl_xor(largest, 2));
        if (lane() % 4 == 0) mine().maxima[slot][lane() / 4 + 8 * r] = largest;
      }
    }
  }

  // Scores of the warp's pages become weights in shared memory, and their sums.
  RZ_DEVICE void weigh_pages(const Pages &pages, int first, const Softmax (&state)[2],
                             const Scores (&s)[kWarpPages]) const {
    RZ_UNROLL
    for (int i = 0; i < kWarpPages; ++i) {
      const int slot = warp() + i * kAttentionWarps;
      if (!pages.has(first + slot)) continue;
      RZ_UNROLL
      for (int r = 0; r < 2; ++r) {
        const int row = lane() / 4 + 8 * r;
        const float base = base_of(state[r].largest);
        float w[8], sum = 0;  // of tokens 8 t to 8 t + 7
        RZ_UNROLL
        for (int e = 0; e < 8; ++e) sum += w[e] = exp2(s[i][e % 4][2 * r + e / 4] - base);
        st(&mine().weights[row][slot * 4 + lane() % 4],
           {to_half2(w[0], w[1]), to_half2(w[2], w[3]), to_half2(w[4], w[5]), to_half2(w[6], w[7])});
        sum += shfl_xor(sum, 1);
        sum += shfl_xor(sum, 2);
        if (lane() % 4 == 0) mine().sums[slot][row] = sum;
      }
    }
  }

  RZ_DEVICE void add_values(const Pages &pages, int first, int where, Sums &sums) const {
    const int padded = padded16(a.kv.value_dim), g = lane() / 4, t = lane() % 4;
    RZ_NO_UNROLL
    for (int page = pages.first; page < pages.end; ++page) {
      const int slot = page - first, at = shfl(where, slot);
      const Values values(values_of(a.kv, at, tile.kv_head), padded, kTiles * (8 * warp() + g));
      const Seen seen = {tile.first - page * kPageTokens, tile.last - page * kPageTokens};
      RZ_UNROLL
      for (int half = 0; half < 2; ++half) {
        const auto weights = [&](int row) {
          return ld(reinterpret_cast<const Words2 *>(mine().weights[row]) + slot * 8 + half * 4 + t);
        };
        const Words2 low = weights(g), high = weights(g + 8);
        const uint32_t w[4] = {low.x, high.x, low.y, high.y};
        Half2 b[kTiles][2];
        values.step(16 * half, seen, b);
        RZ_UNROLL
        for (int j = 0; j < kTiles; ++j) mma16816(sums[j], w, b[j][0], b[j][1]);
      }
    }
  }

  // Softmax and weighted values of one chunk. All threads of the block take part.
  RZ_DEVICE void attend(int chunk, Softmax (&state)[2], Sums &sums) const {
    const Pages pages = pages_of(chunk);
    const int first = chunk * kChunkPages, row = lane() / 4;
    // Lane i knows where page i of the chunk lies.
    const int where = pages.has(first + lane()) ? a.rows.tables[tile.table + first + lane()] : 0;
    Scores s[kWarpPages];
    score_pages(pages, first, where, s);
    sync();
    RZ_UNROLL
    for (int r = 0; r < 2; ++r) state[r] = {};
    RZ_UNROLL
    for (int i = 0; i < 2 * kChunkPages; ++i) {
      float &largest = state[i % 2].largest;
      largest = maximum(largest, mine().maxima[i / 2][row + i % 2 * 8]);
    }
    weigh_pages(pages, first, state, s);
    sync();
    RZ_NO_UNROLL
    for (int page = pages.first; page < pages.end; ++page) {
      RZ_UNROLL
      for (int r = 0; r < 2; ++r) state[r].sum += mine().sums[page - first][row + 8 * r];
    }
    RZ_UNROLL
    for (int j = 0; j < kTiles; ++j) sums[j][0] = sums[j][1] = sums[j][2] = sums[j][3] = 0;
    if (kTiles * 8 * warp() < a.kv.value_dim) add_values(pages, first, where, sums);
  }

  // Hands out what the lane holds: store(r, column, value).
  template <class Store>
  RZ_DEVICE void each_sum(const Sums &sums, const Store &store) const {
    RZ_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (query[e / 2].last < 0) continue;
      const int column = kTiles * (8 * warp() + lane() % 4 * 2 + e % 2);
      if (column >= a.kv.value_dim) continue;
      RZ_UNROLL
      for (int j = 0; j < kTiles; ++j) store(e / 2, column + j, sums[j][e]);
    }
  }
};

}  // namespace rz::cuda
