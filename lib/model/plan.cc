// The Plan's builder: every call adds one op, makes the buffers that it fills and notes which ones it reads.
// At the end each buffer gets a place that it shares only with buffers that are dead while it lives.
#include "model/plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace rz {
namespace {

constexpr int64_t kOffsetStep = 16;  // floats: every buffer begins on a cache line

bool live_together(const BufferInfo &a, const BufferInfo &b) {
  return a.first_op <= b.last_op && b.first_op <= a.last_op;
}

// The lowest offset at which `buffer` fits between those placed that live at the same time.
int64_t lowest_gap(const BufferInfo &buffer, const std::vector<const BufferInfo *> &placed_by_offset) {
  int64_t offset = 0;
  for (const BufferInfo *other : placed_by_offset) {
    if (!live_together(buffer, *other)) continue;
    if (offset + buffer.width <= other->offset) break;
    offset = std::max(offset, (other->offset + other->width + kOffsetStep - 1) / kOffsetStep * kOffsetStep);
  }
  return offset;
}

// Widest first, each as low as it can go. Returns the arena's floats per row.
int64_t place_buffers(std::vector<BufferInfo> &buffers) {
  std::vector<BufferInfo *> widest;
  for (BufferInfo &buffer : buffers) widest.push_back(&buffer);
  std::stable_sort(widest.begin(), widest.end(), [](auto *a, auto *b) { return a->width > b->width; });

  std::vector<const BufferInfo *> placed;  // by ascending offset
  int64_t floats = 0;
  for (BufferInfo *buffer : widest) {
    buffer->offset = lowest_gap(*buffer, placed);
    const auto after = std::upper_bound(placed.begin(), placed.end(), buffer->offset,
                                        [](int64_t offset, auto *other) { return offset < other->offset; });
    placed.insert(after, buffer);
    floats = std::max(floats, buffer->offset + buffer->width);
  }
  return (floats + kOffsetStep - 1) / kOffsetStep * kOffsetStep;
}

}  // namespace

Matrix Matrix::slice(int64_t first, int64_t n) const {
  Matrix part = *this;
  part.rows = n;
  part.first_row += first;
  if (data) part.data = data + row_bytes() * static_cast<uint64_t>(first);
  return part;
}

PlanBuilder::PlanBuilder(const Spec &spec) : spec_(spec) {
  plan_.hidden = spec.hidden;
  plan_.vocab = spec.vocab;
  plan_.kv.resize(static_cast<size_t>(spec.layers));
}

BufferId PlanBuilder::make_buffer(int64_t width) {
  if (width > INT32_MAX) {
    fail(Status::Limit, "%s: expected buffers of at most %d numbers a row, found %lld",
         spec_.architecture.c_str(), INT32_MAX, static_cast<long long>(width));
  }
  const auto now = static_cast<int32_t>(plan_.ops.size());
  plan_.buffers.push_back({static_cast<int32_t>(width), now, now, 0});
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

void PlanBuilder::use(BufferId buffer) {
  plan_.buffers[static_cast<size_t>(buffer)].last_op = static_cast<int32_t>(plan_.ops.size());
}

int32_t PlanBuilder::rope(Rope rope) {
  plan_.ropes.push_back(std::move(rope));
  return static_cast<int32_t>(plan_.ropes.size() - 1);
}

BufferId PlanBuilder::embed(const Matrix &table, const EmbedArgs &args) {
  const BufferId out = make_buffer(spec_.hidden);
  plan_.ops.push_back(EmbedOp{out, table, args.scale, args.positions});
  return out;
}

BufferId PlanBuilder::norm(BufferId x, const Norm &norm) {
  use(x);
  const BufferId out = make_buffer(spec_.hidden);
  plan_.ops.push_back(NormOp{x, out, norm});
  return out;
}

BufferId PlanBuilder::qkv(BufferId y, int32_t layer, const Matrix &wq, const Matrix &wk, const Matrix &wv,
                          const QkvArgs &args) {
  use(y);
  const BufferId q = make_buffer(int64_t{spec_.heads} * spec_.head_dim);
  plan_.kv[static_cast<size_t>(layer)] = {spec_.kv_heads, spec_.head_dim, spec_.value_dim};
  plan_.ops.push_back(QkvOp{y, q, layer, spec_.heads, spec_.kv_heads, spec_.head_dim, spec_.value_dim, wq, wk,
                            wv, args.bq, args.bk, args.bv, args.q_norm, args.k_norm, args.rope});
  return q;
}

BufferId PlanBuilder::attn(BufferId q, int32_t layer, const AttnArgs &args) {
  use(q);
  const BufferId out = make_buffer(int64_t{spec_.heads} * spec_.value_dim);
  plan_.ops.push_back(AttnOp{q, out, layer, spec_.heads, spec_.kv_heads, spec_.head_dim, spec_.value_dim,
                             args.scale != 0 ? args.scale : spec_.attention_scale, spec_.attention_softcap,
                             args.window});
  return out;
}

void PlanBuilder::matmul_add(BufferId x, BufferId a, const Matrix &w, const AddArgs &args) {
  use(x);
  use(a);
  const BufferId scratch = args.post_norm ? make_buffer(w.rows) : -1;
  plan_.ops.push_back(MatmulAddOp{a, x, scratch, w, args.bias, args.scale, args.post_norm});
}

BufferId PlanBuilder::gate_up(BufferId y, const Matrix &gate, const Matrix &up, const FfnArgs &args) {
  use(y);
  const BufferId out = make_buffer(up.rows);
  plan_.ops.push_back(GateUpOp{y, out, gate, up, args.gate_bias, args.up_bias, args.act});
  return out;
}

BufferId PlanBuilder::up(BufferId y, const Matrix &up, const FfnArgs &args) {
  return gate_up(y, {}, up, args);
}

BufferId PlanBuilder::route(BufferId y, const Matrix &router, const RouteArgs &args) {
  use(y);
  const BufferId out = make_buffer(int64_t{2} * spec_.experts_used);
  plan_.ops.push_back(RouteOp{y, out, router, spec_.experts_used, args.normalize, args.scale});
  return out;
}

BufferId PlanBuilder::moe_gate_up(BufferId y, BufferId route, const Matrix &gate, const Matrix &up,
                                  Activation act) {
  use(y);
  use(route);
  const BufferId out = make_buffer(spec_.experts_used * up.rows);
  plan_.ops.push_back(MoeGateUpOp{y, route, out, gate, up, spec_.experts_used, act});
  return out;
}

void PlanBuilder::moe_down(BufferId x, BufferId h, BufferId route, const Matrix &down,
                           const Norm &post_norm) {
  use(x);
  use(h);
  use(route);
  const BufferId scratch = make_buffer(spec_.experts_used * down.rows);
  plan_.ops.push_back(MoeDownOp{h, route, x, scratch, down, spec_.experts_used, post_norm});
}

void PlanBuilder::head(BufferId x, const Norm &norm, const Matrix &w, const HeadArgs &args) {
  use(x);
  plan_.ops.push_back(HeadOp{x, norm, w, args.bias, args.scale, spec_.final_softcap});
  use(x);
  plan_.ops.push_back(PoolOp{x, norm});
}

Plan PlanBuilder::finish() {
  plan_.floats_per_row = place_buffers(plan_.buffers);
  return std::exchange(plan_, Plan{});
}

}  // namespace rz
