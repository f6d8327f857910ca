// Attention on the emulated device: against a softmax in double precision, and its bits against themselves,
// however rows are batched and chunks shared.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "cuda/kv_batch.h"

namespace rz::cuda::test {
namespace {

constexpr Type kPageTypes[] = {Type::F16, Type::Q8_0, Type::F8};

struct Shape {
  KvShape kv;
  int32_t group = 1;  // heads of a kv head
  int32_t window = 0;
  float softcap = 0;
  float scale = 0;  // 0 = 1 / sqrt(head_dim)
  int32_t heads() const { return kv.kv_heads * group; }
  std::string text() const {
    return std::string(traits(kv.type).name) + " " + std::to_string(kv.head_dim) + "/" +
           std::to_string(kv.value_dim) + ", group " + std::to_string(group) + ", window " +
           std::to_string(window) + ", cap " + std::to_string(softcap);
  }
};

using Row = std::vector<Half>;  // (heads, value_dim)

class Attention : public testing::Test {
 protected:
  void TearDown() override { emulator::faults().seed = 0; }
};

class Problem {
 public:
  Problem(const Shape &shape, const std::vector<int32_t> &lengths)
      : shape_(shape), sequences_(shape.kv, lengths) {
    sequences_.fill();
  }

  Sequences &sequences() { return sequences_; }
  const Shape &shape() const { return shape_; }
  float scale() const {
    return shape_.scale != 0 ? shape_.scale : 1 / std::sqrt(static_cast<float>(shape_.kv.head_dim));
  }

  // (heads, head_dim) of a row, the same in every batch.
  std::vector<float> queries(RowAt at) const {
    const auto n = static_cast<size_t>(shape_.heads() * shape_.kv.head_dim);
    std::vector<float> q = random_values(n, 1, static_cast<uint32_t>(at.sequence * 5000 + at.position + 3));
    for (float &v : q) v = half_to_float(float_to_half(v));
    return q;
  }

  std::vector<Row> run(const std::vector<RowAt> &rows, int32_t splits = 1, int32_t padding = 0) {
    const size_t heads = static_cast<size_t>(shape_.heads()),
                 width = heads * static_cast<size_t>(shape_.kv.value_dim);
    const size_t stride = width + static_cast<size_t>(padding);
    std::vector<Half> q;
    for (const RowAt &at : rows) {
      Row one = halves_of(queries(at));
      if (at.position < 0) one.assign(one.size(), 0xffff);
      q.insert(q.end(), one.begin(), one.end());
    }
    const OnDevice<Half> device_q(q), out(rows.size() * stride);
    const DeviceRows device_rows(sequences_, rows);
    OnDevice<int32_t> arrived(std::vector<int32_t>(rows.size() * heads, 0));
    AttentionArgs args{.rows = device_rows.args(),
                       .kv = sequences_.kv(),
                       .heads = shape_.heads(),
                       .q = device_q.data(),
                       .out = out.data(),
                       .out_stride = static_cast<int32_t>(stride),
                       .scale = scale(),
                       .softcap = shape_.softcap,
                       .window = shape_.window,
                       .splits = splits,
                       .chunks = 4};
    const OnDevice<std::byte> states(attention_state_bytes(args));
    args.states = reinterpret_cast<float *>(states.data());
    args.arrived = arrived.data();
    Queue queue(0);
    attention(queue, args);
    queue.wait();
    for (const int32_t left : arrived.values()) EXPECT_EQ(left, 0);
    std::vector<Row> results;
    for (size_t r = 0; r < rows.size(); ++r) {
      const Half *row = out.data() + r * stride;
      results.emplace_back(row, row + width);
      for (size_t i = width; i < stride; ++i) EXPECT_EQ(row[i], 0);
    }
    return results;
  }

  // The row's numbers lie within what weights of half precision allow.
  void expect_exact(RowAt at, const Row &found);

 private:
  struct Token {
    std::vector<float> key, value;
  };
  const Token &token(int32_t s, int32_t t, int32_t h) {
    auto &at = tokens_[{s, t, h}];
    if (at.key.empty()) at = {sequences_.key(s, t, h), sequences_.value(s, t, h)};
    return at;
  }

  Shape shape_;
  Sequences sequences_;
  std::map<std::array<int32_t, 3>, Token> tokens_;
};

// A weight is a half: half a unit of its 11 bits, or 2^-25 where it is small beside the chunk's largest. The
// result is one too. Scores are float sums: a few roundings of what the products' magnitudes sum up to, as an
// error of the exponent.
void Problem::expect_exact(RowAt at, const Row &found) {
  const KvShape &kv = shape_.kv;
  const std::vector<float> q = queries(at);
  const int32_t first = shape_.window == 0 ? 0 : std::max(0, at.position - shape_.window + 1);
  const double cap = static_cast<double>(shape_.softcap);
  for (int32_t head = 0; head < shape_.heads(); ++head) {
    std::vector<double> scores;
    double magnitude = 0, total = 0;
    for (int32_t t = first; t <= at.position; ++t) {
      const Token &of = token(at.sequence, t, head / shape_.group);
      double score = 0, sum = 0;
      for (size_t d = 0; d < of.key.size(); ++d) {
        const double term = static_cast<double>(q[static_cast<size_t>(head * kv.head_dim) + d]) *
                            static_cast<double>(of.key[d]) * static_cast<double>(scale());
        score += term;
        sum += std::abs(term);
      }
      scores.push_back(cap != 0 ? cap * std::tanh(score / cap) : score);
      magnitude = std::max(magnitude, sum);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    std::vector<double> values(static_cast<size_t>(kv.value_dim)), weighted(values.size()),
        all(values.size());
    for (int32_t t = first; t <= at.position; ++t) {
      const double weight = std::exp(scores[static_cast<size_t>(t - first)] - largest);
      total += weight;
      const Token &of = token(at.sequence, t, head / shape_.group);
      for (size_t d = 0; d < values.size(); ++d) {
        values[d] += weight * static_cast<double>(of.value[d]);
        weighted[d] += weight * std::abs(static_cast<double>(of.value[d]));
        all[d] += std::abs(static_cast<double>(of.value[d]));
      }
    }
    const double relative = 0x1p-11 + 0x1p-23 * (64 + 4 * magnitude + 16 * cap);
    for (size_t d = 0; d < values.size(); ++d) {
      const double exact = values[d] / total;
      const double bound =
          (relative * weighted[d] + 0x1p-25 * all[d]) / total + 0x1p-11 * std::abs(exact) + 0x1p-25;
      const double got =
          static_cast<double>(half_to_float(found[static_cast<size_t>(head * kv.value_dim) + d]));
      ASSERT_LE(std::abs(got - exact), bound) << shape_.text() << ", position " << at.position << ", head "
                                              << head << ", element " << d << ": " << got << " for " << exact;
    }
  }
}

// ---- the numbers ------------------------------------------------------------------------------------------------------
TEST_F(Attention, IsTheSoftmaxOverWhatARowSees) {
  for (const Type type : kPageTypes) {
    for (const auto &[head_dim, value_dim] : {std::pair(8, 8),
                                              {16, 16},
                                              {24, 24},
                                              {40, 40},
                                              {64, 64},
                                              {72, 72},
                                              {80, 80},
                                              {96, 96},
                                              {128, 128},
                                              {256, 256},
                                              {24, 104},
                                              {192, 128},
                                              {16, 200}}) {
      Problem problem({{type, 2, head_dim, value_dim}, 2}, {70});
      const std::vector<RowAt> rows = {{0, 0}, {0, 1}, {0, 31}, {0, 32}, {0, 69}};
      const auto found = problem.run(rows);
      for (size_t i = 0; i < rows.size(); ++i) problem.expect_exact(rows[i], found[i]);
    }
  }
}

TEST_F(Attention, GroupsOfAnySizeReadTheirKvHead) {
  for (const Type type : kPageTypes) {
    for (const int32_t group : {1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 40}) {
      Problem problem({{type, 2, 64, 64}, group}, {40});
      std::vector<RowAt> rows;
      for (int32_t p = 20; p < 40; p += 1 + group / 3) rows.push_back({0, p});
      const auto found = problem.run(rows);
      for (size_t i = 0; i < rows.size(); ++i) problem.expect_exact(rows[i], found[i]);
    }
  }
}

TEST_F(Attention, CrossesPagesAndChunks) {
  for (const Type type : kPageTypes) {
    Problem problem({{type, 1, 32, 32}, 3}, {601});
    const std::vector<RowAt> rows = {{0, 0},   {0, 1},   {0, 31},  {0, 32},  {0, 63},  {0, 64},
                                     {0, 255}, {0, 256}, {0, 257}, {0, 511}, {0, 512}, {0, 600}};
    for (const int32_t splits : {1, 3}) {
      const auto found = problem.run(rows, splits);
      for (size_t i = 0; i < rows.size(); ++i) problem.expect_exact(rows[i], found[i]);
    }
  }
}

TEST_F(Attention, WindowsAndCapsLimitWhatARowSees) {
  for (const Type type : kPageTypes) {
    for (const auto &[window, softcap] :
         {std::pair(1, 0.0f), {2, 0.0f}, {20, 5.0f}, {32, 0.0f}, {33, 50.0f}, {300, 0.0f}, {0, 5.0f}}) {
      Problem problem({{type, 1, 64, 40}, 4, window, softcap}, {601});
      const std::vector<RowAt> rows = {{0, 0},   {0, 19},  {0, 20},  {0, 21},
                                       {0, 255}, {0, 256}, {0, 280}, {0, 600}};
      for (const int32_t splits : {1, 2}) {
        const auto found = problem.run(rows, splits);
        for (size_t i = 0; i < rows.size(); ++i) problem.expect_exact(rows[i], found[i]);
      }
    }
  }
}

// ---- the bits ---------------------------------------------------------------------------------------------------------
// Rows of sequences of mixed lengths, neighbours and strangers, and some that only fill up the batch.
std::vector<RowAt> mixed_rows() {
  std::vector<RowAt> rows = {{2, 3}, {0, 599}, {0, 600}, {1, 40}, {-1, -1}, {1, 41}};
  for (int32_t p = 250; p < 262; ++p) rows.push_back({3, p});
  rows.insert(rows.end(), {{4, 31}, {5, 32}, {-1, -1}, {-1, -1}, {6, 511}});
  return rows;
}
const std::vector<int32_t> kLengths = {601, 42, 4, 262, 32, 33, 512};

TEST_F(Attention, GivesARowTheSameBitsAloneAndInABatchSplitAndWhole) {
  for (const Type type : kPageTypes) {
    for (const Shape &shape : {Shape{{type, 1, 64, 64}, 4},
                               {{type, 1, 40, 72}, 3, 45},
                               {{type, 2, 16, 16}, 1},
                               {{type, 1, 16, 64}, 7, 0, 20},
                               {{type, 1, 8, 24}, 20, 300}}) {
      SCOPED_TRACE(shape.text());
      Problem problem(shape, kLengths);
      const std::vector<RowAt> rows = mixed_rows();
      const auto whole = problem.run(rows);
      for (const int32_t splits : {2, 3, 4}) {
        emulator::faults().seed = static_cast<uint64_t>(splits);
        EXPECT_EQ(problem.run(rows, splits), whole) << splits << " splits";
      }
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].position < 0) continue;
        EXPECT_EQ(problem.run({rows[i]})[0], whole[i]) << "row " << i << " alone";
        EXPECT_EQ(problem.run({rows[i]}, 3)[0], whole[i]) << "row " << i << " alone, split";
      }
    }
  }
}

// A tiny scale makes all weights alike, and what the second chunk adds takes most of the first one away: the
// result is small beside what is summed up, and a merge in another order shows in its halves.
TEST_F(Attention, MergesChunksInOneOrder) {
  Shape shape = {{Type::F16, 1, 16, 64}, 8};
  shape.scale = 1e-3f;
  Problem problem(shape, {600});
  Sequences &sequences = problem.sequences();
  for (int32_t t = 256; t < 600; ++t) {
    auto value = sequences.value(0, t < 512 ? t - 256 : t, 0);
    for (float &v : value) v *= t < 512 ? -1 : 0x1p-10f;
    sequences.append(0, t, 0, sequences.key(0, t, 0), value);
  }
  EXPECT_EQ(problem.run({{0, 599}}, 3), problem.run({{0, 599}}));
}

TEST_F(Attention, GivesARowTheSameBitsInALongPrompt) {
  Problem problem({{Type::F16, 1, 16, 16}, 4}, {300, 5});
  std::vector<RowAt> rows = {{1, 4}};
  for (int32_t p = 200; p < 300; ++p) rows.push_back({0, p});
  const auto together = problem.run(rows);
  for (size_t i = 0; i < rows.size(); i += 7) {
    EXPECT_EQ(problem.run({rows[i]}, 2)[0], together[i]) << "row " << i;
    if (i + 5 < rows.size()) {
      const auto some = problem.run(
          {rows.begin() + static_cast<ptrdiff_t>(i), rows.begin() + static_cast<ptrdiff_t>(i) + 5});
      EXPECT_EQ(some[0], together[i]) << "row " << i << " with four more";
      EXPECT_EQ(some[4], together[i + 4]) << "row " << i + 4 << " with four before";
    }
  }
}

TEST_F(Attention, DoesNotDependOnTheOrderOfThreadsAndBlocks) {
  Problem problem({{Type::Q8_0, 1, 128, 64}, 4}, kLengths);
  const auto expected = problem.run(mixed_rows());
  for (uint64_t seed = 1; seed < 5; ++seed) {
    emulator::faults().seed = seed;
    EXPECT_EQ(problem.run(mixed_rows()), expected) << "seed " << seed;
    EXPECT_EQ(problem.run(mixed_rows(), 3), expected) << "seed " << seed << ", split";
  }
}

TEST_F(Attention, ReplaysWithOtherPositions) {
  Problem problem({{Type::F16, 1, 32, 32}, 4}, {601, 40});
  const std::vector<RowAt> steps[] = {{{0, 600}, {1, 3}}, {{1, 39}, {-1, -1}}, {{0, 5}, {0, 6}}};
  DeviceRows rows(problem.sequences(), steps[0]);
  OnDevice<Half> q(2 * 4 * 32), out(2 * 4 * 32);
  OnDevice<int32_t> arrived(std::vector<int32_t>(8, 0));
  AttentionArgs args{.rows = rows.args(),
                     .kv = problem.sequences().kv(),
                     .heads = 4,
                     .q = q.data(),
                     .out = out.data(),
                     .out_stride = 128,
                     .scale = problem.scale(),
                     .splits = 2,
                     .chunks = 3};
  const OnDevice<std::byte> states(attention_state_bytes(args));
  args.states = reinterpret_cast<float *>(states.data());
  args.arrived = arrived.data();
  Queue queue(0);
  queue.begin_recording();
  attention(queue, args);
  const auto recording = queue.end_recording();
  for (const auto &step : steps) {
    const DeviceRows now(problem.sequences(), step);
    for (size_t r = 0; r < 2; ++r) {
      rows.positions.data()[r] = now.positions.data()[r];
      rows.table_of_row.data()[r] = now.table_of_row.data()[r];
      const auto row = halves_of(problem.queries(step[r]));
      std::copy(row.begin(), row.end(), q.data() + r * 128);
    }
    queue.replay(*recording);
    queue.wait();
    const auto expected = problem.run(step);
    for (size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(Row(out.data() + r * 128, out.data() + (r + 1) * 128), expected[r]);
    }
  }
}

// ---- edges --------------------------------------------------------------------------------------------------------------
TEST_F(Attention, ARowThatFillsUpTheBatchGetsZerosAndSoDoesWhatLiesBehindTheHeads) {
  Problem problem({{Type::F16, 2, 16, 24}, 3}, {40});
  for (const int32_t splits : {1, 3}) {
    const auto found =
        problem.run({{-1, -1}, {0, 39}, {-1, -1}, {-1, -1}}, splits, 48);  // run() looks behind
    problem.expect_exact({0, 39}, found[1]);
    for (const size_t row : {0u, 2u, 3u}) EXPECT_EQ(found[row], Row(found[row].size(), 0));
  }
}

TEST_F(Attention, AKeyOrValueThatIsNoNumberReachesThoseWhoSeeIt) {
  for (const Type type : kPageTypes) {
    for (const bool in_key : {true, false}) {
      Problem problem({{type, 1, 64, 64}, 2}, {40});
      auto k = problem.sequences().key(0, 9, 0), v = problem.sequences().value(0, 9, 0);
      (in_key ? k : v)[3] = NAN;
      problem.sequences().append(0, 9, 0, k, v);
      const auto before = problem.run({{0, 8}})[0], after = problem.run({{0, 9}})[0];
      problem.expect_exact({0, 8}, before);
      EXPECT_TRUE(std::isnan(half_to_float(after[3])));
    }
  }
}

TEST_F(Attention, SplitsKeepMultiprocessorsBusyWithinTheChunksThatThereAre) {
  AttentionArgs args{.rows = {.count = 1}, .kv = {.kv_heads = 8}, .heads = 32, .chunks = 32};
  EXPECT_EQ(attention_splits(args, 132), 32);
  args.chunks = 512;
  EXPECT_EQ(attention_splits(args, 132), 66);
  args.rows.count = 16;
  EXPECT_EQ(attention_splits(args, 132), 4);
  args.rows.count = 512;
  EXPECT_EQ(attention_splits(args, 132), 1);
  args.splits = 1;
  EXPECT_EQ(attention_state_bytes(args), 0u);
}

}  // namespace
}  // namespace rz::cuda::test
