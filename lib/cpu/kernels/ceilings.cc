// Kernels that compute nothing of use, as fast as this instruction set can: the ceilings that the others are
// measured by. They use the same words as the matmuls, so a ceiling is that of the arithmetic which they
// could do.
#include "cpu/kernels/ceilings.h"

#include "cpu/kernels/simd.h"

namespace rz::cpu::RZ_ISA {

namespace {

// Independent sums, so that no multiply waits for the one before it: enough for two units of latency 4 or 5,
// few enough to stay in registers. An AVX2 word is two registers of 16, and its 8-bit sum ends in an addition
// of latency 1.
#if defined(RZ_AVX512)
constexpr int kInt8Chains = 12, kFloatChains = 12;
#else
constexpr int kInt8Chains = 4, kFloatChains = 5;
#endif

// The compiler has to take a value for a new one, so that equal multiplies are not done once for all. It
// costs no instruction where the word is a register.
#if defined(RZ_AVX512)
#define RZ_RENEW(word) __asm__ volatile("" : "+v"(word))
#elif defined(RZ_AVX2)
#define RZ_RENEW(word) __asm__ volatile("" : "+x"(word))
#else
#define RZ_RENEW(word) RZ_RENEW_MEMORY(word)
#endif
#define RZ_RENEW_MEMORY(object) __asm__ volatile("" : "+m"(object))

// What was computed has to be there: the work that led to it is done.
RZ_INLINE void keep(const void *result) { __asm__ volatile("" ::"r"(result) : "memory"); }

void read_memory(const std::byte *data, uint64_t bytes) {
  const uint8_t zeros[64] = {};
  Bytes64 seen[4] = {load_bytes64(zeros), load_bytes64(zeros), load_bytes64(zeros), load_bytes64(zeros)};
  for (uint64_t i = 0; i + 256 <= bytes; i += 256) {
    for (uint64_t j = 0; j < 4; ++j) seen[j] = or_bytes(seen[j], load_bytes64(data + i + 64 * j));
  }
  keep(seen);
}

uint64_t multiply_int8(uint64_t steps) {
  uint8_t codes[64];
  int8_t x[4] = {1, -2, 3, -4};
  for (uint8_t &code : codes) code = 5;
  RZ_RENEW_MEMORY(codes);
  const PanelCodes panel = load_panel<false>(codes);
  Broadcast four = broadcast4(x);
  Run sums[kInt8Chains];
  for (Run &sum : sums) sum = no_run();
  for (uint64_t i = 0; i < steps; ++i) {
    for (Run &sum : sums) {
      RZ_RENEW(four);
      sum = dot4<false>(sum, panel, four);
    }
  }
  keep(sums);
  return steps * kInt8Chains * 64 * 2;
}

uint64_t multiply_float(uint64_t steps) {
  float start[kFloatChains][16], factor[16];
  for (float &f : factor) f = 0.5f;
  for (auto &chain : start) {
    for (float &f : chain) f = 1;
  }
  RZ_RENEW_MEMORY(factor);
  RZ_RENEW_MEMORY(start);
  const Floats x = load(factor);
  Floats sums[kFloatChains];
  for (int j = 0; j < kFloatChains; ++j) sums[j] = load(start[j]);
  for (uint64_t i = 0; i < steps; ++i) {
    for (Floats &sum : sums) sum = fma(x, x, sum);
  }
  keep(sums);
  return steps * kFloatChains * 16 * 2;
}

#undef RZ_RENEW
#undef RZ_RENEW_MEMORY

}  // namespace

void fill_ceilings(Kernels &table) {
  table.read_memory = read_memory;
  table.multiply_int8 = multiply_int8;
  table.multiply_float = multiply_float;
}

}  // namespace rz::cpu::RZ_ISA
