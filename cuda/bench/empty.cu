#include "cuda/bench/empty.h"

#include "cuda/launch.h"
#include "cuda/simt.h"

namespace rz::cuda {

namespace {

constexpr int kThreads = 256;

struct EmptyArgs {};

// The next one may begin at once, if the queue lets it: each then waits beside the others for its turn.
RZ_KERNEL(kThreads, 2)
empty_kernel(RZ_ARGS(EmptyArgs)) {
  pdl_go();
  pdl_wait();
}

}  // namespace

void empty(Queue &queue, int blocks) {
  launch(queue, empty_kernel, "empty", {static_cast<uint32_t>(blocks)}, kThreads, 0, EmptyArgs{});
}

}  // namespace rz::cuda
