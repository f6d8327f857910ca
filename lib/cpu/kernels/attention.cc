// Attention over KV pages with a running softmax. Keys lie transposed in their page, (head_dim, 32 tokens),
// so that the scores of 32 tokens grow side by side with no sums across lanes; values lie as (32 tokens,
// value_dim). Up to four queries share each load. A query's numbers depend on its own pages alone, walked in
// order.
#include "cpu/kernels/attention.h"

#include "cpu/kernels/kv_page.h"

namespace rz::cpu::RZ_ISA {

namespace {

constexpr float kMinusInfinity = -__builtin_inff();
float scalar_exp(float x) {
  float lanes[16];
  store(lanes, exp(splat(x)));
  return lanes[0];
}

// scores[j][0, 32) = q_j . k_t
template <int N>
void scores_f16(const std::byte *page, const std::byte *next, const float *const *q, int32_t head_dim,
                float (*scores)[kPageTokens]) {
  const uint16_t *k = reinterpret_cast<const uint16_t *>(page);
  Floats low[N], high[N];
  for (int j = 0; j < N; ++j) low[j] = high[j] = zeros();
  for (int32_t d = 0; d < head_dim; ++d, k += kPageTokens) {
    const Floats k0 = load_half(k), k1 = load_half(k + 16);
    prefetch(next + d * kPageTokens * 2);
    for (int j = 0; j < N; ++j) {
      const Floats qd = splat(q[j][d]);
      low[j] = fma(k0, qd, low[j]);
      high[j] = fma(k1, qd, high[j]);
    }
  }
  for (int j = 0; j < N; ++j) {
    store(scores[j], low[j]);
    store(scores[j] + 16, high[j]);
  }
}

template <int N>
void scores_q8(const std::byte *page, const std::byte *next, const float *const *q, int32_t head_dim,
               float (*scores)[kPageTokens]) {
  const Q8Page k(page, head_dim);
  Floats low[N], high[N];
  for (int j = 0; j < N; ++j) low[j] = high[j] = zeros();
  for (int32_t d0 = 0; d0 < head_dim; d0 += kGroup) {
    Floats group_low[N], group_high[N];
    for (int j = 0; j < N; ++j) group_low[j] = group_high[j] = zeros();
    const int32_t end = d0 + kGroup < head_dim ? d0 + kGroup : head_dim;
    for (int32_t d = d0; d < end; ++d) {
      if (d % 2 == 0) prefetch(next + d * kPageTokens);
      const Floats k0 = load_int8(k.codes + d * kPageTokens), k1 = load_int8(k.codes + d * kPageTokens + 16);
      for (int j = 0; j < N; ++j) {
        const Floats qd = splat(q[j][d]);
        group_low[j] = fma(k0, qd, group_low[j]);
        group_high[j] = fma(k1, qd, group_high[j]);
      }
    }
    const uint16_t *scale = k.scales + d0 / kGroup * kPageTokens;
    for (int j = 0; j < N; ++j) {
      low[j] = fma(group_low[j], load_half(scale), low[j]);
      high[j] = fma(group_high[j], load_half(scale + 16), high[j]);
    }
  }
  for (int j = 0; j < N; ++j) {
    store(scores[j], low[j]);
    store(scores[j] + 16, high[j]);
  }
}

// acc_j[d, d + 16 V) = acc_j * correction_j + sum over tokens [t0, t1) of weight_j[t] value(t, d)
template <int N, int V, class Load>
RZ_INLINE void add_values(const Load &value, float (*weight)[kPageTokens], const float *correction,
                          int32_t t0, int32_t t1, int32_t d, float *const *acc) {
  Floats a[N][V];
  for (int j = 0; j < N; ++j) {
    for (int v = 0; v < V; ++v) a[j][v] = mul(load(acc[j] + d + 16 * v), splat(correction[j]));
  }
  for (int32_t t = t0; t < t1; ++t) {
    Floats values[V];
    for (int v = 0; v < V; ++v) values[v] = value(t, d + 16 * v);
    for (int j = 0; j < N; ++j) {
      const Floats w = splat(weight[j][t]);
      for (int v = 0; v < V; ++v) a[j][v] = fma(values[v], w, a[j][v]);
    }
  }
  for (int j = 0; j < N; ++j) {
    for (int v = 0; v < V; ++v) store(acc[j] + d + 16 * v, a[j][v]);
  }
}

template <int N>
void add_values_f16(const std::byte *page, const std::byte *next, float (*p)[kPageTokens],
                    const float *correction, int32_t t0, int32_t t1, int32_t dim, float *const *acc) {
  const uint16_t *v = reinterpret_cast<const uint16_t *>(page);
  const auto value = [=](int32_t t, int32_t d) {
    if (d % 32 == 0) prefetch(next + (t * dim + d) * 2);
    return load_half(v + t * dim + d);
  };
  int32_t d = 0;
  for (; d + 32 <= dim; d += 32) add_values<N, 2>(value, p, correction, t0, t1, d, acc);
  if (d < dim) add_values<N, 1>(value, p, correction, t0, t1, d, acc);
}

template <int N>
void add_values_q8(const std::byte *page, const std::byte *next, float (*p)[kPageTokens],
                   const float *correction, int32_t t0, int32_t t1, int32_t dim, float *const *acc) {
  const Q8Page v(page, dim);
  const int32_t groups = groups_of(dim);
  const int8_t *codes = v.codes;
  const auto value = [=](int32_t t, int32_t d) {
    if (d % 64 == 0) prefetch(next + t * dim + d);
    return load_int8(codes + t * dim + d);
  };
  for (int32_t g = 0; g < groups; ++g) {
    float weight[N][kPageTokens];  // p times the scale of the token's group
    uint16_t scales[kPageTokens];
    for (int32_t t = 0; t < kPageTokens; ++t) scales[t] = v.scales[t * groups + g];
    for (int32_t t = 0; t < kPageTokens; t += 16) {
      for (int j = 0; j < N; ++j) store(weight[j] + t, mul(load(p[j] + t), load_half(scales + t)));
    }
    const int32_t d = g * kGroup;
    if (d + kGroup <= dim) {
      add_values<N, 2>(value, weight, correction, t0, t1, d, acc);
    } else {
      add_values<N, 1>(value, weight, correction, t0, t1, d, acc);
    }
  }
}

// The scores of a page become probabilities relative to the largest score that the query has seen, which is
// returned.
RZ_INLINE float soften(const AttnChunk &chunk, const AttnQuery &query, int32_t position, float *scores) {
  Floats s0 = mul(load(scores), splat(chunk.scale)), s1 = mul(load(scores + 16), splat(chunk.scale));
  if (chunk.softcap != 0) {
    const Floats cap = splat(chunk.softcap);
    s0 = mul(cap, tanh(div(s0, cap)));
    s1 = mul(cap, tanh(div(s1, cap)));
  }
  if (query.first > position || query.last < position + kPageTokens - 1) {
    store(scores, s0);
    store(scores + 16, s1);
    for (int32_t t = 0; t < query.first - position && t < kPageTokens; ++t) scores[t] = kMinusInfinity;
    for (int32_t t = query.last - position + 1; t < kPageTokens; ++t) scores[t < 0 ? 0 : t] = kMinusInfinity;
    s0 = load(scores);
    s1 = load(scores + 16);
  }
  const float page_maximum = maximum(max(s0, s1));
  const float largest = query.state[0] > page_maximum ? query.state[0] : page_maximum;
  if (largest == kMinusInfinity) {  // sees nothing of this page nor of those before
    store(scores, zeros());
    store(scores + 16, zeros());
    return largest;
  }
  store(scores, exp(sub(s0, splat(largest))));
  store(scores + 16, exp(sub(s1, splat(largest))));
  return largest;
}

// The same for N queries; correction: what their older sums are multiplied by.
template <int N>
RZ_INLINE void soften_all(const AttnChunk &chunk, const AttnQuery *queries, int32_t position,
                          float (*scores)[kPageTokens], float *correction) {
  float step[16] = {};  // from the new maximum to the old one, at most 0
  for (int j = 0; j < N; ++j) {
    const float largest = soften(chunk, queries[j], position, scores[j]);
    if (largest != kMinusInfinity) step[j] = queries[j].state[0] - largest;
    queries[j].state[0] = largest;
  }
  store(correction, exp(load(step)));
  for (int j = 0; j < N; ++j) {
    const float total = sum(add(load(scores[j]), load(scores[j] + 16)));
    queries[j].state[1] = queries[j].state[1] * correction[j] + total;
  }
}

template <int N>
void attend_page(const AttnChunk &chunk, const AttnQuery *queries, int32_t page, int32_t value_stride) {
  const int32_t position = chunk.first_position + page * kPageTokens;
  const float *q[N];
  float *acc[N];
  float scores[N][kPageTokens], correction[16];
  int32_t t0 = kPageTokens, t1 = 0;  // tokens that any of the queries sees
  for (int j = 0; j < N; ++j) {
    q[j] = queries[j].q;
    acc[j] = queries[j].state + kStateHeader;
    const int32_t first = queries[j].first - position, end = queries[j].last - position + 1;
    t0 = first < t0 ? first : t0;
    t1 = end > t1 ? end : t1;
  }
  t0 = t0 < 0 ? 0 : t0;
  t1 = t1 > kPageTokens ? kPageTokens : t1;
  if (t0 >= t1) return;
  const int32_t next = page + 1 < chunk.pages ? page + 1 : page;
  const bool f16 = chunk.type == Type::F16;
  (f16 ? scores_f16<N> : scores_q8<N>)(chunk.k_pages[page], chunk.k_pages[next], q, chunk.head_dim, scores);
  soften_all<N>(chunk, queries, position, scores, correction);
  (f16 ? add_values_f16<N> : add_values_q8<N>)(chunk.v_pages[page], chunk.v_pages[next], scores, correction,
                                               t0, t1, value_stride, acc);
}

// Queries from `i` on by tiles of N, the rest by tiles of half the size.
template <int N>
void attend_tiles(const AttnChunk &chunk, int32_t i, int32_t page, int32_t value_stride) {
  for (; i + N <= chunk.n_queries; i += N) attend_page<N>(chunk, chunk.queries + i, page, value_stride);
  if constexpr (N > 1) attend_tiles<N / 2>(chunk, i, page, value_stride);
}

void attend(const AttnChunk &chunk) {
  const int32_t value_stride = padded16(chunk.value_dim);
  for (int32_t i = 0; i < chunk.n_queries; ++i) {
    float *state = chunk.queries[i].state;
    std::memset(state, 0, static_cast<size_t>(kStateHeader + value_stride) * sizeof(float));
    state[0] = kMinusInfinity;
  }
  for (int32_t page = 0; page < chunk.pages; ++page) attend_tiles<kQueryTile>(chunk, 0, page, value_stride);
}

void merge(float *state, const float *later, int32_t value_dim) {
  const float largest = state[0] > later[0] ? state[0] : later[0];
  if (largest == kMinusInfinity) return;
  const Floats a = splat(scalar_exp(state[0] - largest)), b = splat(scalar_exp(later[0] - largest));
  float total[16];
  store(total, fma(splat(state[1]), a, mul(splat(later[1]), b)));
  state[0] = largest;
  state[1] = total[0];
  for (int32_t d = kStateHeader; d < kStateHeader + padded16(value_dim); d += 16) {
    store(state + d, fma(load(state + d), a, mul(load(later + d), b)));
  }
}

void finish(const float *state, float *out, int32_t value_dim) {
  const Floats inverse = splat(1.0f / state[1]);
  for (int32_t d = 0; d < value_dim; d += 16) {
    store_some(out + d, mul(load(state + kStateHeader + d), inverse), value_dim - d);
  }
}

}  // namespace

void fill_attention(Kernels &table) {
  table.attend = attend;
  table.merge = merge;
  table.finish = finish;
}

}  // namespace rz::cpu::RZ_ISA
