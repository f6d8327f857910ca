// Every matmul of a 1B and an 8B model, in every format of weights, for as many rows as decoding and prompts
// have: "few" up to 64 rows, which reading the weights limits, and "many", which the tensor cores do.
#include <algorithm>
#include <span>

#include "cuda/bench/bench.h"
#include "cuda/bench/inputs.h"
#include "cuda/kernels/kernels.h"

namespace rz::cuda {

namespace {

struct Shape {
  const char *name;
  int32_t rows, cols;  // of the weights
  Finish finish;       // Activate: gate and up
  bool prompts;        // a head is for few rows alone
};

constexpr Shape kReal[] = {
    {"1b-qkv", 3072, 2048, Finish::Store, true},  {"1b-gate-up", 8192, 2048, Finish::Activate, true},
    {"1b-down", 2048, 8192, Finish::Add, true},   {"8b-qkv", 6144, 4096, Finish::Store, true},
    {"8b-output", 4096, 4096, Finish::Add, true}, {"8b-gate-up", 14336, 4096, Finish::Activate, true},
    {"8b-down", 4096, 14336, Finish::Add, true},  {"8b-head", 128256, 4096, Finish::Store, false}};
constexpr Shape kTiny[] = {{"tiny-gate-up", 48, 256, Finish::Activate, true},
                           {"tiny-down", 40, 512, Finish::Add, true}};

constexpr Type kTypes[] = {Type::F16,  Type::Q4_0, Type::Q8_0, Type::Q4_1,
                           Type::Q4_K, Type::Q5_K, Type::Q6_K};  // one for each format on the device

constexpr int32_t kRows[] = {1, 2, 4, 8, 16, 32, 64, 128, 512, 2048};
constexpr int32_t kTinyRows[] = {1, 32, 70};

std::string name_of(const Shape &shape, Type type, int32_t rows) {
  return std::string(rows > kFewRows ? "many/" : "few/") + shape.name + "/" + traits(type).name + "/" +
         std::to_string(rows);
}

std::vector<int32_t> wanted_rows(const Bench &bench, const Shape &shape, Type type) {
  std::vector<int32_t> rows;
  const std::span<const int32_t> all = bench.tiny() ? std::span<const int32_t>(kTinyRows) : kRows;
  for (const int32_t n : all) {
    if ((shape.prompts || n <= kFewRows) && bench.wants(name_of(shape, type, n))) rows.push_back(n);
  }
  return rows;
}

// Weights, activations and results, each once.
Cost cost_of(const MatmulArgs &args) {
  const MatmulSegment &s = args.segments[0];
  const bool gated = s.finish == Finish::Activate;
  const double n = args.rows, rows = s.w.rows, cols = s.w.cols, matrices = gated ? 2 : 1;
  const double of_result = s.finish == Finish::Add ? 2 * sizeof(float) : gated ? sizeof(Half) : sizeof(float);
  return {matrices * static_cast<double>(bytes_of(s.w)) + n * (cols * sizeof(Half) + rows * of_result),
          matrices * 2 * n * rows * cols};
}

void bench_shape(Bench &bench, const Shape &shape, Type type) {
  const std::vector<int32_t> rows = wanted_rows(bench, shape, type);
  if (rows.empty()) return;
  Queue &queue = bench.queue();
  const bool gated = shape.finish == Finish::Activate;
  const uint64_t matrix = bytes_of(make_tiles(format_of(type), shape.rows, shape.cols));
  const int per_copy = gated ? 2 : 1, copies = bench.copies_of(matrix * static_cast<uint64_t>(per_copy));
  const RandomMatrix weights(queue, type, shape.rows, shape.cols, copies * per_copy);
  const auto most = static_cast<size_t>(std::ranges::max(rows));
  MatmulArgs args;
  args.n_segments = 1;
  args.x_stride = steps_of(shape.cols) * kStepCols;
  const DeviceMemory x = device_halves(queue, most * static_cast<size_t>(args.x_stride), 2);
  const DeviceMemory y = zeros(queue, most * static_cast<size_t>(shape.rows) * sizeof(float));
  args.x = x.as<Half>();
  MatmulSegment &segment = args.segments[0];
  segment.w = weights.copy(0);
  segment.finish = shape.finish;
  segment.y = y.data();
  segment.y_stride = shape.rows;
  for (const int32_t n : rows) {
    args.rows = n;
    bench.time(name_of(shape, type, n), cost_of(args), copies, [&](int copy) {
      segment.w = weights.copy(copy * per_copy);
      if (gated) segment.gate = weights.copy(copy * per_copy + 1);
      matmul(queue, args);
    });
    (gated ? expect_halves : expect_floats)(queue, name_of(shape, type, n), y,
                                            static_cast<size_t>(shape.rows));
  }
}

}  // namespace

void bench_matmuls(Bench &bench) {
  const std::span<const Shape> shapes = bench.tiny() ? std::span<const Shape>(kTiny) : kReal;
  for (const Shape &shape : shapes) {
    for (const Type type : kTypes) bench_shape(bench, shape, type);
  }
}

}  // namespace rz::cuda
