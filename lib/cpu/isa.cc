#include "cpu/isa.h"

#include "base/error.h"

namespace rz::cpu {

namespace {

bool has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool has_avx2() {
#if defined(__x86_64__)  // every processor with AVX2 has F16C, which GCC 12 cannot ask for by name
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool always() { return true; }

struct Set {
  std::string_view name;
  bool (*runs_here)();
  const Kernels *(*kernels)();
};

constexpr Set kSets[] = {
// best first
#if defined(__x86_64__)
    {"avx512", has_avx512, avx512_kernels},
    {"avx2", has_avx2, avx2_kernels},
#endif
    {"plain", always, plain_kernels},
};

}  // namespace

const Kernels &choose_kernels(std::string_view name) {
  for (const Set &set : kSets) {
    if (!name.empty() && set.name != name) continue;
    if (set.runs_here()) return *set.kernels();
    if (!name.empty()) fail(Status::Device, "device: this processor has no %s", std::string(name).c_str());
  }
  fail(Status::Argument, "device: expected cpu, cpu:avx512, cpu:avx2 or cpu:plain, found cpu:%s",
       std::string(name).c_str());
}

}  // namespace rz::cpu
