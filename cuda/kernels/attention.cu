// Attention over KV pages. A block of four warps takes a tile: up to 16 queries, the heads that share a kv
// head in neighbouring rows of one sequence, which make up the 16 rows of the tensor cores' products. It goes
// by chunks of 256 tokens: each warp scores two of the chunk's eight pages, the block finds each query's
// maximum, the weights e^(s - maximum) meet in shared memory as halves, and each warp sums a quarter of the
// values' columns over all the tokens. Chunks are merged in order, by the block that walked them all or,
// where blocks share a row's chunks, by the last of them to finish.
//
// Bytes read: every page of K and V once a tile. With one row to a sequence that is once, and the limit is
// the memory; in a prompt the pages come from the caches, and the limit is how fast they feed the tensor
// cores.
//
// What a query gets depends on its own position alone: chunks begin at fixed positions, the sums within one
// have a fixed order in which what a query does not see is an exact zero, and a chunk of which it sees
// nothing changes no bit of what it is merged with.
#include "cuda/kernels/attention_chunk.h"
#include "cuda/launch.h"

namespace rz::cuda {

namespace {

// ---- a block takes all chunks of a tile -----------------------------------------------------------------------
template <int kDim, Type kPages>
RZ_DEVICE void attend_whole(const AttentionArgs &a, const Tile &tile, int position) {
  using A = Attender<kDim, kPages>;
  const A attender(a, tile, position);
  Softmax total[2];
  typename A::Sums totals = {};
  const int end = tile.first_chunk() + tile.chunks();
  attender.ask_for(tile.first_chunk());
  for (int chunk = tile.first_chunk(); chunk < end; ++chunk) {
    if (chunk + 1 < end) attender.ask_for(chunk + 1);
    Softmax state[2];
    typename A::Sums sums;
    attender.attend(chunk, state, sums);
    RZ_UNROLL
    for (int r = 0; r < 2; ++r) {
      const Factors f = merge(total[r], state[r]);
      RZ_UNROLL
      for (int j = 0; j < A::kTiles; ++j) {
        totals[j][2 * r] = merged(f, totals[j][2 * r], sums[j][2 * r]);
        totals[j][2 * r + 1] = merged(f, totals[j][2 * r + 1], sums[j][2 * r + 1]);
      }
    }
  }
  pdl_go();
  const float inverse[2] = {A::kUnscale / total[0].sum, A::kUnscale / total[1].sum};
  attender.each_sum(totals, [&](int r, int column, float v) {
    out_of(a, attender.query[r].number)[column] = to_half(v * inverse[r]);
  });
}

// ---- blocks share the chunks of a tile ------------------------------------------------------------------------
// States of (chunks, rows, heads): first values of value_dim each, then pairs of maximum and sum.
RZ_DEVICE size_t state_of(const AttentionArgs &a, int chunk, int query) {
  return static_cast<size_t>(chunk) * (a.rows.count * a.heads) + query;
}
RZ_DEVICE Words2 *softmax_of(const AttentionArgs &a, size_t state) {
  const size_t states = state_of(a, a.chunks, 0);
  return reinterpret_cast<Words2 *>(a.states + states * a.kv.value_dim) + state;
}

template <class A>
RZ_DEVICE void store_state(const A &attender, int chunk, const Softmax (&state)[2],
                           const typename A::Sums &sums) {
  const AttentionArgs &a = attender.a;
  size_t at[2];
  RZ_UNROLL
  for (int r = 0; r < 2; ++r) {
    const Query &query = attender.query[r];
    at[r] = state_of(a, chunk, query.number);
    if (query.last >= 0 && thread() % 4 == 0 && warp() == 0)
      *softmax_of(a, at[r]) = {as_bits(state[r].largest), as_bits(state[r].sum)};
  }
  attender.each_sum(sums, [&](int r, int column, float v) { a.states[at[r] * a.kv.value_dim + column] = v; });
}

// A thread merges four columns of a query's states, chunk by chunk, a few of which it has under way at once.
RZ_DEVICE void merge_states(const AttentionArgs &a, const Tile &tile, float unscale) {
  constexpr int kAtOnce = 4;
  const int fours = a.kv.value_dim / 4, first = tile.first_chunk(), end = first + tile.chunks();
  for (int i = thread(); i < tile.queries() * fours; i += kAttentionThreads) {
    const int in_tile = i / fours, column = i % fours * 4;
    const int query = (tile.row + in_tile / tile.heads) * a.heads + tile.head + in_tile % tile.heads;
    Softmax total;
    float v[4] = {};
    for (int chunk = first; chunk < end; chunk += kAtOnce) {
      Words4 values[kAtOnce];
      Words2 softmax[kAtOnce];
      RZ_UNROLL
      for (int c = 0; c < kAtOnce; ++c) {
        if (chunk + c >= end) continue;
        const size_t state = state_of(a, chunk + c, query);
        softmax[c] = ld_fresh(softmax_of(a, state));
        values[c] = ld_fresh(reinterpret_cast<const Words4 *>(a.states + state * a.kv.value_dim + column));
      }
      RZ_UNROLL
      for (int c = 0; c < kAtOnce; ++c) {
        if (chunk + c >= end) continue;
        const Factors f = merge(total, {as_float(softmax[c].x), as_float(softmax[c].y)});
        v[0] = merged(f, v[0], as_float(values[c].x));
        v[1] = merged(f, v[1], as_float(values[c].y));
        v[2] = merged(f, v[2], as_float(values[c].z));
        v[3] = merged(f, v[3], as_float(values[c].w));
      }
    }
    const float inverse = unscale / total.sum;
    RZ_UNROLL
    for (int e = 0; e < 4; ++e) out_of(a, query)[column + e] = to_half(v[e] * inverse);
  }
}

template <int kDim, Type kPages>
RZ_DEVICE void attend_split(const AttentionArgs &a, const Tile &tile, int position) {
  using A = Attender<kDim, kPages>;
  const int sharers = tile.chunks() < a.splits ? tile.chunks() : a.splits;
  if (block_z() >= sharers) return;
  const A attender(a, tile, position);
  attender.ask_for(tile.first_chunk() + block_z());
  for (int i = block_z(); i < tile.chunks(); i += a.splits) {
    const int chunk = tile.first_chunk() + i;
    if (i + a.splits < tile.chunks()) attender.ask_for(chunk + a.splits);
    Softmax state[2];
    typename A::Sums sums;
    attender.attend(chunk, state, sums);
    store_state(attender, chunk, state, sums);
  }
  int &arrived = A::mine().arrived;
  int *count = a.arrived + tile.row * grid_y() + block_y();
  fence();
  sync();
  if (thread() == 0) arrived = atomic_add(count, 1) + 1;
  sync();
  if (arrived != sharers) return;
  fence();
  if (thread() == 0) *count = 0;
  merge_states(a, tile, A::kUnscale);
}

// ---- kernel ---------------------------------------------------------------------------------------------------
template <int kDim, Type kPages, bool kSplit>
RZ_KERNEL(kAttentionThreads, kDim > 128 ? 2 : 3)
attention_kernel(RZ_ARGS(AttentionJob) job) {
  pdl_wait();
  // The blocks that share chunks are all under way at once: what follows may come beside them.
  if (kSplit) pdl_go();
  const int first = block_x() / job.fan * job.tile_rows, share = block_x() % job.fan;
  for (int row = first + share; row < first + job.tile_rows && row < job.a.rows.count; row += job.fan) {
    Tile tile;
    int position;
    if (!find_tile(job, row, tile, position)) continue;
    clear_rows(job.a, tile);
    if (tile.last < 0) continue;
    if constexpr (kSplit) {
      attend_split<kDim, kPages>(job.a, tile, position);
    } else {
      attend_whole<kDim, kPages>(job.a, tile, position);
    }
  }
}

template <int kDim, Type kPages>
void start(Queue &queue, const AttentionJob &job, Grid grid) {
  const bool split = job.a.splits > 1;
  launch(queue, split ? attention_kernel<kDim, kPages, true> : attention_kernel<kDim, kPages, false>,
         split ? "attention split" : "attention", grid, kAttentionThreads, sizeof(AttentionShared<kDim>),
         job);
}

template <int kDim>
void start(Queue &queue, const AttentionJob &job, Grid grid) {
  switch (job.a.kv.type) {
    case Type::Q8_0:
      return start<kDim, Type::Q8_0>(queue, job, grid);
    case Type::F8:
      return start<kDim, Type::F8>(queue, job, grid);
    default:
      return start<kDim, Type::F16>(queue, job, grid);
  }
}

AttentionJob job_of(const AttentionArgs &a) {
  const int group = a.heads / a.kv.kv_heads;
  AttentionJob job = {a, group, (group + kQueries - 1) / kQueries, group < kQueries ? kQueries / group : 1,
                      1};
  if (a.splits > 1 || a.rows.count <= kFewRows) job.fan = job.tile_rows;
  return job;
}

}  // namespace

void attention(Queue &queue, const AttentionArgs &args) {
  if (args.rows.count == 0) return;
  const AttentionJob job = job_of(args);
  const int tiles = (args.rows.count + job.tile_rows - 1) / job.tile_rows;
  const Grid grid{static_cast<uint32_t>(tiles * job.fan), static_cast<uint32_t>(args.kv.kv_heads * job.parts),
                  static_cast<uint32_t>(args.splits)};
  const int dim = args.kv.head_dim > args.kv.value_dim ? args.kv.head_dim : args.kv.value_dim;
  if (dim <= 64) {
    start<64>(queue, job, grid);
  } else if (dim <= 128) {
    start<128>(queue, job, grid);
  } else {
    start<256>(queue, job, grid);
  }
}

// Enough that four blocks, as many as it has room for, find work on every multiprocessor.
int attention_splits(const AttentionArgs &args, int multiprocessors) {
  const int tiles = args.rows.count * args.kv.kv_heads * job_of(args).parts;
  const int splits = 4 * multiprocessors / (tiles > 0 ? tiles : 1);
  return splits < 1 ? 1 : splits > args.chunks ? args.chunks : splits;
}

uint64_t attention_state_bytes(const AttentionArgs &args) {
  if (args.splits <= 1) return 0;
  const uint64_t states = static_cast<uint64_t>(args.chunks) * static_cast<uint64_t>(args.rows.count) *
                          static_cast<uint64_t>(args.heads);
  return states * (static_cast<uint64_t>(args.kv.value_dim) + 2) * sizeof(float);
}

}  // namespace rz::cuda
