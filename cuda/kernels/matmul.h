// The loop that the matmul kernels share, and what becomes of its sums.
//
// The inner dimension is cut into eight strands, by the shape of W alone. Within a strand the tensor cores
// add up step after step, and the strands' sums are added in order. So a row's result has the same bits in a
// batch of one, of sixty-four and of a thousand rows, whichever kernel computes it.
#pragma once

#include "cuda/kernels/decode.h"
#include "cuda/kernels/kernels.h"

namespace rz::cuda {

// Which rows a block computes: of W by row tile, of x and y by number.
struct Piece {
  int segment = 0, row_tile = 0, expert = 0;
  int first = 0, count = 0;  // rows, or slots in the order of their experts
};

// `group` row tiles make a block; blocks count through the segments.
RZ_DEVICE void find_tiles(const MatmulArgs &a, int group, Piece &piece) {
  int block = block_x();
  RZ_NO_UNROLL
  for (int s = 0; s < a.n_segments; ++s) {
    const int blocks = (a.segments[s].w.row_tiles + group - 1) / group;
    if (block < blocks) {
      piece.segment = s;
      piece.row_tile = block * group;
      return;
    }
    block -= blocks;
  }
}

// False: this block has nothing to do.
RZ_DEVICE bool find_expert(const MatmulArgs &a, Piece &piece) {
  piece.expert = a.active[block_y()];
  if (piece.expert < 0) return false;
  piece.first = a.expert_first[piece.expert];
  piece.count = a.expert_first[piece.expert + 1] - piece.first;
  return true;
}

// Steps of 64 columns [first, last) that make up strand `i` of a matrix.
struct Strand {
  int first, last;
};
RZ_DEVICE Strand strand_of(int steps, int i) { return {steps * i / kStrands, steps * (i + 1) / kStrands}; }

RZ_DEVICE bool is_gated(const MatmulArgs &a) { return a.segments[0].gate.rows > 0; }

// acc[m][n] += row tile m times x rows, over the steps of a strand. Without a gate, the MT row tiles are
// neighbours in W; with one, the first half of them is in W and the second in the gate, both for the same
// rows of y. x[n]: the lane's row of n-tile n, or null. What is kept of weights ahead of their use is kAhead
// steps; begin() asks for those and may be called before the kernel ahead has ended.
template <class Decoder, int MT, int kAhead>
struct Stream {
  using Tile = typename Decoder::Tile;
  Decoder ring[kAhead][MT];
  const Tile *tiles[MT];  // a row of tiles each; null past the last one
  int at, last;

  RZ_DEVICE void begin(const MatmulSegment &s, bool gated, int expert, int row_tile, Strand strand) {
    const int of_w = gated ? MT / 2 : MT;
    RZ_UNROLL
    for (int m = 0; m < MT; ++m) {
      const Tiles &w = m < of_w ? s.w : s.gate;
      const int row = row_tile + (m < of_w ? m : m - of_w);
      tiles[m] = row < w.row_tiles ? reinterpret_cast<const Tile *>(w.data) +
                                         (static_cast<size_t>(expert) * w.row_tiles + row) * w.col_tiles
                                   : nullptr;
    }
    at = strand.first;
    last = strand.last;
    RZ_UNROLL
    for (int i = 0; i < kAhead; ++i) fill(i, at + i);
  }

  RZ_DEVICE void fill(int slot, int step) {
    if (step >= last) return;
    RZ_UNROLL
    for (int m = 0; m < MT; ++m) {
      if (tiles[m]) ring[slot][m].load(tiles[m][step / Tile::kSteps], step % Tile::kSteps, lane());
    }
  }

  template <int NT>
  RZ_DEVICE void run(const Half *const (&x)[NT], float (&acc)[MT][NT][4]) {
    RZ_NO_UNROLL
    for (; at < last; at += kAhead) {
      RZ_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        if (at + i < last) one(i, at + i, x, acc);
      }
    }
  }

  template <int NT>
  RZ_DEVICE void one(int slot, int step, const Half *const (&x)[NT], float (&acc)[MT][NT][4]) {
    Words4 b[NT][2] = {};
    RZ_UNROLL
    for (int n = 0; n < NT; ++n) {
      if (x[n]) {
        const auto *from = reinterpret_cast<const Words4 *>(x[n] + step * kStepCols);
        b[n][0] = ld(from);
        b[n][1] = ld(from + 1);
      }
    }
    RZ_UNROLL
    for (int m = 0; m < MT; ++m) {
      Fragment a[4];
      ring[slot][m].step(a);
      RZ_UNROLL
      for (int n = 0; n < NT; ++n) {
        mma16816(acc[m][n], a[0], b[n][0].x, b[n][0].y);
        mma16816(acc[m][n], a[1], b[n][0].z, b[n][0].w);
        mma16816(acc[m][n], a[2], b[n][1].x, b[n][1].y);
        mma16816(acc[m][n], a[3], b[n][1].z, b[n][1].w);
      }
    }
    fill(slot, step + kAhead);
  }
};

RZ_DEVICE float activate(Act act, float v) {
  if (act == Act::Silu) return v / (1 + exp(-v));
  constexpr float kSqrt2OverPi = 0.7978845608f;
  return 0.5f * v * (1 + tanh(kSqrt2OverPi * fma(0.044715f * v * v, v, v)));
}

// `sum` and `gate` are of row `m` of the matrix and row `n` of y.
RZ_DEVICE void finish(const MatmulSegment &s, float x_unscale, int m, int n, float sum, float gate) {
  const size_t at = static_cast<size_t>(n) * s.y_stride + m;
  float v = sum * (s.w.unscale * x_unscale);
  if (s.bias) v += s.bias[m];
  if (s.finish == Finish::Activate) {
    float h;
    if (s.gate.rows > 0) {
      float u = gate * (s.gate.unscale * x_unscale);
      if (s.gate_bias) u += s.gate_bias[m];
      h = activate(s.act, u) * v;
    } else {
      h = activate(s.act, v);
    }
    static_cast<Half *>(s.y)[at] = to_half(h * kHiddenScale);
    return;
  }
  v *= s.scale;
  float *y = static_cast<float *>(s.y) + at;
  if (s.finish == Finish::Add) {
    *y += v;
  } else {
    *y = s.softcap == 0 ? v : s.softcap * tanh(v / s.softcap);
  }
}

inline int blocks_of(const MatmulArgs &a, int group) {
  int blocks = 0;
  for (int s = 0; s < a.n_segments; ++s) blocks += (a.segments[s].w.row_tiles + group - 1) / group;
  return blocks;
}

// What matmul_tiles.cu has for a format. Instantiated there, in one object a format.
template <class Decoder>
void matmul_tiles(Queue &queue, const MatmulArgs &args, int experts);
template <class Decoder>
void embed_tiles(Queue &queue, const EmbedArgs &args, int n);

}  // namespace rz::cuda
