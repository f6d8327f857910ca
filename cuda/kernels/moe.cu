// Which experts a row goes to, and which rows an expert gets. route: a block has a row and reads the router's
// weights once for it; group: one block looks at all choices, for a step has few thousand of them at most.
#include "cuda/kernels/kernels.h"
#include "cuda/launch.h"
#include "cuda/simt.h"

namespace rz::cuda {

namespace {

constexpr int kRouteThreads = 256, kRouteWarps = kRouteThreads / kWarp;
constexpr int kGroupThreads = 1024;
constexpr float kChosen = -1;  // no probability

struct RouteShared {
  float probability[kMostExperts];
};

// Softmax over the experts by the first warp; the order of sums is that of the experts.
RZ_DEVICE void softmax(float *p, int experts) {
  float most = p[0];
  for (int e = lane(); e < experts; e += kWarp) most = maximum(most, p[e]);
  for (int mask = kWarp / 2; mask > 0; mask /= 2) most = maximum(most, shfl_xor(most, mask));
  float sum = 0;
  for (int e = lane(); e < experts; e += kWarp) {
    p[e] = exp(p[e] - most);
    sum += p[e];
  }
  for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += shfl_xor(sum, mask);
  for (int e = lane(); e < experts; e += kWarp) p[e] /= sum;
  sync_warp();
}

// The most probable expert not chosen yet; of equals the first.
RZ_DEVICE int best_of(const float *p, int experts) {
  int best = -1;
  float of_best = 0;
  for (int e = lane(); e < experts; e += kWarp) {
    if (p[e] != kChosen && (best < 0 || p[e] > of_best)) {
      best = e;
      of_best = p[e];
    }
  }
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const int other = shfl_xor(best, mask);
    const float of_other = shfl_xor(of_best, mask);
    const bool better =
        other >= 0 && (best < 0 || of_other > of_best || (of_other == of_best && other < best));
    if (better) {
      best = other;
      of_best = of_other;
    }
  }
  return best;
}

RZ_KERNEL(kRouteThreads, 2)
route_kernel(RZ_ARGS(RouteArgs) a) {
  pdl_wait();
  float *p = shared<RouteShared>().probability;
  const int row = block_x();
  const float *x = a.x + static_cast<size_t>(row) * a.cols;
  for (int e = warp(); e < a.experts; e += kRouteWarps) {
    const float *w = a.w + static_cast<size_t>(e) * a.cols;
    float sum = 0;
    for (int k = lane(); k < a.cols; k += kWarp) sum = fma(w[k], x[k], sum);
    for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += shfl_xor(sum, mask);
    if (lane() == 0) p[e] = sum;
  }
  sync();
  if (warp() != 0) return;
  softmax(p, a.experts);
  auto *ids = reinterpret_cast<int32_t *>(a.route) + static_cast<size_t>(row) * 2 * a.used;
  float *weights = a.route + (static_cast<size_t>(row) * 2 + 1) * a.used;
  float total = 0;
  for (int slot = 0; slot < a.used; ++slot) {
    const int best = best_of(p, a.experts);
    const float weight = p[best];
    sync_warp();
    total += weight;
    if (lane() == 0) {
      ids[slot] = best;
      weights[slot] = weight;
      p[best] = kChosen;
    }
    sync_warp();
  }
  if (lane() != 0) return;
  for (int slot = 0; slot < a.used; ++slot) {
    const float weight = weights[slot] * a.scale;
    weights[slot] = a.normalize ? weight / total : weight;
  }
}

struct GroupShared {
  int first[kMostExperts + 1];
};

// A thread has an expert: it counts the slots that chose it, and then writes them down in ascending order.
RZ_KERNEL(kGroupThreads, 1)
group_kernel(RZ_ARGS(GroupArgs) a) {
  pdl_wait();
  int *first = shared<GroupShared>().first;
  const auto *ids = reinterpret_cast<const int32_t *>(a.route);
  const auto chosen_by = [&](int slot) { return ids[slot / a.used * 2 * a.used + slot % a.used]; };
  for (int e = thread(); e < a.experts; e += kGroupThreads) {
    int count = 0;
    for (int slot = 0; slot < a.slots_total; ++slot) count += chosen_by(slot) == e;
    first[e + 1] = count;
  }
  sync();
  if (thread() == 0) {
    first[0] = 0;
    int n = 0;
    for (int e = 0; e < a.experts; ++e) {
      if (first[e + 1] > 0) a.active[n++] = e;
      first[e + 1] += first[e];
    }
    for (; n < a.experts; ++n) a.active[n] = -1;
  }
  sync();
  for (int e = thread(); e <= a.experts; e += kGroupThreads) a.expert_first[e] = first[e];
  for (int e = thread(); e < a.experts; e += kGroupThreads) {
    int at = first[e];
    if (at == first[e + 1]) continue;
    for (int slot = 0; slot < a.slots_total; ++slot) {
      if (chosen_by(slot) == e) a.slots[at++] = slot;
    }
  }
}

}  // namespace

void route(Queue &queue, const RouteArgs &args, int rows) {
  launch(queue, route_kernel, "route", {static_cast<uint32_t>(rows)}, kRouteThreads, sizeof(RouteShared),
         args);
}

void group(Queue &queue, const GroupArgs &args) {
  launch(queue, group_kernel, "group", {}, kGroupThreads, sizeof(GroupShared), args);
}

}  // namespace rz::cuda
