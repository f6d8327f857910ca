// Mixture of experts for the team: rows are grouped by the expert they chose, so that each expert's weights
// are read once.
#include <cstring>

#include "cpu/executor.h"

namespace rz::cpu {

void CpuExecutor::run_op(const RouteOp &op, Lane &lane) {
  const int64_t n = rows(), experts = op.w.rows;
  const Inputs in = prepare(lane, {&op.w}, buffer(op.in), n, op.w.cols);
  RowWork work(team_, lane.thread, experts);
  for (RowPart part; work.next(part);) {
    multiply(lane, op.w, 0, part, in, nullptr, n, space_.router + part.first, experts);
  }
  team_.barrier();
  for (int64_t row = lane.thread; row < n; row += team_.active()) choose_experts(op, row);
  team_.barrier();
  if (lane.thread == 0) group_by_expert(op);
}

void CpuExecutor::choose_experts(const RouteOp &op, int64_t row) {
  const int64_t experts = op.w.rows;
  float *p = space_.router + row * experts;
  kernels_.softmax(p, experts);
  auto *ids = reinterpret_cast<int32_t *>(buffer(op.route) + row * 2 * op.used);
  float *weights = buffer(op.route) + row * 2 * op.used + op.used;
  constexpr float kChosen = -1;
  float total = 0;
  for (int32_t slot = 0; slot < op.used; ++slot) {
    int64_t best = -1;  // among those not chosen yet: distinct even where probabilities are no numbers
    for (int64_t e = 0; e < experts; ++e) {
      if (p[e] != kChosen && (best < 0 || p[e] > p[best])) best = e;
    }
    ids[slot] = static_cast<int32_t>(best);
    weights[slot] = p[best];
    total += p[best];
    p[best] = kChosen;
  }
  for (int32_t slot = 0; slot < op.used; ++slot) {
    weights[slot] *= op.scale;
    if (op.normalize) weights[slot] /= total;
  }
}

void CpuExecutor::group_by_expert(const RouteOp &op) {
  const auto experts = static_cast<size_t>(op.w.rows);
  std::memset(space_.expert_first, 0, (experts + 1) * sizeof(int32_t));
  const auto ids_of = [&](int64_t row) {
    return reinterpret_cast<const int32_t *>(buffer(op.route) + row * 2 * op.used);
  };
  for (int64_t row = 0; row < rows(); ++row) {
    for (int32_t slot = 0; slot < op.used; ++slot) ++space_.expert_first[ids_of(row)[slot] + 1];
  }
  n_active_ = 0;
  for (size_t e = 0; e < experts; ++e) {
    if (space_.expert_first[e + 1] != 0) space_.active[n_active_++] = static_cast<int32_t>(e);
    space_.expert_first[e + 1] += space_.expert_first[e];
  }
  // Filling moves each expert's start to its end, which is where the next one began: shifted back afterwards.
  for (int64_t row = 0; row < rows(); ++row) {
    for (int32_t slot = 0; slot < op.used; ++slot) {
      const int32_t at = space_.expert_first[ids_of(row)[slot]]++;
      space_.slots[at] = static_cast<int32_t>(row) * op.used + slot;
      space_.slot_rows[at] = static_cast<int32_t>(row);
    }
  }
  std::memmove(space_.expert_first + 1, space_.expert_first, experts * sizeof(int32_t));
  space_.expert_first[0] = 0;
}

void CpuExecutor::run_op(const MoeGateUpOp &op, Lane &lane) {
  const int64_t total = op.up.rows;
  const Inputs in = prepare(lane, {&op.gate, &op.up}, buffer(op.in), rows(), op.up.cols);
  RowWork work(team_, lane.thread, total * n_active_, total);
  for (RowPart part; work.next(part);) {
    const int32_t expert = space_.active[part.first / total];
    const RowPart rows = {part.first % total, part.count, part.after};
    const int32_t at = space_.expert_first[expert], n = space_.expert_first[expert + 1] - at;
    multiply(lane, op.gate, expert, rows, in, space_.slot_rows + at, n, lane.tile, kTileCols);
    multiply(lane, op.up, expert, rows, in, space_.slot_rows + at, n, lane.tile2, kTileCols);
    for (int32_t i = 0; i < n; ++i) {
      float *out = buffer(op.out) + space_.slots[at + i] * total + rows.first;
      kernels_.activate(op.act, lane.tile + i * kTileCols, lane.tile2 + i * kTileCols, out, rows.count);
    }
  }
}

void CpuExecutor::run_op(const MoeDownOp &op, Lane &lane) {
  const int64_t total = op.down.rows;
  const Inputs in = prepare(lane, {&op.down}, buffer(op.in), rows() * op.used, op.down.cols);
  float *scratch = buffer(op.scratch), *x = buffer(op.x);
  RowWork work(team_, lane.thread, total * n_active_, total);
  for (RowPart part; work.next(part);) {
    const int32_t expert = space_.active[part.first / total];
    const RowPart rows = {part.first % total, part.count, part.after};
    const int32_t at = space_.expert_first[expert], n = space_.expert_first[expert + 1] - at;
    multiply(lane, op.down, expert, rows, in, space_.slots + at, n, lane.tile, kTileCols);
    for (int32_t i = 0; i < n; ++i) {
      std::memcpy(scratch + space_.slots[at + i] * total + rows.first, lane.tile + i * kTileCols,
                  static_cast<size_t>(rows.count) * sizeof(float));
    }
  }
  team_.barrier();
  for (int64_t row = lane.thread; row < rows(); row += team_.active()) {
    const float *weights = buffer(op.route) + row * 2 * op.used + op.used;
    float *sum = scratch + row * op.used * total;  // the first slot's place
    for (int64_t i = 0; i < total; ++i) sum[i] *= weights[0];
    for (int32_t slot = 1; slot < op.used; ++slot)
      kernels_.add(sum, sum + slot * total, weights[slot], total);
    if (op.post_norm) {
      add_normed(op.post_norm, sum, x + row * total, 1, total);
    } else {
      kernels_.add(x + row * total, sum, 1, total);
    }
  }
}

}  // namespace rz::cpu
