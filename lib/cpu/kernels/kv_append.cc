// Keys and values on their way into a page: rounded to halves or to codes, keys transposed.
#include "cpu/kernels/attention.h"
#include "cpu/kernels/kv_page.h"

namespace rz::cpu::RZ_ISA {

namespace {

uint16_t half_of(float x) {
  uint16_t lanes[16];
  store_half(lanes, splat(x));
  return lanes[0];
}

float float_of(uint16_t h) {
  uint16_t padded[16] = {h};
  float lanes[16];
  store(lanes, load_half(padded));
  return lanes[0];
}

// Codes of up to 32 values and their scale, as it will be read back: NaN where one of them is no number.
uint16_t quantize_group(const float *x, int32_t n, int8_t *codes) {
  float padded[kGroup] = {};
  std::memcpy(padded, x, static_cast<size_t>(n) * sizeof(float));
  const Floats a = load(padded), b = load(padded + 16);
  const float poison = sum(fma(a, zeros(), mul(b, zeros())));  // 0, or NaN where a value is NaN or infinite
  const uint16_t scale = half_of(maximum(max(abs(a), abs(b))) / 127.0f + poison);
  const float step = float_of(scale);
  const Floats inverse = splat(step > 0 ? 1.0f / step : 0.0f);
  store_int8(codes, to_ints(mul(a, inverse)));
  store_int8(codes + 16, to_ints(mul(b, inverse)));
  return scale;
}

void append_k(Type type, std::byte *page, int32_t slot, const float *k, int32_t head_dim) {
  if (type == Type::F16) {
    uint16_t *out = reinterpret_cast<uint16_t *>(page);
    for (int32_t d = 0; d < head_dim; d += 16) {
      uint16_t halves[16];
      store_half(halves, load_some(k + d, head_dim - d));
      for (int32_t i = 0; i < 16 && d + i < head_dim; ++i) out[(d + i) * kPageTokens + slot] = halves[i];
    }
    return;
  }
  const Q8Page out(page, head_dim);
  for (int32_t d = 0; d < head_dim; d += kGroup) {
    int8_t codes[kGroup];
    const int32_t n = head_dim - d < kGroup ? head_dim - d : kGroup;
    out.scales[d / kGroup * kPageTokens + slot] = quantize_group(k + d, n, codes);
    for (int32_t i = 0; i < n; ++i) out.codes[(d + i) * kPageTokens + slot] = codes[i];
  }
}

void append_v(Type type, std::byte *page, int32_t slot, const float *v, int32_t value_dim) {
  const int32_t stride = padded16(value_dim);
  if (type == Type::F16) {
    uint16_t *out = reinterpret_cast<uint16_t *>(page) + slot * stride;
    for (int32_t d = 0; d < value_dim; d += 16) store_half(out + d, load_some(v + d, value_dim - d));
    return;
  }
  const Q8Page out(page, stride);
  for (int32_t d = 0; d < value_dim; d += kGroup) {
    int8_t codes[kGroup];
    const int32_t n = value_dim - d < kGroup ? value_dim - d : kGroup;
    out.scales[slot * groups_of(stride) + d / kGroup] = quantize_group(v + d, n, codes);
    std::memcpy(out.codes + slot * stride + d, codes, static_cast<size_t>(padded16(n)));
  }
}

}  // namespace

void fill_append(Kernels &table) {
  table.append_k = append_k;
  table.append_v = append_v;
}

}  // namespace rz::cpu::RZ_ISA
