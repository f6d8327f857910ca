#include "cuda/activations.h"

#include <algorithm>
#include <map>

#include "cuda/kernels/kernels.h"

namespace rz::cuda {

namespace {

constexpr uint64_t kAlignment = 256;

// Buffers that matrices are multiplied with, and where in the memory of halves each lies. Buffers of one
// shape take turns in the same place once the last one is dead: the zeros behind their rows stay.
struct Places {
  std::vector<HalfRows> rows;     // data unset
  std::vector<uint64_t> offsets;  // bytes
  std::vector<bool> floats;
  uint64_t bytes = 0;

  Places(const Plan &plan, int32_t max_rows)
      : rows(plan.buffers.size()), offsets(plan.buffers.size()), floats(plan.buffers.size()) {
    for (const Op &op : plan.ops) {
      if (const auto *o = std::get_if<NormOp>(&op)) add(plan, o->out, 1, 1);
      if (const auto *o = std::get_if<AttnOp>(&op)) add(plan, o->out, 1, 1);
      if (const auto *o = std::get_if<GateUpOp>(&op)) add(plan, o->out, 1, 1 / kHiddenScale);
      if (const auto *o = std::get_if<MoeGateUpOp>(&op)) add(plan, o->out, o->used, 1 / kHiddenScale);
      if (const auto *o = std::get_if<RouteOp>(&op)) floats[static_cast<size_t>(o->in)] = true;
    }
    place(plan, max_rows);
  }

  void add(const Plan &plan, BufferId id, int32_t per_row, float unscale) {
    HalfRows &r = rows[static_cast<size_t>(id)];
    r.per_row = per_row;
    r.unscale = unscale;
    r.width = plan.buffers[static_cast<size_t>(id)].width / per_row;
    r.stride = steps_of(r.width) * kStepCols;
  }

  void place(const Plan &plan, int32_t max_rows) {
    struct Place {
      uint64_t offset;
      int32_t last_op;
    };
    std::map<std::pair<int32_t, int32_t>, std::vector<Place>> of_shape;  // (width, per row)
    for (size_t i = 0; i < rows.size(); ++i) {
      const HalfRows &r = rows[i];
      if (r.stride == 0) continue;
      const BufferInfo &info = plan.buffers[i];
      std::vector<Place> &places = of_shape[{r.width, r.per_row}];
      const auto free =
          std::ranges::find_if(places, [&](const Place &p) { return p.last_op < info.first_op; });
      if (free != places.end()) {
        offsets[i] = free->offset;
        free->last_op = info.last_op;
        continue;
      }
      offsets[i] = bytes;
      places.push_back({bytes, info.last_op});
      const uint64_t size = static_cast<uint64_t>(max_rows) * static_cast<uint64_t>(r.per_row) *
                            static_cast<uint64_t>(r.stride) * 2;
      bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
  }
};

uint64_t float_bytes(const Plan &plan, int32_t max_rows) {
  return static_cast<uint64_t>(plan.floats_per_row) * static_cast<uint64_t>(max_rows) * sizeof(float);
}

}  // namespace

uint64_t Activations::bytes(const Plan &plan, int32_t max_rows) {
  return float_bytes(plan, max_rows) + Places(plan, max_rows).bytes;
}

Activations::Activations(Queue &queue, const Plan &plan, int32_t max_rows)
    : plan_(plan), max_rows_(max_rows), floats_(queue.device(), float_bytes(plan, max_rows)) {
  Places places(plan, max_rows);
  half_memory_ = DeviceMemory(queue.device(), places.bytes);
  if (places.bytes > 0) queue.fill(half_memory_.data(), 0, places.bytes);
  halves_ = std::move(places.rows);
  for (size_t i = 0; i < halves_.size(); ++i) {
    if (halves_[i].stride != 0) halves_[i].data = half_memory_.as<Half>(places.offsets[i]);
  }
  wants_floats_ = std::move(places.floats);
}

float *Activations::floats(BufferId id) const {
  return floats_.as<float>() + plan_.buffers[static_cast<size_t>(id)].offset * max_rows_;
}

}  // namespace rz::cuda
