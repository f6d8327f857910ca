// cuda-bench: options, and the order in which kernels are timed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "cuda/bench/bench.h"

namespace {

using rz::cuda::Bench;
using rz::cuda::BenchOptions;

constexpr char kHelp[] =
    "usage: cuda-bench [options]\n"
    "Times each kernel of librz alone on a CUDA device. A row: microseconds of a launch (the median of "
    "rounds of\n"
    "about 5 ms, each a recording of launches that is replayed), (greatest - least) / median, GB/s and "
    "TFLOP/s, and\n"
    "the share of the nearer of two ceilings, which are measured at the start: reading memory, and "
    "multiplying halves\n"
    "on the tensor cores. Weights and KV pages rotate through four times the second-level cache.\n\n"
    "  --filter TEXT   only kernels with TEXT in their names: few/8b-down/Q4_K/1, many/, attention/f16, "
    "launch/\n"
    "  --csv           kernel,us,spread,launches,bytes,operations,gb_s,tflop_s,ceiling,share; 0.5 = 50 %\n"
    "  --device N      default: 0\n"
    "  --rounds N      1 to 1000; default: 9\n"
    "  --tiny          small shapes, each once: to see that everything runs\n"
    "  --help          this text\n";

int number(const char *option, const char *text, long low, long high) {
  char *end;
  const long value = std::strtol(text, &end, 10);
  if (*text && !*end && value >= low && value <= high) return static_cast<int>(value);
  rz::fail(rz::Status::Argument, "%s: expected %ld to %ld, found \"%s\"", option, low, high, text);
}

// False: the help was asked for.
bool read_options(int n_args, char **args, BenchOptions &options) {
  for (int i = 1; i < n_args; ++i) {
    const std::string_view option = args[i];
    const auto value = [&] {
      if (i + 1 == n_args) rz::fail(rz::Status::Argument, "%s: expected a value behind it", args[i]);
      return args[++i];
    };
    if (option == "--help") return false;
    if (option == "--csv") {
      options.csv = true;
    } else if (option == "--tiny") {
      options.tiny = true;
    } else if (option == "--filter") {
      options.filter = value();
    } else if (option == "--device") {
      options.device = number("--device", value(), 0, 1023);
    } else if (option == "--rounds") {
      options.rounds = number("--rounds", value(), 1, 1000);
    } else {
      rz::fail(rz::Status::Argument, "%s: no such option; --help lists them", args[i]);
    }
  }
  return true;
}

void run(const BenchOptions &options) {
  const int count = rz::cuda::device_count();
  if (options.device >= count) {
    rz::fail(rz::Status::Argument, "--device: expected a number below %d, found %d", count, options.device);
  }
  Bench bench(options);
  bench.print_head();
  rz::cuda::bench_launches(bench);
  rz::cuda::bench_matmuls(bench);
  rz::cuda::bench_attention(bench);
  rz::cuda::bench_rows(bench);
  rz::cuda::bench_sampling(bench);
  if (bench.rows_printed() == 0) {
    rz::fail(rz::Status::Argument, "--filter: expected a part of a kernel's name, found \"%s\"",
             options.filter.c_str());
  }
}

}  // namespace

int main(int n_args, char **args) {
  try {
    BenchOptions options;
    if (read_options(n_args, args, options)) {
      run(options);
    } else {
      std::fputs(kHelp, stdout);
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cuda-bench: %s\n", error.what());
    return 1;
  }
}
