#include "backend/cost.h"

#include <algorithm>

namespace rz {

namespace {

uint64_t count(const Matrix &m) { return static_cast<uint64_t>(m.rows * m.cols); }

OpCost linear(std::initializer_list<const Matrix *> matrices, uint64_t rows) {
  OpCost cost;
  for (const Matrix *m : matrices) {
    cost.bytes += m->bytes();
    cost.flops += 2 * count(*m) * rows;
  }
  return cost;
}

OpCost experts(std::initializer_list<const Matrix *> matrices, uint64_t slots, int32_t active) {
  OpCost cost;
  for (const Matrix *m : matrices) {
    cost.bytes += m->row_bytes() * static_cast<uint64_t>(m->rows) * static_cast<uint64_t>(active);
    cost.flops += 2 * count(*m) * slots;
  }
  return cost;
}

OpCost attention(const AttnOp &op, const Batch &batch, const KvLayout &kv) {
  const KvLayout::Layer &layer = kv.layers[static_cast<size_t>(op.layer)];
  const uint64_t token_bytes =
      (layer.k_head_bytes + layer.v_head_bytes) * static_cast<uint64_t>(op.kv_heads) / kPageTokens;
  OpCost cost;
  int32_t read_up_to = 0;  // tokens of this sequence that an earlier row has read
  for (size_t i = 0; i < batch.positions.size(); ++i) {
    const int32_t end = batch.positions[i] + 1;
    const int32_t first = op.window != 0 ? std::max(0, end - op.window) : 0;
    const bool same_sequence = i > 0 && batch.sequences[i] == batch.sequences[i - 1];
    cost.bytes +=
        token_bytes * static_cast<uint64_t>(end - (same_sequence ? std::max(first, read_up_to) : first));
    cost.flops += 2 * static_cast<uint64_t>(op.heads) * static_cast<uint64_t>(op.head_dim + op.value_dim) *
                  static_cast<uint64_t>(end - first);
    read_up_to = end;
  }
  return cost;
}

}  // namespace

OpCost cost_of(const Op &op, const Batch &batch, const KvLayout &kv, int32_t active_experts) {
  const uint64_t rows = batch.tokens.size();
  if (const auto *o = std::get_if<EmbedOp>(&op)) return {rows * o->table.row_bytes(), 0};
  if (const auto *o = std::get_if<QkvOp>(&op)) return linear({&o->wq, &o->wk, &o->wv}, rows);
  if (const auto *o = std::get_if<AttnOp>(&op)) return attention(*o, batch, kv);
  if (const auto *o = std::get_if<MatmulAddOp>(&op)) return linear({&o->w}, rows);
  if (const auto *o = std::get_if<GateUpOp>(&op)) return linear({&o->gate, &o->up}, rows);
  if (const auto *o = std::get_if<RouteOp>(&op)) return linear({&o->w}, rows);
  if (const auto *o = std::get_if<MoeGateUpOp>(&op)) {
    return experts({&o->gate, &o->up}, rows * static_cast<uint64_t>(o->used), active_experts);
  }
  if (const auto *o = std::get_if<MoeDownOp>(&op)) {
    return experts({&o->down}, rows * static_cast<uint64_t>(o->used), active_experts);
  }
  if (const auto *o = std::get_if<HeadOp>(&op)) {
    return batch.logit_rows.empty() ? OpCost{} : linear({&o->w}, batch.logit_rows.size());
  }
  return {};
}

uint64_t weights_of(const Op &op) {
  if (const auto *o = std::get_if<QkvOp>(&op)) return count(o->wq) + count(o->wk) + count(o->wv);
  if (const auto *o = std::get_if<MatmulAddOp>(&op)) return count(o->w);
  if (const auto *o = std::get_if<GateUpOp>(&op)) return count(o->gate) + count(o->up);
  if (const auto *o = std::get_if<MoeGateUpOp>(&op)) {
    return (count(o->gate) + count(o->up)) * static_cast<uint64_t>(o->used);
  }
  if (const auto *o = std::get_if<MoeDownOp>(&op)) return count(o->down) * static_cast<uint64_t>(o->used);
  return 0;
}

}  // namespace rz
