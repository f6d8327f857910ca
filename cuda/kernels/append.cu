// q, k and v of a batch on their way from a matmul to attention, and the angles that turn them. A warp takes
// one head of one row: lanes hold every 32nd element, which are the elements of one scale of q8_0. Every
// number is read and written once, but for partners of a rotation; what limits is the write of keys, two
// bytes a token 64 bytes apart (or one 32 apart), for the pages keep keys transposed. Sums go as lib/cpu's,
// so that both backends fill pages with the same numbers.
#include "cuda/kernels/kv.h"
#include "cuda/launch.h"
#include "quant/f8.h"

namespace rz::cuda {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarp;

// In double precision: positions times frequencies lose digits in float.
RZ_KERNEL(kThreads, 1)
rope_angles_kernel(RZ_ARGS(RopeAnglesArgs) a) {
  pdl_wait();
  pdl_go();
  const int row = block_x(), i = block_y() * kThreads + thread();
  if (i >= a.pairs) return;
  const double angle = a.positions[row] * a.frequencies[i], magnitude = static_cast<double>(a.magnitude);
  float *out = a.angles + static_cast<size_t>(row) * a.stride;
  out[i] = static_cast<float>(cos(angle) * magnitude);
  out[a.pairs + i] = static_cast<float>(sin(angle) * magnitude);
}

// What a norm makes of x: (x - mean) * scale * weight + bias.
struct Normed {
  const float *x;
  const HeadNorm &norm;
  float mean, scale;

  // Sixteen sums of every 16th element, then those by halves: both halves of the warp do the same.
  RZ_DEVICE static float sum(const float *x, int n, float mean, bool squares) {
    float total = 0;
    for (int d = lane() % 16; d < n; d += 16) {
      const float v = x[d] - mean;
      total = squares ? fma(v, v, total) : total + v;
    }
    for (int mask = 8; mask > 0; mask /= 2) total += shfl_xor(total, mask);
    return total;
  }

  RZ_DEVICE Normed(const float *from, const HeadNorm &how, int n) : x(from), norm(how), mean(0), scale(1) {
    if (!norm.weight) return;
    const float count = static_cast<float>(n);
    if (norm.layer) mean = sum(x, n, 0, false) / count;
    scale = rsqrt(sum(x, n, mean, true) / count + norm.eps);
  }

  RZ_DEVICE float operator()(int d) const {
    if (!norm.weight) return x[d];
    const float v = (x[d] - mean) * scale * norm.weight[d];
    return norm.bias ? v + norm.bias[d] : v;
  }
};

// A head of q or k after norm and rotation.
struct Turned {
  Normed normed;
  const float *cos, *sin;  // (dims / 2)
  int dims;
  Turn turn;

  RZ_DEVICE float operator()(int d) const {
    if (turn == Turn::None || d >= dims) return normed(d);
    const int pairs = dims / 2;
    const bool adjacent = turn == Turn::Adjacent, second = adjacent ? d % 2 == 1 : d >= pairs;
    const int i = adjacent ? d / 2 : d % pairs;
    const float x = normed(adjacent ? 2 * i : i), y = normed(adjacent ? 2 * i + 1 : i + pairs);
    return second ? x * sin[i] + y * cos[i] : x * cos[i] - y * sin[i];
  }
};

struct Code {
  Half scale;
  int8_t code;
};

// Of the warp's 32 values, one a lane. The scale is NaN where one of them is no number.
RZ_DEVICE Code encode(float x) {
  float largest = absolute(x);
  for (int mask = kWarp / 2; mask > 0; mask /= 2) largest = maximum(largest, shfl_xor(largest, mask));
  const bool bad = ballot(!(absolute(x) < as_float(0x7f800000u))) != 0;
  const Half scale = bad ? Half{0x7e00} : to_half(largest / 127.0f);
  const float step = to_float(scale), inverse = step > 0 ? 1.0f / step : 0.0f;
  const float code = round_even(x * inverse);
  return {scale, static_cast<int8_t>(code > -128.0f ? (code < 127.0f ? code : 127.0f) : -128.0f)};
}

RZ_DEVICE void round_to(Half &to, float v) { to = to_half(v); }
RZ_DEVICE void round_to(F8 &to, float v) { to = float_to_f8(v); }

// A head of `dim` elements goes to a token's place: element d lies at d * stride, a group's scale at group *
// scale_stride. What lies between dim and `padded` is zero.
template <class Values, class Number>
RZ_DEVICE void store_head(const Values &values, int dim, int padded, Number *to, int stride) {
  for (int d = lane(); d < padded; d += kWarp)
    round_to(to[static_cast<size_t>(d) * stride], d < dim ? values(d) : 0.0f);
}
template <class Values>
RZ_DEVICE void encode_head(const Values &values, int dim, int padded, Half *scales, int scale_stride,
                           int8_t *codes, int stride) {
  for (int first = 0; first < dim; first += kGroup) {
    const int d = first + lane();
    const Code code = encode(d < dim ? values(d) : 0.0f);
    if (lane() == 0) scales[first / kGroup * scale_stride] = code.scale;
    if (d < padded) codes[static_cast<size_t>(d) * stride] = code.code;
  }
}

template <class Values>
RZ_DEVICE void append_key(const KvPages &kv, const Values &key, int page, int slot, int head) {
  std::byte *to = keys_of(kv, page, head);
  if (kv.type == Type::Q8_0) {
    encode_head(key, kv.head_dim, kv.head_dim, reinterpret_cast<Half *>(to) + slot, kPageTokens,
                reinterpret_cast<int8_t *>(to + scale_bytes(kv.head_dim)) + slot, kPageTokens);
  } else if (kv.type == Type::F8) {
    store_head(key, kv.head_dim, kv.head_dim, reinterpret_cast<F8 *>(to) + slot, kPageTokens);
  } else {
    store_head(key, kv.head_dim, kv.head_dim, reinterpret_cast<Half *>(to) + slot, kPageTokens);
  }
}

RZ_DEVICE void append_value(const KvPages &kv, const float *v, int page, int slot, int head) {
  const auto value = [v](int d) { return v[d]; };
  const int padded = padded16(kv.value_dim);
  std::byte *to = values_of(kv, page, head);
  if (kv.type == Type::Q8_0) {
    encode_head(value, kv.value_dim, padded, reinterpret_cast<Half *>(to) + slot * groups_of(padded), 1,
                reinterpret_cast<int8_t *>(to + scale_bytes(padded)) + slot * padded, 1);
  } else if (kv.type == Type::F8) {
    store_head(value, kv.value_dim, padded, reinterpret_cast<F8 *>(to) + slot * padded, 1);
  } else {
    store_head(value, kv.value_dim, padded, reinterpret_cast<Half *>(to) + slot * padded, 1);
  }
}

RZ_KERNEL(kThreads, 4)
append_kernel(RZ_ARGS(AppendArgs) a) {
  pdl_wait();
  pdl_go();
  const size_t row = static_cast<size_t>(block_x());
  const int position = a.rows.positions[row];
  int head = block_y() * kWarps + warp();
  if (position < 0 || head >= a.heads + 2 * a.kv.kv_heads) return;
  const int dim = a.kv.head_dim, slot = position % kPageTokens;
  const float *cos = a.angles + row * a.angle_stride, *sin = cos + a.dims / 2;
  if (head < a.heads) {
    const size_t at = (row * a.heads + head) * dim;
    const Turned q{Normed(a.q + at, a.q_norm, dim), cos, sin, a.dims, a.turn};
    store_head(q, dim, dim, a.q_out + at, 1);
    return;
  }
  const int page = a.rows.tables[a.rows.table_of_row[row] + position / kPageTokens];
  head -= a.heads;
  if (head < a.kv.kv_heads) {
    const float *k = a.k + (row * a.kv.kv_heads + head) * dim;
    append_key(a.kv, Turned{Normed(k, a.k_norm, dim), cos, sin, a.dims, a.turn}, page, slot, head);
    return;
  }
  head -= a.kv.kv_heads;
  append_value(a.kv, a.v + (row * a.kv.kv_heads + head) * a.kv.value_dim, page, slot, head);
}

}  // namespace

void rope_angles(Queue &queue, const RopeAnglesArgs &args) {
  if (args.rows == 0 || args.pairs == 0) return;
  const Grid grid{static_cast<uint32_t>(args.rows),
                  static_cast<uint32_t>((args.pairs + kThreads - 1) / kThreads)};
  launch(queue, rope_angles_kernel, "rope angles", grid, kThreads, 0, args);
}

void append(Queue &queue, const AppendArgs &args) {
  if (args.rows.count == 0) return;
  const int heads = args.heads + 2 * args.kv.kv_heads;
  const Grid grid{static_cast<uint32_t>(args.rows.count),
                  static_cast<uint32_t>((heads + kWarps - 1) / kWarps)};
  launch(queue, append_kernel, "append", grid, kThreads, 0, args);
}

}  // namespace rz::cuda
