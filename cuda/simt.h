// The layer that kernels are written on, and the only file with PTX or intrinsics. nvcc makes device code of
// it; any other compiler gets the emulator, which runs a block's threads as fibers, so that every kernel is
// tested on machines without a GPU. Both have the same names, and a kernel uses nothing else of CUDA.
#pragma once

#include "cuda/types.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define RZ_DEVICE __device__ __forceinline__
#define RZ_DEVICE_CALLED inline __device__ __noinline__  // for what is long and called from many places
// threads of a block, and the blocks that a multiprocessor should have room for
#define RZ_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
// A kernel's one argument: read where it lies, rather than copied to registers.
#define RZ_ARGS(type) const __grid_constant__ type
#define RZ_UNROLL _Pragma("unroll")
#define RZ_NO_UNROLL _Pragma("unroll 1")
#else
#define RZ_DEVICE inline
#define RZ_DEVICE_CALLED inline
#define RZ_KERNEL(threads, blocks) inline void
#define RZ_ARGS(type) const type
#define RZ_UNROLL
#define RZ_NO_UNROLL
#endif

#if !defined(__CUDACC__)
#include "cuda/emulator/simt_host.h"
#else

namespace rz::cuda {

// ---- who am I -------------------------------------------------------------------------------------------------------
RZ_DEVICE int thread() { return static_cast<int>(threadIdx.x); }  // of the block
RZ_DEVICE int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
RZ_DEVICE int warp() { return static_cast<int>(threadIdx.x) / kWarp; }
RZ_DEVICE int block_threads() { return static_cast<int>(blockDim.x); }
RZ_DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
RZ_DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
RZ_DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
RZ_DEVICE int grid_x() { return static_cast<int>(gridDim.x); }
RZ_DEVICE int grid_y() { return static_cast<int>(gridDim.y); }

// The block's shared memory as T; its bytes are named at the launch.
template <class T>
RZ_DEVICE T &shared() {
  extern __shared__ Words4 rz_shared[];
  return *reinterpret_cast<T *>(rz_shared);
}

// ---- meeting --------------------------------------------------------------------------------------------------------
RZ_DEVICE void sync() { __syncthreads(); }
RZ_DEVICE void sync_warp() { __syncwarp(); }
// All lanes of the warp take part in what follows.
RZ_DEVICE float shfl(float v, int from) { return __shfl_sync(0xffffffffu, v, from); }
RZ_DEVICE int shfl(int v, int from) { return __shfl_sync(0xffffffffu, v, from); }
RZ_DEVICE uint32_t shfl(uint32_t v, int from) { return __shfl_sync(0xffffffffu, v, from); }
RZ_DEVICE float shfl_xor(float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
RZ_DEVICE int shfl_xor(int v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
RZ_DEVICE uint32_t shfl_xor(uint32_t v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
RZ_DEVICE uint64_t shfl_xor(uint64_t v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
RZ_DEVICE double shfl_xor(double v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
RZ_DEVICE uint32_t ballot(bool v) { return __ballot_sync(0xffffffffu, v); }

// A kernel launched as dependent may begin before the one ahead of it has ended: only behind pdl_wait() may
// it read what others write, or write. pdl_go() lets the next kernel begin.
RZ_DEVICE void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
RZ_DEVICE void pdl_go() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// ---- memory ---------------------------------------------------------------------------------------------------------
// 16 bytes that nobody reads again soon: weights.
RZ_DEVICE Words4 ld_stream(const Words4 *p) {
  Words4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0,%1,%2,%3},[%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
RZ_DEVICE Words4 ld(const Words4 *p) {
  const uint4 v = *reinterpret_cast<const uint4 *>(p);
  return {v.x, v.y, v.z, v.w};
}
RZ_DEVICE Words2 ld(const Words2 *p) {
  const uint2 v = *reinterpret_cast<const uint2 *>(p);
  return {v.x, v.y};
}
RZ_DEVICE void st(Words4 *p, Words4 v) { *reinterpret_cast<uint4 *>(p) = make_uint4(v.x, v.y, v.z, v.w); }
// What other blocks of the same kernel have written.
RZ_DEVICE Words4 ld_fresh(const Words4 *p) {
  const uint4 v = __ldcg(reinterpret_cast<const uint4 *>(p));
  return {v.x, v.y, v.z, v.w};
}
RZ_DEVICE Words2 ld_fresh(const Words2 *p) {
  const uint2 v = __ldcg(reinterpret_cast<const uint2 *>(p));
  return {v.x, v.y};
}
// Asks for the 128 bytes around p; p may be any global address.
RZ_DEVICE void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
// What this thread wrote before is seen by whoever sees what it writes after.
RZ_DEVICE void fence() { __threadfence(); }
RZ_DEVICE void fence_system() { __threadfence_system(); }  // the same, and the host may be who sees it
RZ_DEVICE int atomic_add(int *p, int v) { return atomicAdd(p, v); }                 // the value before
RZ_DEVICE uint32_t atomic_max(uint32_t *p, uint32_t v) { return atomicMax(p, v); }  // likewise
RZ_DEVICE unsigned long long atomic_max(unsigned long long *p, unsigned long long v) {
  return atomicMax(p, v);
}
RZ_DEVICE int atomic_max(int *p, int v) { return atomicMax(p, v); }
RZ_DEVICE int atomic_exchange(int *p, int v) { return atomicExch(p, v); }  // the value before
RZ_DEVICE void st_volatile(uint64_t *p, uint64_t v) { *reinterpret_cast<volatile uint64_t *>(p) = v; }

// ---- numbers --------------------------------------------------------------------------------------------------------
RZ_DEVICE float to_float(Half h) { return __half2float(__ushort_as_half(h)); }
RZ_DEVICE Half to_half(float f) { return __half_as_ushort(__float2half_rn(f)); }
RZ_DEVICE __half2 as_half2(Half2 v) { return *reinterpret_cast<__half2 *>(&v); }
RZ_DEVICE Half2 as_bits(__half2 v) { return *reinterpret_cast<Half2 *>(&v); }
RZ_DEVICE Half2 to_half2(float low, float high) { return as_bits(__floats2half2_rn(low, high)); }
RZ_DEVICE Half2 h2_sub(Half2 a, Half2 b) { return as_bits(__hsub2_rn(as_half2(a), as_half2(b))); }
RZ_DEVICE Half2 h2_mul(Half2 a, Half2 b) { return as_bits(__hmul2_rn(as_half2(a), as_half2(b))); }
RZ_DEVICE Half2 h2_fma(Half2 a, Half2 b, Half2 c) {  // a b + c, rounded once
  return as_bits(__hfma2(as_half2(a), as_half2(b), as_half2(c)));
}
// Four bytes of (b, a), picked by the nibbles of `selector`, lowest first; a holds bytes 0 to 3.
RZ_DEVICE uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  return __byte_perm(a, b, selector);
}
RZ_DEVICE float as_float(uint32_t bits) { return __uint_as_float(bits); }
RZ_DEVICE uint32_t as_bits(float v) { return __float_as_uint(v); }
RZ_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
RZ_DEVICE float rsqrt(float v) { return 1.0f / __fsqrt_rn(v); }
RZ_DEVICE float exp(float v) { return ::expf(v); }
// 2^v within 2 units in the last place; 0 below -126.
RZ_DEVICE float exp2(float v) {
  float p;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(p) : "f"(v));
  return p;
}
RZ_DEVICE double cos(double v) { return ::cos(v); }
RZ_DEVICE double sin(double v) { return ::sin(v); }
RZ_DEVICE float tanh(float v) { return ::tanhf(v); }
RZ_DEVICE float maximum(float a, float b) { return ::fmaxf(a, b); }  // of a number and a NaN: the number
RZ_DEVICE float absolute(float v) { return ::fabsf(v); }
RZ_DEVICE float round_even(float v) { return ::rintf(v); }
RZ_DEVICE int count_bits(uint32_t v) { return __popc(v); }

// d += a b: a (16 x 16), b (16 x 8) halves, d (16 x 8) floats. With g = lane / 4 and t = lane % 4, a lane
// holds
//   a[0] = A[g][2t, 2t+1]   a[1] = A[g+8][2t, 2t+1]   a[2] = A[g][2t+8, 2t+9]   a[3] = A[g+8][2t+8, 2t+9]
//   b[0] = B[2t, 2t+1][g]   b[1] = B[2t+8, 2t+9][g]
//   d[0], d[1] = D[g][2t, 2t+1]   d[2], d[3] = D[g+8][2t, 2t+1]
RZ_DEVICE void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace rz::cuda

#endif
