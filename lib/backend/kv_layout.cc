// Where K and V lie in a page, the same for every backend, so that saved sessions can be read anywhere.
#include "backend/backend.h"
#include "base/error.h"

namespace rz {

namespace {

constexpr uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// One kv head's 32 tokens of `dim` numbers. F8 is plain e4m3 with no scale besides, as other engines' caches
// of 8-bit floats at scale 1: half the bytes of F16, and what lies past 448 is cut to it.
uint64_t head_bytes(Type type, uint64_t dim) {
  if (type == Type::F16) return kPageTokens * dim * 2;
  if (type == Type::F8) return kPageTokens * dim;
  return kPageTokens * (dim + 2 * (round_up(dim, 32) / 32));  // 8-bit codes, a half-precision scale per 32
}

}  // namespace

KvLayout KvLayout::make(const Plan &plan, Type type) {
  if (type != Type::F16 && type != Type::Q8_0 && type != Type::F8) {
    fail(Status::Unsupported, "kv_type: expected f16, q8_0 or f8, found %s", traits(type).name);
  }
  KvLayout layout;
  layout.type = type;
  for (const LayerKv &kv : plan.kv) {
    Layer layer;
    layer.kv = kv;
    layer.k_head_bytes = round_up(head_bytes(type, static_cast<uint64_t>(kv.head_dim)), 64);
    layer.v_head_bytes = round_up(head_bytes(type, round_up(static_cast<uint64_t>(kv.value_dim), 16)), 64);
    layer.k_offset = layout.page_bytes;
    layer.v_offset = layer.k_offset + layer.k_head_bytes * static_cast<uint64_t>(kv.kv_heads);
    layout.page_bytes = layer.v_offset + layer.v_head_bytes * static_cast<uint64_t>(kv.kv_heads);
    layout.layers.push_back(layer);
  }
  return layout;
}

}  // namespace rz
