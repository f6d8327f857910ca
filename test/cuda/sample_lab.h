// Generations sampled side by side by the engine's sampler and by the device's, which have to agree in every
// bit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <vector>

#include "base/error.h"
#include "cuda/sampler_table.h"
#include "engine/sampler.h"

namespace rz::test {

class SampleLab {
 public:
  static constexpr int32_t kRingSlots = 3, kTopStride = 24, kGrowth = 64;

  SampleLab(int32_t vocab, int32_t rows) : vocab_(vocab), stride_(vocab + 3), rows_(rows), queue_(0) {
    const auto n = static_cast<uint64_t>(rows);
    logits_ = {0, n * static_cast<uint64_t>(stride_) * sizeof(float)};
    seats_ = {0, n * sizeof(int32_t)};
    table_ = {0, n * sizeof(cuda::SampleRow)};
    work_ = {0, n * cuda::sample_work_bytes(vocab)};
    chosen_ = {0, n * sizeof(int32_t)};
    ring_ = cuda::HostMemory(n * kRingSlots * sizeof(cuda::SampleRecord));
    top_ = cuda::HostMemory(n * kRingSlots * kTopStride * sizeof(cuda::TokenChance));
    for (int32_t i = 0; i < rows * kRingSlots; ++i) ring_.as<cuda::SampleRecord>()[i].sequence = 0;
    queue_.fill(work_.data(), 0, work_.size_bytes());
    queue_.fill(chosen_.data(), 0, chosen_.size_bytes());
    seats_of_.resize(static_cast<size_t>(rows), -1);
  }

  // Row i of the logits, and of the table, is this generation from now on.
  void start(int32_t i, const SamplingOptions &options, const std::vector<int32_t> &history,
             uint64_t step = 0, bool logprob = true) {
    if (generations_.size() <= static_cast<size_t>(i)) generations_.resize(static_cast<size_t>(i) + 1);
    Generation &g = generations_[static_cast<size_t>(i)].emplace(options, vocab_, history, step, logprob);
    const std::vector<cuda::TokenBias> biases = cuda::biases_of(options);
    g.biases = {0, biases.size() * sizeof(cuda::TokenBias)};
    g.tokens = {0, (history.size() + kGrowth) * sizeof(int32_t)};
    if (!biases.empty()) queue_.copy_in(g.biases.data(), biases.data(), g.biases.size_bytes());
    if (!history.empty()) queue_.copy_in(g.tokens.data(), history.data(), history.size() * sizeof(int32_t));
    cuda::SampleRow row;
    row.settings = cuda::settings_of(options);
    row.settings.logprob = logprob;
    row.biases = g.biases.as<cuda::TokenBias>();
    row.n_biases = static_cast<int32_t>(biases.size());
    row.tokens = g.tokens.as<int32_t>();
    row.n_tokens = static_cast<int32_t>(history.size());
    row.capacity = row.n_tokens + kGrowth;
    row.ring = ring_.as<cuda::SampleRecord>() + i * kRingSlots;
    row.top = top_.as<cuda::TokenChance>() + i * kRingSlots * kTopStride;
    row.ring_slots = kRingSlots;
    row.top_stride = kTopStride;
    row.step = step;
    row.mirostat_mu = 2 * static_cast<double>(options.mirostat_tau);
    queue_.copy_in(table_.as<cuda::SampleRow>() + i, &row, sizeof row);
    seats_of_[static_cast<size_t>(i)] = i;
    queue_.wait();
  }
  void stop(int32_t i) {
    seats_of_[static_cast<size_t>(i)] = -1;
    generations_[static_cast<size_t>(i)].reset();
  }

  cuda::SampleArgs args() const {
    cuda::SampleArgs a;
    a.logits = logits_.as<float>();
    a.rows = rows_;
    a.vocab = vocab_;
    a.logits_stride = stride_;
    a.seats = seats_.as<int32_t>();
    a.table = table_.as<cuda::SampleRow>();
    a.work = work_.data();
    a.chosen = chosen_.as<int32_t>();
    return a;
  }
  cuda::Queue &queue() { return queue_; }
  void put(int32_t i, const std::vector<float> &logits) {
    queue_.copy_in(logits_.as<float>() + i * stride_, logits.data(), logits.size() * sizeof(float));
    queue_.wait();
  }
  void put_seats() {
    queue_.copy_in(seats_.data(), seats_of_.data(), seats_.size_bytes());
    queue_.wait();
  }

  // One step of all rows; row i has logits[i].
  void step(const std::vector<std::vector<float>> &logits) {
    put_seats();
    for (size_t i = 0; i < logits.size(); ++i) put(static_cast<int32_t>(i), logits[i]);
    cuda::sample(queue_, args());
    queue_.wait();
    for (size_t i = 0; i < generations_.size(); ++i) {
      if (generations_[i]) compare(static_cast<int32_t>(i), logits[i]);
    }
  }

  const cuda::SampleRecord &record(int32_t i, uint64_t step) const {
    return ring_.as<cuda::SampleRecord>()[static_cast<uint64_t>(i) * kRingSlots + step % kRingSlots];
  }
  const cuda::SampleRow &row(int32_t i) const { return table_.as<cuda::SampleRow>()[i]; }

  // The host's turn for row i: `steps` steps whose logits follow from the token chosen last, 0 at first, and
  // the length of the timeline.
  template <class Forward>
  void compare_ahead(int32_t i, int steps, Forward forward) {
    const std::vector<int32_t> &history = generations_[static_cast<size_t>(i)]->history;
    int32_t token = 0;
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      compare_step(i, forward(token, static_cast<int32_t>(history.size())));
      token = history.back();
    }
    EXPECT_EQ(row(i).step, generations_[static_cast<size_t>(i)]->step);
  }
  void compare(int32_t i, const std::vector<float> &logits) {
    compare_step(i, logits);
    const Generation &g = *generations_[static_cast<size_t>(i)];
    const auto n = static_cast<int32_t>(g.history.size());
    if (row(i).halted || testing::Test::HasFailure()) return;
    EXPECT_EQ(chosen_.as<int32_t>()[i], g.history.back());
    EXPECT_EQ(row(i).n_tokens, n);
    EXPECT_EQ(row(i).step, g.step);
  }

 private:
  void compare_step(int32_t i, std::vector<float> logits) {
    Generation &g = *generations_[static_cast<size_t>(i)];
    const cuda::SampleRecord &found = record(i, g.step);
    SCOPED_TRACE("row " + std::to_string(i) + " of " + std::to_string(rows_) + ", vocabulary " +
                 std::to_string(vocab_) + ", step " + std::to_string(g.step));
    ASSERT_EQ(found.sequence, g.step + 1);
    Sampled expected;
    try {
      expected = g.sampler.sample(logits, g.history, g.step);
    } catch (const Error &error) {
      expect_refusal(found, error);
      return;
    }
    ASSERT_EQ(found.status, cuda::SampleStatus::Ok);
    ASSERT_EQ(found.token, expected.token);
    if (g.logprob) {
      EXPECT_EQ(std::bit_cast<uint32_t>(found.logprob), std::bit_cast<uint32_t>(expected.logprob));
    }
    ASSERT_EQ(found.n_top, static_cast<int32_t>(expected.top.size()));
    const cuda::TokenChance *top = top_.as<cuda::TokenChance>() +
                                   (i * kRingSlots + static_cast<int32_t>(g.step % kRingSlots)) * kTopStride;
    for (size_t k = 0; k < expected.top.size(); ++k) {
      EXPECT_EQ(top[k].token, expected.top[k].token);
      EXPECT_EQ(top[k].logprob, expected.top[k].logprob);
    }
    EXPECT_EQ(g.tokens.as<int32_t>()[g.history.size()], expected.token);
    g.history.push_back(expected.token);
    ++g.step;
  }

  struct Generation {
    Generation(const SamplingOptions &options, int32_t vocab, const std::vector<int32_t> &before, uint64_t at,
               bool wants_logprob)
        : sampler(options, vocab), history(before), step(at), logprob(wants_logprob) {}
    Sampler sampler;
    std::vector<int32_t> history;
    uint64_t step;
    bool logprob;
    cuda::DeviceMemory biases, tokens;
  };

  void expect_refusal(const cuda::SampleRecord &found, const Error &error) {
    const std::string what = error.what(), token = "token " + std::to_string(found.token) + ":";
    switch (found.status) {
      case cuda::SampleStatus::Ok:
        ADD_FAILURE() << "expected " << what;
        return;
      case cuda::SampleStatus::Nan:
        EXPECT_NE(what.find("found nan"), what.npos) << what;
        break;
      case cuda::SampleStatus::Infinite:
        EXPECT_NE(what.find("found inf"), what.npos) << what;
        break;
      case cuda::SampleStatus::None:
        EXPECT_NE(what.find("found none"), what.npos) << what;
        return;
    }
    EXPECT_NE(what.find(token), what.npos) << what << ", not " << token;
  }

  int32_t vocab_, stride_, rows_;
  cuda::Queue queue_;
  cuda::DeviceMemory logits_, seats_, table_, work_, chosen_;
  cuda::HostMemory ring_, top_;
  std::vector<int32_t> seats_of_;
  std::vector<std::optional<Generation>> generations_;
};

}  // namespace rz::test
