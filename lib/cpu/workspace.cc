#include "cpu/workspace.h"

#include <algorithm>

#include "base/error.h"

namespace rz::cpu {

namespace {

// Hands out aligned pieces of a block; without a block, only adds up their sizes.
struct Carver {
  std::byte *base;
  uint64_t used = 0;

  template <class T>
  T *take(int64_t n) {
    T *piece = base ? reinterpret_cast<T *>(base + used) : nullptr;
    used += (static_cast<uint64_t>(n) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
};

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

Workspace::Workspace(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options,
                     int32_t threads, bool allocate) {
  measure(plan, kernels, options);
  const uint64_t shared = carve_shared(nullptr, plan, options),
                 own = carve_lanes(nullptr, plan, options, threads);
  bytes_ = shared + own;
  if (!allocate) return;
  shared_ = Memory(shared);
  private_ = Memory(own);
  carve_shared(shared_.data(), plan, options);
  carve_lanes(private_.data(), plan, options, threads);
}

void Workspace::measure(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options) {
  const int64_t max_rows = options.max_rows;
  const auto input = [&](const Matrix &w, int64_t n) {
    if (!w) return;
    const MatmulKernels &matmul = kernels.matmul[static_cast<int>(w.type)];
    if (!matmul.few) {
      fail(Status::Unsupported, "%s: no kernel for %s weights", std::string(w.name).c_str(),
           traits(w.type).name);
    }
    if (matmul.activations != ActKind::Float)
      input_values_ = std::max(input_values_, n * round_up(w.cols, 64));
  };
  const int64_t chunks = (options.pages + kChunkPages - 1) / kChunkPages;
  for (const Op &op : plan.ops) {
    if (const auto *o = std::get_if<QkvOp>(&op)) {
      for (const Matrix *w : {&o->wq, &o->wk, &o->wv}) input(*w, max_rows);
      kv_width_ = std::max({kv_width_, o->wk.rows, o->wv.rows});
    } else if (const auto *o = std::get_if<AttnOp>(&op)) {
      const int64_t state = state_floats(o->value_dim), queries = kBlockRows * (o->heads / o->kv_heads);
      queries_ = std::max(queries_, queries);
      states_ = std::max(states_, 2 * queries * state);
      split_floats_ = std::max(split_floats_, chunks * kSplitRows * o->heads * state);
    } else if (const auto *o = std::get_if<MatmulAddOp>(&op)) {
      input(o->w, max_rows);
    } else if (const auto *o = std::get_if<GateUpOp>(&op)) {
      for (const Matrix *w : {&o->gate, &o->up}) input(*w, max_rows);
    } else if (const auto *o = std::get_if<RouteOp>(&op)) {
      input(o->w, max_rows);
      experts_ = std::max(experts_, o->w.rows);
      slots_per_batch_ = std::max(slots_per_batch_, max_rows * o->used);
    } else if (const auto *o = std::get_if<MoeGateUpOp>(&op)) {
      for (const Matrix *w : {&o->gate, &o->up}) input(*w, max_rows);
    } else if (const auto *o = std::get_if<MoeDownOp>(&op)) {
      input(o->down, max_rows * o->used);
    } else if (const auto *o = std::get_if<HeadOp>(&op)) {
      input(o->w, options.max_logit_rows);
    }
  }
  for (const Rope &one : plan.ropes) rope_width += 2 * static_cast<int64_t>(one.frequencies.size());
}

uint64_t Workspace::carve_shared(std::byte *base, const Plan &plan, const ExecutorOptions &options) {
  const int64_t max_rows = options.max_rows;
  Carver carver{base};
  buffers = carver.take<float>(plan.floats_per_row * max_rows);
  for (Activations *a : {&blocks, &super}) {
    a->codes = carver.take<int8_t>(input_values_);
    a->scales = carver.take<float>(input_values_ / 32);
    a->sums = carver.take<int16_t>(input_values_ / 16);
  }
  rope = carver.take<float>(max_rows * rope_width);
  keys = carver.take<float>(max_rows * kv_width_);
  values = carver.take<float>(max_rows * kv_width_);
  head_rows = carver.take<float>(options.max_logit_rows * static_cast<int64_t>(plan.hidden));
  router = carver.take<float>(max_rows * experts_);
  split_states = carver.take<float>(split_floats_);
  slots = carver.take<int32_t>(slots_per_batch_);
  slot_rows = carver.take<int32_t>(slots_per_batch_);
  expert_first = carver.take<int32_t>(experts_ + 1);
  active = carver.take<int32_t>(experts_);
  return carver.used;
}

uint64_t Workspace::carve_lanes(std::byte *base, const Plan &plan, const ExecutorOptions &options,
                                int32_t threads) {
  const int64_t max_rows = std::max(options.max_rows, options.max_logit_rows);
  Carver carver{base};
  lanes.clear();
  for (int32_t thread = 0; thread < threads; ++thread) {
    Lane lane;
    lane.thread = thread;
    lane.codes = carver.take<int8_t>(2 * kPrivateValues);
    lane.scales = carver.take<float>(2 * kPrivateValues / 32);
    lane.sums = carver.take<int16_t>(2 * kPrivateValues / 16);
    lane.work = carver.take<std::byte>(static_cast<int64_t>(matmul_work_bytes(max_rows)));
    lane.tile = carver.take<float>(std::max(max_rows * kTileCols, static_cast<int64_t>(plan.hidden)));
    lane.tile2 = carver.take<float>(max_rows * kTileCols);
    lane.states = carver.take<float>(states_);
    lane.queries = carver.take<AttnQuery>(queries_);
    lanes.push_back(lane);
  }
  return carver.used;
}

}  // namespace rz::cpu
