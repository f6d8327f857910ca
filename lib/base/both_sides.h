// Small functions that host code and kernels share, so that a number has the same bits on both sides.
#pragma once

#if defined(__CUDACC__)
#define RZ_BOTH_SIDES __host__ __device__ inline
#else
#define RZ_BOTH_SIDES inline
#endif
