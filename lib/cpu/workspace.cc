// Sizes and carves the executor's memory, once, from the largest op of each kind: a step allocates nothing.
#include <algorithm>

#include "base/error.h"
#include "cpu/executor.h"

namespace rz::cpu {

namespace {

// Hands out aligned pieces of a block; with no block yet, only adds up their sizes.
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

void CpuExecutor::size_workspaces() {
  const int64_t max_rows = options_.max_rows;
  const auto input = [&](const Matrix &w, int64_t n) {
    if (!w) return;
    if (!kernels_.matmul[static_cast<int>(w.type)].few) {
      fail(Status::Unsupported, "%s: no kernel for %s weights", std::string(w.name).c_str(),
           traits(w.type).name);
    }
    max_cols_ = std::max(max_cols_, w.cols);
    if (kind_of(w) != ActKind::Float)
      max_input_values_ = std::max(max_input_values_, n * round_up(w.cols, 64));
  };
  const int64_t chunks = (options_.pages + kChunkPages - 1) / kChunkPages;
  for (const Op &op : plan_.ops) {
    if (const auto *o = std::get_if<QkvOp>(&op)) {
      for (const Matrix *w : {&o->wq, &o->wk, &o->wv}) input(*w, max_rows);
      max_kv_width_ = std::max({max_kv_width_, o->wk.rows, o->wv.rows});
    } else if (const auto *o = std::get_if<AttnOp>(&op)) {
      const int64_t state = kStateHeader + round_up(o->value_dim, 16),
                    queries = kBlockRows * (o->heads / o->kv_heads);
      max_queries_ = std::max(max_queries_, queries);
      max_states_ = std::max(max_states_, 2 * queries * state);
      max_split_states_ = std::max(max_split_states_, chunks * kSplitRows * o->heads * state);
    } else if (const auto *o = std::get_if<MatmulAddOp>(&op)) {
      input(o->w, max_rows);
    } else if (const auto *o = std::get_if<GateUpOp>(&op)) {
      for (const Matrix *w : {&o->gate, &o->up}) input(*w, max_rows);
    } else if (const auto *o = std::get_if<RouteOp>(&op)) {
      input(o->w, max_rows);
      max_experts_ = std::max(max_experts_, o->w.rows);
      max_slots_ = std::max(max_slots_, max_rows * o->used);
    } else if (const auto *o = std::get_if<MoeGateUpOp>(&op)) {
      for (const Matrix *w : {&o->gate, &o->up}) input(*w, max_rows);
    } else if (const auto *o = std::get_if<MoeDownOp>(&op)) {
      input(o->down, max_rows * o->used);
    } else if (const auto *o = std::get_if<HeadOp>(&op)) {
      input(o->w, options_.max_logit_rows);
    }
  }
  for (const Rope &rope : plan_.ropes) rope_width_ += 2 * static_cast<int64_t>(rope.frequencies.size());

  Carver shared{nullptr};
  for (int pass = 0; pass < 2; ++pass) {
    for (Activations *a : {&shared_blocks_, &shared_super_}) {
      a->codes = shared.take<int8_t>(max_input_values_);
      a->scales = shared.take<float>(max_input_values_ / 32);
      a->sums = shared.take<int16_t>(max_input_values_ / 16);
    }
    rope_ = shared.take<float>(max_rows * rope_width_);
    keys_ = shared.take<float>(max_rows * max_kv_width_);
    values_ = shared.take<float>(max_rows * max_kv_width_);
    head_rows_ = shared.take<float>(options_.max_logit_rows * static_cast<int64_t>(plan_.hidden));
    router_ = shared.take<float>(max_rows * max_experts_);
    split_states_ = shared.take<float>(max_split_states_);
    slots_ = shared.take<int32_t>(max_slots_);
    slot_rows_ = shared.take<int32_t>(max_slots_);
    expert_first_ = shared.take<int32_t>(max_experts_ + 1);
    active_ = shared.take<int32_t>(max_experts_);
    if (pass == 0) {
      shared_ = Memory(shared.used);
      shared = {shared_.data()};
    }
  }

  Carver own{nullptr};
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t thread = 0; thread < team_.size(); ++thread) {
      Lane lane;
      lane.thread = thread;
      lane.codes = own.take<int8_t>(2 * kPrivateValues);
      lane.scales = own.take<float>(2 * kPrivateValues / 32);
      lane.sums = own.take<int16_t>(2 * kPrivateValues / 16);
      lane.work = own.take<std::byte>(
          static_cast<int64_t>(matmul_work_bytes(std::max<int64_t>(max_rows, options_.max_logit_rows))));
      lane.tile = own.take<float>(std::max(max_rows * kTileCols, static_cast<int64_t>(plan_.hidden)));
      lane.tile2 = own.take<float>(max_rows * kTileCols);
      lane.states = own.take<float>(max_states_);
      lane.queries = own.take<AttnQuery>(max_queries_);
      if (pass == 1) lanes_.push_back(lane);
    }
    if (pass == 0) {
      private_ = Memory(own.used);
      own = {private_.data()};
    }
  }
  compute_bytes_ = arena_.size_bytes() + shared_.size_bytes() + private_.size_bytes();
}

}  // namespace rz::cpu
