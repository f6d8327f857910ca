// Written from the description of the formats, not from the decoders: the two must agree.
#include "quant/block_layout.h"

#include <cstring>

#include "quant/blocks.h"
#include "quant/half.h"

namespace rz::test {
namespace {

void put(uint8_t *block, int byte, int shift, int bits) {
  block[byte] = static_cast<uint8_t>(block[byte] | bits << shift);
}

float f(int i) { return static_cast<float>(i); }

// Blocks of 32: `Low` is the byte where the nibbles start, `High` where the fifth bits do.
template <int Low>
void nibble(uint8_t *b, int i, int q) {
  put(b, Low + i % 16, i < 16 ? 0 : 4, q & 15);
}
template <int Low, int High>
void five(uint8_t *b, int i, int q) {
  nibble<Low>(b, i, q);
  put(b, High + i / 8, i % 8, q >> 4);
}

void byte_code(uint8_t *b, int i, int q) { b[2 + i] = static_cast<uint8_t>(q - 128); }

void q2_k(uint8_t *b, int i, int q) { put(b, 16 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, q); }
void q3_k(uint8_t *b, int i, int q) {
  put(b, 32 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, q & 3);
  put(b, i % 32, i / 32, q >> 2);
}
void q4_k(uint8_t *b, int i, int q) { put(b, 16 + i / 64 * 32 + i % 32, i % 64 / 32 * 4, q); }
void q5_k(uint8_t *b, int i, int q) {
  put(b, 48 + i / 64 * 32 + i % 32, i % 64 / 32 * 4, q & 15);
  put(b, 16 + i % 32, i / 32, q >> 4);
}
void q6_k(uint8_t *b, int i, int q) {
  put(b, i / 128 * 64 + i % 64, i % 128 / 64 * 4, q & 15);
  put(b, 128 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, q >> 4);
}
void iq4_xs(uint8_t *b, int i, int q) { put(b, 8 + i / 32 * 16 + i % 16, i % 32 / 16 * 4, q); }

void q2_k_scale(uint8_t *b, int s, int v) { put(b, s, 0, v); }
void q2_k_min(uint8_t *b, int s, int v) { put(b, s, 4, v); }
void q3_k_scale(uint8_t *b, int s, int v) {
  put(b, 96 + s % 8, s < 8 ? 0 : 4, v & 15);
  put(b, 104 + s % 4, s / 4 * 2, v >> 4);
}
void q45_k_scale(uint8_t *b, int s, int v) {
  if (s < 4) return put(b, 4 + s, 0, v);
  put(b, 12 + s - 4, 0, v & 15);
  put(b, 4 + s - 4, 6, v >> 4);
}
void q45_k_min(uint8_t *b, int s, int v) {
  if (s < 4) return put(b, 8 + s, 0, v);
  put(b, 12 + s - 4, 4, v & 15);
  put(b, 8 + s - 4, 6, v >> 4);
}
void q6_k_scale(uint8_t *b, int s, int v) { b[192 + s] = static_cast<uint8_t>(v - 128); }
void iq4_xs_scale(uint8_t *b, int s, int v) {
  put(b, 4 + s / 2, s % 2 * 4, v & 15);
  put(b, 2 + s / 4, s % 4 * 2, v >> 4);
}

// Values; unused arguments have no name.
template <int Bias>
float biased(float d, float, int, int, int q) {
  return d * f(q - Bias);
}
float with_minimum(float d, float m, int, int, int q) { return d * f(q) + m; }
float booked(float d, float, int, int, int q) { return d * f(kIq4Values[q]); }
float line(float d, float dmin, int scale, int min, int q) { return (d * f(scale)) * f(q) - dmin * f(min); }
template <int ScaleBias, int Bias>
float scaled(float d, float, int scale, int, int q) {
  return (d * f(scale - ScaleBias)) * f(q - Bias);
}
float booked_xs(float d, float, int scale, int, int q) { return (d * f(scale - 32)) * f(kIq4Values[q]); }

constexpr BlockLayout kLayouts[] = {
    {Type::Q4_0, 32, 16, 0, 0, 0, 0, -1, nibble<2>, nullptr, nullptr, biased<8>},
    {Type::Q4_1, 32, 16, 0, 0, 0, 0, 2, nibble<4>, nullptr, nullptr, with_minimum},
    {Type::Q5_0, 32, 32, 0, 0, 0, 0, -1, five<6, 2>, nullptr, nullptr, biased<16>},
    {Type::Q5_1, 32, 32, 0, 0, 0, 0, 2, five<8, 4>, nullptr, nullptr, with_minimum},
    {Type::Q8_0, 32, 256, 0, 0, 0, 0, -1, byte_code, nullptr, nullptr, biased<128>},
    {Type::Q2_K, 256, 4, 16, 16, 16, 80, 82, q2_k, q2_k_scale, q2_k_min, line},
    {Type::Q3_K, 256, 8, 16, 64, 0, 108, -1, q3_k, q3_k_scale, nullptr, scaled<32, 4>},
    {Type::Q4_K, 256, 16, 8, 64, 64, 0, 2, q4_k, q45_k_scale, q45_k_min, line},
    {Type::Q5_K, 256, 32, 8, 64, 64, 0, 2, q5_k, q45_k_scale, q45_k_min, line},
    {Type::Q6_K, 256, 64, 16, 256, 0, 208, -1, q6_k, q6_k_scale, nullptr, scaled<128, 32>},
    {Type::IQ4_NL, 32, 16, 0, 0, 0, 0, -1, nibble<2>, nullptr, nullptr, booked},
    {Type::IQ4_XS, 256, 16, 8, 64, 0, 0, -1, iq4_xs, iq4_xs_scale, nullptr, booked_xs},
};

}  // namespace

std::span<const BlockLayout> block_layouts() { return kLayouts; }

BlockParts BlockLayout::empty_parts() const {
  BlockParts p;
  p.d = half_to_float(float_to_half(0.1f));
  p.dmin = half_to_float(float_to_half(0.3f));
  for (int s = 0; s < subs; ++s) {
    p.scales.push_back((s * 11 + 5) % scale_levels);
    if (min_levels) p.mins.push_back((s * 7 + 9) % min_levels);
  }
  p.codes.assign(static_cast<size_t>(weights), 0);
  return p;
}

std::vector<uint8_t> BlockLayout::pack(const BlockParts &parts) const {
  std::vector<uint8_t> block(traits(type).block_bytes);
  const Half d = float_to_half(parts.d), dmin = float_to_half(parts.dmin);
  std::memcpy(block.data() + d_at, &d, 2);
  if (dmin_at >= 0) std::memcpy(block.data() + dmin_at, &dmin, 2);
  for (int s = 0; s < subs; ++s) {
    put_scale(block.data(), s, parts.scales[static_cast<size_t>(s)]);
    if (put_min) put_min(block.data(), s, parts.mins[static_cast<size_t>(s)]);
  }
  for (int i = 0; i < weights; ++i) put_code(block.data(), i, parts.codes[static_cast<size_t>(i)]);
  return block;
}

std::vector<float> BlockLayout::expected(const BlockParts &parts) const {
  std::vector<float> out;
  for (int i = 0; i < weights; ++i) {
    const size_t sub = subs ? static_cast<size_t>(i / (weights / subs)) : 0;
    const int scale = subs ? parts.scales[sub] : 0, min = put_min ? parts.mins[sub] : 0;
    out.push_back(value(parts.d, parts.dmin, scale, min, parts.codes[static_cast<size_t>(i)]));
  }
  return out;
}

}  // namespace rz::test
