// What a device can do at most. read: every thread reads 16 bytes at a time, neighbours beside each other,
// and adds them up; multiply: warps multiply halves that never leave their registers.
#include "cuda/kernels/kernels.h"
#include "cuda/launch.h"
#include "cuda/simt.h"

namespace rz::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kReads = 8;  // a thread has under way

RZ_KERNEL(kThreads, 2)
read_ceiling_kernel(RZ_ARGS(ReadCeilingArgs) a) {
  pdl_wait();
  const int64_t stride = static_cast<int64_t>(grid_x()) * kThreads;
  uint32_t sum = 0;
  for (int64_t at = static_cast<int64_t>(block_x()) * kThreads + thread(); at < a.words;
       at += stride * kReads) {
    Words4 v[kReads] = {};
    RZ_UNROLL
    for (int i = 0; i < kReads; ++i) {
      if (at + i * stride < a.words) v[i] = ld_stream(a.data + at + i * stride);
    }
    RZ_UNROLL
    for (int i = 0; i < kReads; ++i) sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
  }
  if (sum == a.never) a.out[0] = sum;  // nobody may leave the reads out
}

RZ_KERNEL(kThreads, 1)
multiply_ceiling_kernel(RZ_ARGS(MultiplyCeilingArgs) a) {
  pdl_wait();
  float acc[kMultiplyChains][4] = {};
  const uint32_t some = static_cast<uint32_t>(thread()) & 0x03ff03ffu;
  uint32_t left[4] = {some, some + 1, some + 2, some + 3};
  RZ_NO_UNROLL
  for (int step = 0; step < a.steps; ++step) {
    RZ_UNROLL
    for (int i = 0; i < kMultiplyChains; ++i) mma16816(acc[i], left, some + i, some);
  }
  float sum = 0;
  RZ_UNROLL
  for (int i = 0; i < kMultiplyChains; ++i) sum += acc[i][0] + acc[i][1] + acc[i][2] + acc[i][3];
  if (sum == -1) a.out[0] = 1;
}

}  // namespace

void read_ceiling(Queue &queue, const ReadCeilingArgs &args, int blocks) {
  launch(queue, read_ceiling_kernel, "read ceiling", {static_cast<uint32_t>(blocks)}, kThreads, 0, args);
}

uint64_t multiply_ceiling(Queue &queue, const MultiplyCeilingArgs &args, int blocks) {
  launch(queue, multiply_ceiling_kernel, "multiply ceiling", {static_cast<uint32_t>(blocks)}, kThreads, 0,
         args);
  constexpr uint64_t kOperations = 2 * 16 * 8 * 16;  // of one multiplication by a warp
  return kOperations * kMultiplyChains * (kThreads / kWarp) * static_cast<uint64_t>(blocks) *
         static_cast<uint64_t>(args.steps);
}

}  // namespace rz::cuda
