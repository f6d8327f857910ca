// The functions behind the traits table: decode and encode of every format. Others reach them through
// traits(). Decoders compute each weight with the float operations of blocks.h, in that order. Encoders
// choose the codes and scales; they are deterministic and throw Numeric for NaN, infinity and weights past
// what the scales can reach.
#pragma once

#include <cstdint>

namespace rz {

void decode_f32(const void *blocks, float *weights, int64_t n);
void decode_f16(const void *blocks, float *weights, int64_t n);
void decode_bf16(const void *blocks, float *weights, int64_t n);
void decode_q4_0(const void *blocks, float *weights, int64_t n);
void decode_q4_1(const void *blocks, float *weights, int64_t n);
void decode_q5_0(const void *blocks, float *weights, int64_t n);
void decode_q5_1(const void *blocks, float *weights, int64_t n);
void decode_q8_0(const void *blocks, float *weights, int64_t n);
void decode_q2_k(const void *blocks, float *weights, int64_t n);
void decode_q3_k(const void *blocks, float *weights, int64_t n);
void decode_q4_k(const void *blocks, float *weights, int64_t n);
void decode_q5_k(const void *blocks, float *weights, int64_t n);
void decode_q6_k(const void *blocks, float *weights, int64_t n);
void decode_iq4_nl(const void *blocks, float *weights, int64_t n);
void decode_iq4_xs(const void *blocks, float *weights, int64_t n);

void encode_f32(const float *weights, void *blocks, int64_t n);
void encode_f16(const float *weights, void *blocks, int64_t n);
void encode_bf16(const float *weights, void *blocks, int64_t n);
void encode_q4_0(const float *weights, void *blocks, int64_t n);
void encode_q4_1(const float *weights, void *blocks, int64_t n);
void encode_q5_0(const float *weights, void *blocks, int64_t n);
void encode_q5_1(const float *weights, void *blocks, int64_t n);
void encode_q8_0(const float *weights, void *blocks, int64_t n);
void encode_q2_k(const float *weights, void *blocks, int64_t n);
void encode_q3_k(const float *weights, void *blocks, int64_t n);
void encode_q4_k(const float *weights, void *blocks, int64_t n);
void encode_q5_k(const float *weights, void *blocks, int64_t n);
void encode_q6_k(const float *weights, void *blocks, int64_t n);
void encode_iq4_nl(const float *weights, void *blocks, int64_t n);
void encode_iq4_xs(const float *weights, void *blocks, int64_t n);

}  // namespace rz
