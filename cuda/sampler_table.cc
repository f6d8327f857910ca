#include "cuda/sampler_table.h"

#include <algorithm>

#include "base/error.h"

namespace rz::cuda {

namespace {

SampledToken::Trouble trouble_of(SampleStatus status) {
  using Trouble = SampledToken::Trouble;
  switch (status) {
    case SampleStatus::Ok:
      return Trouble::None;
    case SampleStatus::Nan:
      return Trouble::Nan;
    case SampleStatus::Infinite:
      return Trouble::Infinite;
    default:
      return Trouble::Nothing;
  }
}

void need(DeviceMemory &memory, int device, uint64_t size_bytes) {
  if (memory.size_bytes() >= size_bytes) return;
  memory = {};
  memory = DeviceMemory(device, size_bytes);
}

}  // namespace

SampleSettings settings_of(const SamplingOptions &o) {
  SampleSettings s;
  s.temperature = o.temperature;
  s.top_k = o.top_k;
  s.top_p = o.top_p;
  s.min_p = o.min_p;
  s.typical_p = o.typical_p;
  s.repeat_penalty = o.repeat_penalty;
  s.repeat_last_n = o.repeat_last_n;
  s.presence_penalty = o.presence_penalty;
  s.frequency_penalty = o.frequency_penalty;
  s.dry_multiplier = o.dry_multiplier;
  s.dry_base = o.dry_base;
  s.dry_allowed_length = o.dry_allowed_length;
  s.xtc_probability = o.xtc_probability;
  s.xtc_threshold = o.xtc_threshold;
  s.mirostat = o.mirostat;
  s.mirostat_tau = o.mirostat_tau;
  s.mirostat_eta = o.mirostat_eta;
  s.seed = o.seed;
  s.logprobs = o.logprobs;
  return s;
}

std::vector<TokenBias> biases_of(const SamplingOptions &o) {
  std::vector<TokenBias> biases;
  for (const SamplingOptions::Bias &b : o.biases) biases.push_back({b.token, b.bias});
  std::ranges::stable_sort(biases, {}, &TokenBias::token);
  return biases;
}

SamplerTable::SamplerTable(Queue &queue, int32_t seats)
    : seats_(static_cast<size_t>(seats)),
      device_rows_(queue.device(), static_cast<uint64_t>(seats) * sizeof(SampleRow)),
      chosen_(queue.device(), static_cast<uint64_t>(seats) * sizeof(int32_t)) {
  queue.fill(device_rows_.data(), 0, device_rows_.size_bytes());
  queue.fill(chosen_.data(), 0, chosen_.size_bytes());
}

int32_t SamplerTable::take(Queue &queue, const SamplerSeat &wanted) {
  {
    const std::lock_guard lock(mutex_);
    for (const int32_t seat : left_) seats_[static_cast<size_t>(seat)].taken = false;
    left_.clear();
  }
  const auto found = std::ranges::find(seats_, false, &Seat::taken);
  const SampleSettings settings = settings_of(*wanted.options);
  if (found == seats_.end() || !device_can_sample(settings, kMostAlternatives)) return -1;
  Seat &seat = *found;
  const std::vector<TokenBias> biases = biases_of(*wanted.options);
  const auto capacity =
      static_cast<uint64_t>(std::max<int32_t>(wanted.most_tokens, 1)) + wanted.history.size();
  need(seat.tokens, queue.device(), capacity * sizeof(int32_t));
  need(seat.biases, queue.device(), biases.size() * sizeof(TokenBias));
  if (seat.ring.size_bytes() == 0) seat.ring = HostMemory(kRingSlots * sizeof(SampleRecord));
  if (seat.top.size_bytes() == 0) seat.top = HostMemory(kRingSlots * kMostAlternatives * sizeof(TokenChance));
  seat.row = {};
  seat.row.settings = settings;
  seat.row.biases = seat.biases.as<TokenBias>();
  seat.row.n_biases = static_cast<int32_t>(biases.size());
  seat.row.tokens = seat.tokens.as<int32_t>();
  seat.row.capacity = static_cast<int32_t>(capacity);
  seat.row.ring = seat.ring.as<SampleRecord>();
  for (int32_t i = 0; i < kRingSlots; ++i) seat.row.ring[i].sequence = 0;
  seat.row.top = seat.top.as<TokenChance>();
  seat.row.ring_slots = kRingSlots;
  seat.row.top_stride = kMostAlternatives;
  seat.row.n_tokens = static_cast<int32_t>(wanted.history.size());
  seat.row.step = seat.step = wanted.step;
  seat.halted = {};
  seat.row.mirostat_mu = 2.0 * static_cast<double>(wanted.options->mirostat_tau);
  const auto number = static_cast<int32_t>(found - seats_.begin());
  queue.copy_in(seat.tokens.data(), wanted.history.data(), wanted.history.size_bytes());
  if (!biases.empty()) queue.copy_in(seat.biases.data(), biases.data(), biases.size() * sizeof(TokenBias));
  queue.copy_in(rows() + number, &seat.row, sizeof seat.row);
  queue.wait();  // what was copied is the caller's and this function's
  seat.taken = true;
  return number;
}

void SamplerTable::give_up(int32_t seat) {
  const std::lock_guard lock(mutex_);
  left_.push_back(seat);
}

SampledToken SamplerTable::read(int32_t number) {
  Seat &seat = seats_[static_cast<size_t>(number)];
  if (seat.halted.trouble != SampledToken::Trouble::None) return seat.halted;
  const uint64_t slot = seat.step++ % kRingSlots;
  const SampleRecord &record = seat.ring.as<SampleRecord>()[slot];
  if (record.sequence != seat.step) {
    fail(Status::Device, "sampler: expected the record of step %llu, found that of %llu",
         static_cast<unsigned long long>(seat.step), static_cast<unsigned long long>(record.sequence));
  }
  static_assert(sizeof(TokenChance) == sizeof(TokenLogprob));
  const SampledToken sampled = {
      record.token, record.logprob, trouble_of(record.status), record.n_top,
      reinterpret_cast<const TokenLogprob *>(seat.top.as<TokenChance>() + slot * kMostAlternatives)};
  if (sampled.trouble != SampledToken::Trouble::None) seat.halted = sampled;
  return sampled;
}

}  // namespace rz::cuda
