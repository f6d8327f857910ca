// Starts a kernel. Every kernel takes one struct by value and may begin while the one ahead still runs, so it
// calls pdl_wait() before it reads what others write, and before it writes.
#pragma once

#include "cuda/runtime.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include "cuda/emulator/block.h"
#endif

namespace rz::cuda {

#if defined(__CUDACC__)

void launch_kernel(Queue &queue, const void *kernel, const char *name, Grid grid, int threads,
                   size_t shared_bytes, void *args);

template <class Args>
void launch(Queue &queue, void (*kernel)(Args), const char *name, Grid grid, int threads, size_t shared_bytes,
            Args args) {
  launch_kernel(queue, reinterpret_cast<const void *>(kernel), name, grid, threads, shared_bytes, &args);
}

#else

void launch_job(Queue &queue, emulator::Job job);

template <class Args>
void launch(Queue &queue, void (*kernel)(Args), const char *name, Grid grid, int threads, size_t shared_bytes,
            Args args) {
  launch_job(queue, {[=] { kernel(args); }, name, grid, static_cast<uint32_t>(threads), shared_bytes});
}

#endif

}  // namespace rz::cuda
