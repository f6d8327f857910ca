// Kernels that work on one row at a time. Each does its sums in an order that depends on the row's length
// alone.
#include "cpu/kernels/rows.h"

#include "cpu/kernels/simd.h"

namespace rz::cpu::RZ_ISA {

namespace {

// Quantizes `n` (a multiple of 32) values to 127 steps of their largest magnitude; returns the scale.
float quantize_group(const float *x, int64_t n, int8_t *codes) {
  Floats largest = zeros(), poison = zeros();  // poison: 0, or NaN where a value is NaN or infinite
  for (int64_t i = 0; i < n; i += 16) {
    const Floats v = load(x + i);
    largest = max(largest, abs(v));
    poison = fma(v, zeros(), poison);
  }
  const float amax = maximum(largest);
  const Floats inverse = splat(amax > 0 ? 127.0f / amax : 0.0f);
  for (int64_t i = 0; i < n; i += 16) store_int8(codes + i, to_ints(mul(load(x + i), inverse)));
  return amax / 127.0f + sum(poison);
}

int16_t sum_codes(const int8_t *codes, int64_t n) {
  Floats total = zeros();  // small integers: exact
  for (int64_t i = 0; i < n; i += 16) total = add(total, load_int8(codes + i));
  return static_cast<int16_t>(sum(total));
}

void quantize_blocks(const float *x, int64_t n, int8_t *codes, float *scales, int16_t *sums) {
  for (int64_t i = 0; i < n; i += 32) {
    scales[i / 32] = quantize_group(x + i, 32, codes + i);
    sums[i / 32] = sum_codes(codes + i, 32);
  }
  if (n % 64 != 0) std::memset(codes + n, 0, 32);
}

void quantize_super(const float *x, int64_t n, int8_t *codes, float *scales, int16_t *sums) {
  for (int64_t i = 0; i < n; i += 256) {
    scales[i / 256] = quantize_group(x + i, 256, codes + i);
    for (int64_t j = i; j < i + 256; j += 16) sums[j / 16] = sum_codes(codes + j, 16);
  }
}

void norm(const Norm &norm, const float *x, float *y, int64_t n) {
  Floats total = zeros();
  float mean = 0;
  if (norm.kind == NormKind::Layer) {
    for (int64_t i = 0; i < n; i += 16) total = add(total, load_some(x + i, n - i));
    mean = sum(total) / static_cast<float>(n);
    total = zeros();
  }
  for (int64_t i = 0; i < n; i += 16) {
    // The lanes past the end must not count the mean's square.
    Floats v = load_some(x + i, n - i);
    if (norm.kind == NormKind::Layer) {
      float centred[16] = {};
      store_some(centred, sub(v, splat(mean)), n - i);
      v = load(centred);
    }
    total = fma(v, v, total);
  }
  const float scale = 1.0f / __builtin_sqrtf(sum(total) / static_cast<float>(n) + norm.eps);
  for (int64_t i = 0; i < n; i += 16) {
    Floats v = mul(sub(load_some(x + i, n - i), splat(mean)), splat(scale));
    v = mul(v, load_some(norm.weight.data + i, n - i));
    if (norm.bias) v = add(v, load_some(norm.bias.data + i, n - i));
    store_some(y + i, v, n - i);
  }
}

void rope(RopeStyle style, float *x, const float *cos, const float *sin, int64_t dims) {
  const int64_t half = dims / 2;
  if (style == RopeStyle::Adjacent) {
    for (int64_t i = 0; i < half; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = a * cos[i] - b * sin[i];
      x[2 * i + 1] = a * sin[i] + b * cos[i];
    }
    return;
  }
  for (int64_t i = 0; i < half; i += 16) {
    const Floats a = load_some(x + i, half - i), b = load_some(x + half + i, half - i);
    const Floats c = load_some(cos + i, half - i), s = load_some(sin + i, half - i);
    store_some(x + i, sub(mul(a, c), mul(b, s)), half - i);
    store_some(x + half + i, add(mul(a, s), mul(b, c)), half - i);
  }
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
Floats gelu_tanh(Floats x) {
  const Floats inner = mul(splat(0.79788456080286535588f), fma(mul(splat(0.044715f), mul(x, x)), x, x));
  return mul(mul(splat(0.5f), x), add(splat(1.0f), tanh(inner)));
}

void activate(Activation act, const float *gate, const float *up, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const Floats g = load_some(gate + i, n - i);
    Floats a = act == Activation::Silu ? mul(g, sigmoid(g)) : gelu_tanh(g);
    if (up) a = mul(a, load_some(up + i, n - i));
    store_some(out + i, a, n - i);
  }
}

void add_row(float *x, const float *y, float scale, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    store_some(x + i, fma(load_some(y + i, n - i), splat(scale), load_some(x + i, n - i)), n - i);
  }
}

void softcap(float *x, float cap, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    store_some(x + i, mul(splat(cap), tanh(div(load_some(x + i, n - i), splat(cap)))), n - i);
  }
}

void softmax(float *x, int64_t n) {
  float largest = x[0];
  for (int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  float total = 0;
  for (int64_t i = 0; i < n; i += 16) {
    store_some(x + i, exp(sub(load_some(x + i, n - i), splat(largest))), n - i);
  }
  for (int64_t i = 0; i < n; ++i) total += x[i];
  for (int64_t i = 0; i < n; ++i) x[i] /= total;
}

}  // namespace

void fill_rows(Kernels &table) {
  table.quantize_blocks = quantize_blocks;
  table.quantize_super = quantize_super;
  table.norm = norm;
  table.rope = rope;
  table.activate = activate;
  table.add = add_row;
  table.softcap = softcap;
  table.softmax = softmax;
}

}  // namespace rz::cpu::RZ_ISA
