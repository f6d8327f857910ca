// The tests of this room, or with any --benchmark_ argument the timings that stand beside them.
#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

int main(int argc, char **argv) {
  const bool times = std::any_of(argv + 1, argv + argc, [](const char *argument) {
    return std::string_view(argument).starts_with("--benchmark_");
  });
  if (!times) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
