#include "cuda/ceilings.h"

#include <algorithm>
#include <vector>

#include "cuda/kernels/kernels.h"

namespace rz::cuda {

namespace {

constexpr int kRounds = 9;  // the median of them
constexpr uint64_t kMostBytes = uint64_t{2} << 30;
constexpr int kBlocksPerMultiprocessor = 8;

template <class Give>
double median_per_second(Queue &queue, Give give) {
  const auto before = queue.make_mark(), after = queue.make_mark();
  std::vector<double> rates;
  for (int round = 0; round <= kRounds; ++round) {
    queue.reach(*before);
    const double work = give();
    queue.reach(*after);
    if (round > 0)
      rates.push_back(work / queue.microseconds(*before, *after) * 1e6);  // the first one warms up
    queue.wait();
  }
  std::ranges::nth_element(rates, rates.begin() + kRounds / 2);
  return rates[kRounds / 2];
}

}  // namespace

Ceilings measure_ceilings(int device) {
  const DeviceFacts facts = device_facts(device);
  Queue queue(device);
  // Many times the cache, where there is room.
  const uint64_t bytes =
      std::min({kMostBytes, free_bytes(device) / 2, 64 * facts.l2_bytes}) / sizeof(Words4) * sizeof(Words4);
  DeviceMemory data(device, bytes), out(device, sizeof(uint32_t));
  queue.fill(data.data(), 1, bytes);
  const int blocks = facts.multiprocessors * kBlocksPerMultiprocessor;
  Ceilings ceilings;
  ceilings.threads = facts.multiprocessors;
  ceilings.read_bytes_per_s = median_per_second(queue, [&] {
    read_ceiling(queue, {data.as<Words4>(), static_cast<int64_t>(bytes / sizeof(Words4)), out.as<uint32_t>()},
                 blocks);
    return static_cast<double>(bytes);
  });
  const int steps =
      facts.l2_bytes > (uint64_t{8} << 20) ? 20000 : 20;  // a tenth of a second, but not for an emulator
  const double rate = median_per_second(queue, [&] {
    return static_cast<double>(multiply_ceiling(queue, {steps, out.as<uint32_t>()}, blocks));
  });
  ceilings.float_ops_per_s = ceilings.int8_ops_per_s = rate;
  return ceilings;
}

}  // namespace rz::cuda
