// What goes over rows of activations: norms, and q, k and v on their way to the pages. What they read was
// written just before and lies in the second-level cache, so that the share of the memory may pass 100 %.
#include <span>

#include "cuda/bench/bench.h"
#include "cuda/bench/timelines.h"

namespace rz::cuda {

namespace {

constexpr int32_t kRows[] = {1, 32, 2048};
constexpr int32_t kTinyRows[] = {1, 3};
std::span<const int32_t> rows_of(const Bench &bench) {
  return bench.tiny() ? std::span<const int32_t>(kTinyRows) : kRows;
}

void bench_norm(Bench &bench, int32_t cols, int32_t rows) {
  const std::string name = "norm/" + std::to_string(cols) + "/" + std::to_string(rows);
  if (!bench.wants(name)) return;
  Queue &queue = bench.queue();
  const auto n = static_cast<size_t>(rows) * static_cast<size_t>(cols);
  const DeviceMemory x = device_floats(queue, n, 1, 1), y = zeros(queue, n * sizeof(Half));
  const DeviceMemory weight = device_floats(queue, static_cast<size_t>(cols), 1, 2);
  NormArgs args;
  args.norm = {NormStyle::Rms, 1e-5f, weight.as<float>(), nullptr};
  args.x = x.as<float>();
  args.cols = args.y_stride = cols;
  args.y = y.as<Half>();
  const Cost cost = {static_cast<double>(n) * (sizeof(float) + sizeof(Half)), 0};
  bench.time(name, cost, 1, [&](int) { norm(queue, args, rows); });
  expect_halves(queue, name, y, n);
}

// Up to 64 rows decode, each in a sequence of its own; more are a prompt.
void bench_append(Bench &bench, Type type, int32_t rows) {
  const std::string kv = type == Type::F16 ? "append/f16/" : "append/q8_0/", name = kv + std::to_string(rows);
  if (!bench.wants(name)) return;
  Queue &queue = bench.queue();
  const bool decoding = rows <= kFewRows;
  const Timelines timelines(queue, type, decoding ? rows : 1, decoding ? kPageTokens : rows);
  const QkvRows inputs(queue, rows);
  const AppendArgs args =
      inputs.append(decoding ? timelines.decoding(0, rows) : timelines.prompt(0), timelines.kv());
  const double read = (kBenchHeads + 2 * kBenchKvHeads + 1) * kBenchDim * sizeof(float);  // and angles
  const double written =
      kBenchHeads * kBenchDim * sizeof(Half) + static_cast<double>(Timelines::page_bytes(type)) / kPageTokens;
  bench.time(name, {rows * (read + written), 0}, 1, [&](int) { append(queue, args); });
  expect_halves(queue, name, inputs.q_out, static_cast<size_t>(rows) * kBenchHeads * kBenchDim);
}

}  // namespace

void bench_rows(Bench &bench) {
  for (const int32_t rows : rows_of(bench)) {
    if (bench.tiny()) {
      bench_norm(bench, 100, rows);
    } else {
      bench_norm(bench, 2048, rows);
      bench_norm(bench, 4096, rows);
    }
    bench_append(bench, Type::F16, rows);
    bench_append(bench, Type::Q8_0, rows);
  }
}

}  // namespace rz::cuda
