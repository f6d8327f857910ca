// simt.h for compilers that know no CUDA: the same names, served by the emulator. Numbers are rounded as the
// device does, sums inside mma16816 from k = 0 upwards.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "cuda/emulator/block.h"
#include "quant/half.h"

namespace rz::cuda {

inline int thread() { return emulator::Block::current().thread(); }
inline int lane() { return thread() % kWarp; }
inline int warp() { return thread() / kWarp; }
inline int block_threads() { return static_cast<int>(emulator::Block::current().job().threads); }
inline int block_x() { return static_cast<int>(emulator::Block::current().index().x); }
inline int block_y() { return static_cast<int>(emulator::Block::current().index().y); }
inline int block_z() { return static_cast<int>(emulator::Block::current().index().z); }
inline int grid_x() { return static_cast<int>(emulator::Block::current().job().grid.x); }
inline int grid_y() { return static_cast<int>(emulator::Block::current().job().grid.y); }
template <class T>
T &shared() {
  return *reinterpret_cast<T *>(emulator::Block::current().shared());
}

namespace emulator {

template <class T>
T of_lane(const std::byte (*slots)[Block::kSlotBytes], int from) {
  T v;
  std::memcpy(&v, slots[from & (kWarp - 1)], sizeof v);
  return v;
}
template <class T>
T shuffle(T v, int from) {
  return of_lane<T>(Block::current().meet(Meeting::Shuffle, &v, sizeof v), from);
}

}  // namespace emulator

inline void sync() { emulator::Block::current().sync(); }
inline void sync_warp() { emulator::Block::current().meet(emulator::Meeting::Sync, nullptr, 0); }
inline float shfl(float v, int from) { return emulator::shuffle(v, from); }
inline int shfl(int v, int from) { return emulator::shuffle(v, from); }
inline uint32_t shfl(uint32_t v, int from) { return emulator::shuffle(v, from); }
inline float shfl_xor(float v, int mask) { return emulator::shuffle(v, lane() ^ mask); }
inline int shfl_xor(int v, int mask) { return emulator::shuffle(v, lane() ^ mask); }
inline uint32_t shfl_xor(uint32_t v, int mask) { return emulator::shuffle(v, lane() ^ mask); }
inline uint64_t shfl_xor(uint64_t v, int mask) { return emulator::shuffle(v, lane() ^ mask); }
inline double shfl_xor(double v, int mask) { return emulator::shuffle(v, lane() ^ mask); }
uint32_t ballot(bool v);
inline void pdl_wait() { emulator::Block::current().pdl_wait(); }
inline void pdl_go() {}

inline Words4 ld_stream(const Words4 *p) { return *p; }
inline Words4 ld(const Words4 *p) { return *p; }
inline Words2 ld(const Words2 *p) { return *p; }
inline void st(Words4 *p, Words4 v) { *p = v; }
inline Words4 ld_fresh(const Words4 *p) { return *p; }
inline Words2 ld_fresh(const Words2 *p) { return *p; }
inline void prefetch(const void *) {}
inline void fence() {}         // fibers of one thread
inline void fence_system() {}  // likewise
inline int atomic_add(int *p, int v) { return std::atomic_ref(*p).fetch_add(v); }
template <class T>
T atomic_max(T *p, T v) {
  std::atomic_ref<T> a(*p);
  T before = a.load();
  while (before < v && !a.compare_exchange_weak(before, v)) continue;
  return before;
}
inline int atomic_exchange(int *p, int v) { return std::atomic_ref(*p).exchange(v); }

inline void st_volatile(uint64_t *p, uint64_t v) { std::atomic_ref(*p).store(v); }

inline float to_float(Half h) { return half_to_float(h); }
inline Half to_half(float f) { return float_to_half(f); }
inline Half2 to_half2(float low, float high) {
  return static_cast<Half2>(float_to_half(low)) | static_cast<Half2>(float_to_half(high)) << 16;
}
inline Half low_half(Half2 v) { return static_cast<Half>(v); }
inline Half high_half(Half2 v) { return static_cast<Half>(v >> 16); }

namespace emulator {

template <class Do>
Half2 each_half(Do operation, Half2 a, Half2 b, Half2 c = 0) {
  return to_half2(operation(to_float(low_half(a)), to_float(low_half(b)), to_float(low_half(c))),
                  operation(to_float(high_half(a)), to_float(high_half(b)), to_float(high_half(c))));
}

}  // namespace emulator

inline Half2 h2_sub(Half2 a, Half2 b) {
  return emulator::each_half([](float x, float y, float) { return x - y; }, a, b);
}
inline Half2 h2_mul(Half2 a, Half2 b) {
  return emulator::each_half([](float x, float y, float) { return x * y; }, a, b);
}
inline Half2 h2_fma(Half2 a, Half2 b, Half2 c) {  // the product of two halves is exact in a float
  return emulator::each_half([](float x, float y, float z) { return x * y + z; }, a, b, c);
}
inline uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    out |= static_cast<uint32_t>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  }
  return out;
}
inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t as_bits(float v) { return std::bit_cast<uint32_t>(v); }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float rsqrt(float v) { return 1.0f / std::sqrt(v); }
inline float exp(float v) { return std::exp(v); }
inline float exp2(float v) { return std::exp2(v); }
inline double cos(double v) { return std::cos(v); }
inline double sin(double v) { return std::sin(v); }
inline float tanh(float v) { return std::tanh(v); }
inline float maximum(float a, float b) { return std::fmax(a, b); }
inline float absolute(float v) { return std::fabs(v); }
inline float round_even(float v) { return std::nearbyint(v); }
inline int count_bits(uint32_t v) { return std::popcount(v); }

void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

}  // namespace rz::cuda
