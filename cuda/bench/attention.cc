// Attention of a layer: decoding at several depths, alone and 32 timelines together, and a prompt.
#include <span>

#include "cuda/bench/bench.h"
#include "cuda/bench/timelines.h"

namespace rz::cuda {

namespace {

struct Case {
  int32_t length;     // tokens in the pages, the row's own included
  int32_t timelines;  // a row each; 0 = all rows of one
};
constexpr Case kReal[] = {{512, 1}, {512, 32}, {4096, 1}, {4096, 32}, {32768, 1}, {32768, 32}, {2048, 0}};
constexpr Case kTiny[] = {{70, 1}, {600, 2}, {40, 0}};

std::string name_of(const Case &c, Type type) {
  const std::string kv = type == Type::F16 ? "/f16/" : "/q8_0/", length = std::to_string(c.length);
  return c.timelines == 0 ? "attention" + kv + "prompt-" + length
                          : "attention" + kv + length + "/" + std::to_string(c.timelines);
}

// Keys and values, read once; a product with each and one of its weight with each. A prompt's rows see half
// of what there is.
Cost cost_of(const Case &c, Type type) {
  const double length = c.length, seen = c.timelines == 0 ? length * (length + 1) / 2 : length * c.timelines;
  const double token = static_cast<double>(Timelines::page_bytes(type)) / kPageTokens;
  return {token * length * (c.timelines == 0 ? 1 : c.timelines), 4.0 * kBenchHeads * kBenchDim * seen};
}

void bench_case(Bench &bench, const Case &c, Type type) {
  const std::string name = name_of(c, type);
  if (!bench.wants(name)) return;
  Queue &queue = bench.queue();
  const int32_t together = c.timelines == 0 ? 1 : c.timelines;
  const uint64_t bytes = Timelines::bytes(type, together, c.length);
  const int copies = bench.copies_of(bytes);
  // Besides: what blocks that share a row's chunks leave for each other.
  if (!bench.has_room(name, 2 * bytes * static_cast<uint64_t>(copies))) return;
  const Timelines timelines(queue, type, copies * together, c.length);
  AttentionArgs args;
  args.rows = c.timelines == 0 ? timelines.prompt(0) : timelines.decoding(0, together);
  args.kv = timelines.kv();
  args.heads = kBenchHeads;
  const auto queries = static_cast<size_t>(args.rows.count) * kBenchHeads;
  const DeviceMemory q = device_halves(queue, queries * kBenchDim, 5);
  const DeviceMemory out = zeros(queue, queries * kBenchDim * sizeof(Half));
  const DeviceMemory arrived = zeros(queue, queries * sizeof(int32_t));
  args.q = q.as<Half>();
  args.out = out.as<Half>();
  args.out_stride = kBenchHeads * kBenchDim;
  args.scale = 0.088f;  // 1 / sqrt(128)
  args.chunks = (c.length + kChunkTokens - 1) / kChunkTokens;
  args.splits = attention_splits(args, bench.multiprocessors());
  args.arrived = arrived.as<int32_t>();
  const DeviceMemory states(queue.device(), attention_state_bytes(args));
  args.states = states.as<float>();
  bench.time(name, cost_of(c, type), copies, [&](int copy) {
    args.rows = c.timelines == 0 ? timelines.prompt(copy) : timelines.decoding(copy * together, together);
    attention(queue, args);
  });
  expect_halves(queue, name, out, queries * kBenchDim);
}

}  // namespace

void bench_attention(Bench &bench) {
  const std::span<const Case> cases = bench.tiny() ? std::span<const Case>(kTiny) : kReal;
  for (const Type type : {Type::F16, Type::Q8_0, Type::F8}) {
    for (const Case &c : cases) bench_case(bench, c, type);
  }
}

}  // namespace rz::cuda
