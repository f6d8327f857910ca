// Cutting a plan in two, for a model that two devices share. Layers are cut apart where one begins, because
// only the residual stream is alive there.
#include <algorithm>

#include "base/error.h"
#include "model/plan.h"

namespace rz {

int32_t Plan::layer_begin(int32_t layer) const {
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto *qkv = std::get_if<QkvOp>(&ops[i]);
    if (!qkv || qkv->layer != layer) continue;
    const int32_t written = buffers[static_cast<size_t>(qkv->in)].first_op;
    const bool normed = written >= 0 && std::holds_alternative<NormOp>(ops[static_cast<size_t>(written)]);
    return normed ? written : static_cast<int32_t>(i);
  }
  fail(Status::Internal, "plan: expected a layer below %zu, found %d", kv.size(), layer);
}

std::vector<BufferId> Plan::crossing(int32_t op) const {
  std::vector<BufferId> found;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].first_op < op && op <= buffers[i].last_op) found.push_back(static_cast<BufferId>(i));
  }
  return found;
}

Plan Plan::part(int32_t first, int32_t end) const {
  Plan out = *this;
  out.ops.assign(ops.begin() + first, ops.begin() + end);
  for (BufferInfo &buffer : out.buffers) {
    buffer.first_op = std::clamp(buffer.first_op, first - 1, end) - first;
    buffer.last_op = std::clamp(buffer.last_op, first - 1, end) - first;
  }
  std::vector<bool> here(kv.size());
  for (const Op &op : out.ops) {
    if (const auto *o = std::get_if<QkvOp>(&op)) here[static_cast<size_t>(o->layer)] = true;
    if (const auto *o = std::get_if<AttnOp>(&op)) here[static_cast<size_t>(o->layer)] = true;
  }
  for (size_t i = 0; i < here.size(); ++i) {
    if (!here[i]) out.kv[i].kv_heads = 0;
  }
  return out;
}

}  // namespace rz
