// What every executor promises, on models of every family that the test makes itself: right numbers, and the
// same bits alone, in a batch, in chunks of any size, after a rewind, with any number of threads. A test
// program includes it and names its devices.
#pragma once

#include <gtest/gtest.h>

#include "support/reference.h"
#include "support/relative_error.h"
#include "support/shared_data.h"
#include "support/timeline.h"
#include "support/tiny_models.h"

namespace rz::test {

using ForwardParam = std::tuple<std::string, std::string>;  // device, architecture
class Forward : public testing::TestWithParam<ForwardParam> {
 protected:
  std::string device() const { return std::get<0>(GetParam()); }
  std::filesystem::path model(Type type = Type::F32) const {
    return write_tiny_model(tiny_model(std::get<1>(GetParam()), type), scratch_folder());
  }
};

// A key that rounds to the other half in float makes up most of the CPU's error. A GPU multiplies with
// halves.
inline bool on_gpu(const std::string &device) { return device.starts_with("cuda"); }
inline double reference_bound(const std::string &device) { return on_gpu(device) ? 3e-3 : 2e-4; }

inline std::vector<float> rows_of(const std::vector<float> &logits, size_t first, size_t n, size_t vocab) {
  return {logits.begin() + static_cast<ptrdiff_t>(first * vocab),
          logits.begin() + static_cast<ptrdiff_t>((first + n) * vocab)};
}

TEST_P(Forward, AgreesWithTheReferenceInDoublePrecision) {
  const std::filesystem::path path = model();
  Opened opened = open_model(path, device());
  const std::vector<int32_t> tokens = some_tokens(70, opened.vocab());
  Timeline timeline(opened, 0, 8);
  const std::vector<float> logits = timeline.eval(tokens);
  const std::vector<double> expected = reference_logits(*opened.model->file, tokens, {.half_kv = true});
  EXPECT_LT(relative_error(logits, expected), reference_bound(device()));
}

TEST_P(Forward, GivesTheSameBitsInChunksOfAnySize) {
  for (const Type type : {Type::F32, Type::Q8_0, Type::Q4_K}) {
    Opened opened = open_model(model(type), device());
    const std::vector<int32_t> tokens = some_tokens(on_gpu(device()) ? 35 : 75, opened.vocab());
    Timeline whole(opened, 0, 4);
    const std::vector<float> expected = whole.eval(tokens, 64);
    int32_t page = 4;
    for (const int32_t chunk : {1, 2, 5, 17, 33}) {
      Timeline chunked(opened, page, 4);
      EXPECT_EQ(chunked.eval(tokens, chunk), expected) << "chunks of " << chunk << ", " << traits(type).name;
      page += 4;
    }
  }
}

// Of devices that share their work among threads of the host.
class ForwardThreads : public Forward {};

TEST_P(ForwardThreads, GivesTheSameBitsWithAnyNumberOfThreads) {
  for (const Type type : {Type::F16, Type::Q4_0, Type::Q6_K}) {
    const std::filesystem::path path = model(type);
    Opened one = open_model(path, device(), 1);
    const std::vector<int32_t> tokens = some_tokens(60, one.vocab());
    const std::vector<float> expected = Timeline(one, 0, 4).eval(tokens, 23);
    for (const int32_t threads : {2, 3}) {
      Opened many = open_model(path, device(), threads);
      EXPECT_EQ(Timeline(many, 0, 4).eval(tokens, 23), expected)
          << threads << " threads, " << traits(type).name;
    }
  }
}

TEST_P(Forward, GivesTheSameBitsAfterARewind) {
  Opened opened = open_model(model(Type::Q8_0), device(), 2);
  const auto vocab = static_cast<size_t>(opened.vocab());
  const std::vector<int32_t> tokens = some_tokens(50, opened.vocab());
  Timeline timeline(opened, 0, 4);
  const std::vector<float> expected = timeline.eval(tokens);
  timeline.rewind(20);
  timeline.eval({5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});  // another future, forgotten again
  timeline.rewind(20);
  const std::vector<float> again = timeline.eval({tokens.begin() + 20, tokens.end()}, 7);
  EXPECT_EQ(again, rows_of(expected, 20, 30, vocab));
}

TEST_P(Forward, GivesTheSameBitsBesideOtherSequences) {
  Opened opened = open_model(model(Type::Q5_K), device(), 2);
  const auto vocab = static_cast<size_t>(opened.vocab());
  const std::vector<int32_t> a = some_tokens(40, opened.vocab());
  std::vector<int32_t> b(a.rbegin(), a.rend());
  Timeline alone_a(opened, 0, 4), alone_b(opened, 4, 4);
  const std::vector<float> expected_a = alone_a.eval(a), expected_b = alone_b.eval(b);

  // Both at once: 3 rows of a and 2 of b in each batch, b's pages not in order.
  const std::vector<int32_t> pages_a = {8, 9}, pages_b = {13, 11};
  const std::span<const int32_t> tables[2] = {pages_a, pages_b};
  std::vector<float> found_a, found_b;
  for (int32_t step = 0; step < 13; ++step) {
    std::vector<int32_t> tokens, positions, sequences, rows;
    for (int32_t i = 0; i < 5; ++i) {
      const int32_t position = i < 3 ? step * 3 + i : step * 2 + i - 3;
      tokens.push_back(i < 3 ? a[static_cast<size_t>(position)] : b[static_cast<size_t>(position)]);
      positions.push_back(position);
      sequences.push_back(i < 3 ? 0 : 1);
      rows.push_back(i);
    }
    std::vector<float> logits(5 * vocab);
    Batch batch;
    batch.tokens = tokens;
    batch.positions = positions;
    batch.sequences = sequences;
    batch.page_tables = tables;
    batch.logit_rows = rows;
    batch.logits = logits.data();
    opened.executor->run(batch, {});
    found_a.insert(found_a.end(), logits.begin(), logits.begin() + static_cast<ptrdiff_t>(3 * vocab));
    found_b.insert(found_b.end(), logits.begin() + static_cast<ptrdiff_t>(3 * vocab), logits.end());
  }
  EXPECT_EQ(found_a, rows_of(expected_a, 0, 39, vocab));
  EXPECT_EQ(found_b, rows_of(expected_b, 0, 26, vocab));
}

TEST_P(Forward, GoesOnFromAnyOpWithTheSameBits) {
  Opened opened = open_model(model(Type::Q4_K), device(), 2);
  const std::vector<int32_t> tokens = some_tokens(9, opened.vocab()), pages = {3};
  const std::vector<int32_t> positions = {0, 1, 2, 3, 4, 5, 6, 7, 8}, sequences(9, 0), rows = {8};
  const std::span<const int32_t> table(pages);
  std::vector<float> whole(static_cast<size_t>(opened.vocab())), parts(whole.size());
  Batch batch;
  batch.tokens = tokens;
  batch.positions = positions;
  batch.sequences = sequences;
  batch.page_tables = {&table, 1};
  batch.logit_rows = rows;
  batch.logits = whole.data();
  const auto ops = static_cast<int32_t>(opened.model->plan.ops.size());
  EXPECT_EQ(opened.executor->run(batch, {}), ops);
  batch.logits = parts.data();
  int32_t op = 0;
  for (int32_t steps = 0; op < ops; ++steps) {
    ASSERT_LE(steps, ops);
    const int32_t next = opened.executor->run(batch, {.first_op = op, .budget_us = 1});
    ASSERT_GT(next, op) << "at least one op";
    op = next;
  }
  EXPECT_EQ(parts, whole);
}

TEST_P(Forward, KeepsCloseToItselfWithEightBitKeysAndValues) {
  const std::filesystem::path path = model(Type::F16);
  Opened half = open_model(path, device());
  const std::vector<int32_t> tokens = some_tokens(60, half.vocab());
  const std::vector<float> expected = Timeline(half, 0, 4).eval(tokens);
  for (const Type kv : {Type::Q8_0, Type::F8}) {
    if (kv == Type::F8 && device() != "cuda") continue;
    Opened eight = open_model(path, device(), 1, kv);
    const std::vector<float> found = Timeline(eight, 0, 4).eval(tokens);
    // Experts near a tie may be chosen otherwise, which moves a random model's row by much.
    const double bound = half.model->spec.experts != 0 ? 1e-1 : 2e-2;
    // F8 has 4 bits of a number, codes with a scale have up to 7.
    EXPECT_LT(relative_error(found, expected), kv == Type::F8 ? 3 * bound : bound) << traits(kv).name;
    Timeline chunked(eight, 4, 4);
    EXPECT_EQ(chunked.eval(tokens, 7), found) << traits(kv).name;
  }
}

inline std::string name_of_forward(const testing::TestParamInfo<ForwardParam> &info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

// Contexts long enough to be cut into chunks and split over threads.
class LongContext : public testing::TestWithParam<std::string> {};

TEST_P(LongContext, GivesTheSameBitsHoweverItsPagesAreShared) {
  TinyModel what = tiny_model("llama", Type::F16);
  what.context = 2048;
  const std::filesystem::path path = write_tiny_model(what, scratch_folder());
  const std::string device = GetParam();
  for (const Type kv : {Type::F16, Type::Q8_0, Type::F8}) {
    if (kv == Type::F8 && device != "cuda") continue;
    Opened one = open_model(path, device, 1, kv, 64), two = open_model(path, device, 2, kv, 64);
    const auto vocab = static_cast<size_t>(one.vocab());
    // Past the end of two of a GPU's chunks, or of two of the CPU's; an emulator takes its time.
    const int32_t n = on_gpu(device) ? 560 : 1500;
    const std::vector<int32_t> tokens = some_tokens(n, one.vocab());
    const std::vector<float> expected = Timeline(one, 0, 64).eval(tokens, 64);
    Timeline timeline(two, 0, 64);
    timeline.eval({tokens.begin(), tokens.end() - 20}, 64);
    const std::vector<float> single =
        timeline.eval({tokens.end() - 20, tokens.end()}, 1);  // split over threads
    EXPECT_EQ(single, rows_of(expected, static_cast<size_t>(n) - 20, 20, vocab)) << device;
  }
}

}  // namespace rz::test
