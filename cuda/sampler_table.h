// The seats of the device's sampler: what it knows of each generation that sits there, and how its answers
// are read.
#pragma once

#include <mutex>
#include <vector>

#include "backend/backend.h"
#include "cuda/kernels/sampling.h"

namespace rz::cuda {

// What of the options the device reads. Biases come in ascending tokens; equal ones stay in the order of
// application.
SampleSettings settings_of(const SamplingOptions &options);
std::vector<TokenBias> biases_of(const SamplingOptions &options);

class SamplerTable {
 public:
  SamplerTable(Queue &queue, int32_t seats);

  int32_t take(Queue &queue, const SamplerSeat &wanted);  // -1: all are taken, or it asks for too much
  void give_up(int32_t seat);                             // any thread
  SampleRow *rows() const { return device_rows_.as<SampleRow>(); }
  int32_t *chosen() const { return chosen_.as<int32_t>(); }  // (seats) see SampleArgs
  // After a step in which the seat was asked and which is done: what it chose. One more step may be under
  // way. The alternatives stay until the next but one is given.
  SampledToken read(int32_t seat);

 private:
  struct Seat {
    SampleRow row;  // as the device got it
    DeviceMemory tokens, biases;
    HostMemory ring, top;  // records of two steps, and their alternatives
    uint64_t step = 0;     // that is read next
    SampledToken halted;   // with trouble: nothing was sampled after it
    bool taken = false;
  };
  static constexpr int32_t kMostAlternatives = 64, kRingSlots = 2;

  std::vector<Seat> seats_;
  DeviceMemory device_rows_, chosen_;
  std::mutex mutex_;
  std::vector<int32_t> left_;  // given up, and not free yet: their memory may be in use
};

}  // namespace rz::cuda
