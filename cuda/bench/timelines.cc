#include "cuda/bench/timelines.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "backend/backend.h"

namespace rz::cuda {

namespace {

KvLayout layout_of(Type type) {
  Plan plan;
  plan.kv = {{kBenchKvHeads, kBenchDim, kBenchDim}};
  return KvLayout::make(plan, type);
}

std::vector<int32_t> counting(int32_t n, int32_t step = 1) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = i * step;
  return values;
}

std::vector<int32_t> shuffled(int32_t n) {
  std::vector<int32_t> values = counting(n);
  std::mt19937 random(1);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

}  // namespace

uint64_t Timelines::page_bytes(Type type) { return layout_of(type).page_bytes; }
uint64_t Timelines::bytes(Type type, int32_t count, int32_t length) {
  return page_bytes(type) * static_cast<uint64_t>(count) * static_cast<uint64_t>(pages_for(length));
}

Timelines::Timelines(Queue &queue, Type type, int32_t count, int32_t length)
    : type_(type),
      length_(length),
      pages_(queue.device(), bytes(type, count, length)),
      tables_(device_ints(queue, shuffled(count * pages_for(length)))),
      table_of_row_(device_ints(queue, counting(count, pages_for(length)))),
      ends_(device_ints(queue, std::vector<int32_t>(static_cast<size_t>(count), length - 1))),
      places_(device_ints(queue, counting(length))) {
  std::vector<int32_t> same;
  for (int32_t s = 0; s < count; ++s)
    same.insert(same.end(), static_cast<size_t>(length), s * pages_for(length));
  same_table_ = device_ints(queue, same);
  fill_first_page(queue);
  repeat(queue, pages_, page_bytes(type));
  queue.wait();
}

// A page's tokens by the kernel that appends them, so that they lie where the others look.
void Timelines::fill_first_page(Queue &queue) {
  const QkvRows inputs(queue, kPageTokens);
  const DeviceMemory places = device_ints(queue, counting(kPageTokens)),
                     table = zeros(queue, sizeof(int32_t)),
                     table_of_row = zeros(queue, kPageTokens * sizeof(int32_t));
  const Rows rows{kPageTokens, places.as<int32_t>(), table_of_row.as<int32_t>(), table.as<int32_t>()};
  append(queue, inputs.append(rows, kv()));
  queue.wait();
}

KvPages Timelines::kv() const {
  const KvLayout layout = layout_of(type_);
  const KvLayout::Layer &layer = layout.layers[0];
  return {pages_.data(),      layout.page_bytes, layer.k_offset, layer.v_offset, layer.k_head_bytes,
          layer.v_head_bytes, kBenchKvHeads,     kBenchDim,      kBenchDim,      type_};
}

Rows Timelines::decoding(int32_t first, int32_t count) const {
  return {count, ends_.as<int32_t>() + first, table_of_row_.as<int32_t>() + first, tables_.as<int32_t>()};
}

Rows Timelines::prompt(int32_t sequence) const {
  return {length_, places_.as<int32_t>(), same_table_.as<int32_t>() + int64_t{sequence} * length_,
          tables_.as<int32_t>()};
}

QkvRows::QkvRows(Queue &queue, int32_t rows) {
  const auto heads = static_cast<size_t>(rows) * kBenchDim;
  q = device_floats(queue, heads * kBenchHeads, 1, 1);
  k = device_floats(queue, heads * kBenchKvHeads, 1, 2);
  v = device_floats(queue, heads * kBenchKvHeads, 1, 3);
  q_out = zeros(queue, heads * kBenchHeads * sizeof(Half));
  angles = device_floats(queue, heads, 0.5f, 4);
}

AppendArgs QkvRows::append(const Rows &rows, const KvPages &kv) const {
  AppendArgs args;
  args.rows = rows;
  args.kv = kv;
  args.heads = kBenchHeads;
  args.q = q.as<float>();
  args.k = k.as<float>();
  args.v = v.as<float>();
  args.q_out = q_out.as<Half>();
  args.turn = Turn::Adjacent;
  args.dims = args.angle_stride = kBenchDim;
  args.angles = angles.as<float>();
  return args;
}

}  // namespace rz::cuda
