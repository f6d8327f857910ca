// What the timings of kernels share. They stand beside the tests of the same kernels and use the same
// problems; `make bench-kernels` runs them.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "cpu/kernels.h"
#include "support/kernel_sets.h"

namespace rz::test {

// Rates of what one iteration reads and computes.
inline void count_bytes(benchmark::State &state, uint64_t bytes) {
  const double total = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["bytes"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
}
inline void count_ops(benchmark::State &state, uint64_t ops) {  // 2 per multiply-accumulate
  const double total = static_cast<double>(ops) * static_cast<double>(state.iterations());
  state.counters["ops"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
}

// Calls add(name, kernels) for the sets that this processor can run, to register timings of each. Its result
// is for a constant whose initialization does that.
template <class Add>
bool for_every_set(Add add) {
  for (const std::string &name : kernel_sets()) add(name, cpu::choose_kernels(name));
  return true;
}

}  // namespace rz::test
