// Which matmul kernel for which matrix; and the one for floats, which no tensor core takes.
#include "cuda/kernels/matmul.h"
#include "cuda/launch.h"

namespace rz::cuda {

namespace {

// A warp computes one row of W with one row of x: lanes take every 32nd column, then meet by halves.
RZ_DEVICE float dot(const float *w, const Half *x, int cols) {
  float sum = 0;
  for (int k = lane(); k < cols; k += kWarp) sum = fma(w[k], to_float(x[k]), sum);
  for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += shfl_xor(sum, mask);
  return sum;
}

RZ_KERNEL(kMatmulThreads, 1)
matmul_floats_kernel(RZ_ARGS(MatmulArgs) a) {
  pdl_wait();
  Piece piece;
  find_tiles(a, 1, piece);
  const MatmulSegment &s = a.segments[piece.segment];
  if (a.slots) {
    if (!find_expert(a, piece)) return;
  } else {
    piece.first = block_y();
    piece.count = 1;
  }
  for (int row = piece.row_tile * kTileRows + warp();
       row < s.w.rows && row < (piece.row_tile + 1) * kTileRows; row += kStrands) {
    const size_t at = (static_cast<size_t>(piece.expert) * s.w.rows + row) * s.w.cols;
    const float *w = reinterpret_cast<const float *>(s.w.data) + at;
    const float *gate = reinterpret_cast<const float *>(s.gate.data) + at;
    for (int i = 0; i < piece.count; ++i) {
      const int n = a.slots ? a.slots[piece.first + i] : piece.first;
      const Half *x = a.x + static_cast<size_t>(a.slots ? n / a.slots_per_x : n) * a.x_stride;
      const float sum = dot(w, x, s.w.cols), gate_sum = s.gate.rows > 0 ? dot(gate, x, s.w.cols) : 0.0f;
      if (lane() == 0) finish(s, a.x_unscale, row, n, sum, gate_sum);
    }
  }
}

void matmul_floats(Queue &queue, const MatmulArgs &a, int experts) {
  const Grid grid{static_cast<uint32_t>(blocks_of(a, 1)),
                  static_cast<uint32_t>(experts > 0 ? experts : a.rows)};
  launch(queue, matmul_floats_kernel, "matmul floats", grid, kMatmulThreads, 0, a);
}

struct Functions {
  void (*matmul)(Queue &, const MatmulArgs &, int experts);
  void (*embed)(Queue &, const EmbedArgs &, int n);
};
template <class Decoder>
constexpr Functions kFor = {matmul_tiles<Decoder>, embed_tiles<Decoder>};
constexpr Functions kByFormat[] = {
    {matmul_floats, embed_floats},
    kFor<DecodeF16>,
    kFor<DecodeQ4>,
    kFor<DecodeQ8>,
    kFor<DecodeA8>,
    kFor<DecodeQ4_K>,
    kFor<DecodeQ5_K>,
    kFor<DecodeQ6_K>,
};
static_assert(sizeof kByFormat / sizeof *kByFormat == static_cast<size_t>(Format::Count));

}  // namespace

// One launch a format: q, k and v are often of two.
void matmul(Queue &queue, const MatmulArgs &args, int experts) {
  for (int format = 0; format < static_cast<int>(Format::Count); ++format) {
    MatmulArgs some = args;
    some.n_segments = 0;
    for (int s = 0; s < args.n_segments; ++s) {
      if (static_cast<int>(args.segments[s].w.format) == format)
        some.segments[some.n_segments++] = args.segments[s];
    }
    if (some.n_segments > 0) kByFormat[format].matmul(queue, some, experts);
  }
}

void embed(Queue &queue, const EmbedArgs &args, int n) {
  kByFormat[static_cast<int>(args.table.format)].embed(queue, args, n);
}

}  // namespace rz::cuda
