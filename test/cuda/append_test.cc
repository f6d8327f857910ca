// What append leaves in pages and in q, against lib/cpu's plain kernels, and 8-bit floats by their
// definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cuda/kv_batch.h"

namespace rz::cuda::test {
namespace {

using rz::test::f8_value;

constexpr Type kPageTypes[] = {Type::F16, Type::Q8_0, Type::F8};

struct Case {
  KvShape kv;
  int32_t heads = 2;
  Turn turn = Turn::None;
  int32_t dims = 0;
  Norm q_norm = {}, k_norm = {};
  float magnitude = 1;
};

// Rows in mixed order of sequences, with some that only fill up the batch.
const std::vector<int32_t> kLengths = {70, 3, 33};
const std::vector<RowAt> kRows = {{1, 0}, {1, 1},   {0, 31}, {0, 32}, {-1, -1},
                                  {2, 4}, {-1, -1}, {2, 32}, {0, 69}};

std::vector<double> frequencies(int32_t pairs) {
  std::vector<double> f;
  for (int32_t i = 0; i < pairs; ++i) f.push_back(std::pow(10000.0, -static_cast<double>(i) / pairs));
  return f;
}

HeadNorm on_device(const Norm &norm, const OnDevice<float> &weight, const OnDevice<float> &bias) {
  return {norm ? weight.data() : nullptr, norm.bias ? bias.data() : nullptr, norm.eps,
          norm.kind == NormKind::Layer};
}
std::vector<float> numbers_of(const Vector &v) { return {v.data, v.data + v.size}; }

struct Appended {
  std::vector<Half> q;
  std::vector<std::byte> pages;
};

void expect_equal(const Appended &found, const Appended &expected) {
  EXPECT_EQ(found.q, expected.q);
  ASSERT_EQ(found.pages.size(), expected.pages.size());
  for (size_t i = 0; i < found.pages.size(); ++i) {
    ASSERT_EQ(found.pages[i], expected.pages[i]) << "byte " << i << " of " << found.pages.size();
  }
}

class Append : public testing::Test {
 protected:
  void TearDown() override { emulator::faults().seed = 0; }

  void start(const Case &c) {
    case_ = c;
    const auto n = kRows.size();
    const auto of = [&](int32_t heads, int32_t dim) { return n * static_cast<size_t>(heads * dim); };
    q_ = random_values(of(c.heads, c.kv.head_dim), 1, 1);
    k_ = random_values(of(c.kv.kv_heads, c.kv.head_dim), 1, 2);
    v_ = random_values(of(c.kv.kv_heads, c.kv.value_dim), 1, 3);
  }

  Appended by_device() {
    const Sequences sequences(case_.kv, kLengths);
    const DeviceRows rows(sequences, kRows);
    const int32_t pairs = case_.dims / 2, stride = case_.dims + 2;
    const OnDevice<float> q(q_), k(k_), v(v_), angles(kRows.size() * static_cast<size_t>(stride));
    const OnDevice<Half> q_out(q_.size());
    const OnDevice<double> turns(frequencies(pairs));
    const OnDevice<float> qw(numbers_of(case_.q_norm.weight)), qb(numbers_of(case_.q_norm.bias)),
        kw(numbers_of(case_.k_norm.weight)), kb(numbers_of(case_.k_norm.bias));
    Queue queue(0);
    rope_angles(queue, {rows.positions.data(), turns.data(), angles.data(),
                        static_cast<int32_t>(kRows.size()), pairs, stride, case_.magnitude});
    append(queue, {.rows = rows.args(),
                   .kv = sequences.kv(),
                   .heads = case_.heads,
                   .q = q.data(),
                   .k = k.data(),
                   .v = v.data(),
                   .q_out = q_out.data(),
                   .q_norm = on_device(case_.q_norm, qw, qb),
                   .k_norm = on_device(case_.k_norm, kw, kb),
                   .turn = case_.turn,
                   .dims = case_.dims,
                   .angles = angles.data(),
                   .angle_stride = stride});
    queue.wait();
    return {q_out.values(), sequences.pages()};
  }

  // The same by lib/cpu: CpuExecutor::append_row.
  Appended by_cpu() {
    const cpu::Kernels &plain = *cpu::plain_kernels();
    Sequences sequences(case_.kv, kLengths);
    std::vector<Half> q_out(q_.size(), 0xffff);
    const auto head_dim = static_cast<size_t>(case_.kv.head_dim),
               value_dim = static_cast<size_t>(case_.kv.value_dim);
    const RopeStyle style = case_.turn == Turn::Adjacent ? RopeStyle::Adjacent : RopeStyle::Halves;
    const std::vector<double> turns = frequencies(case_.dims / 2);
    for (size_t row = 0; row < kRows.size(); ++row) {
      const RowAt at = kRows[row];
      if (at.position < 0) continue;
      std::vector<float> cos, sin;
      for (const double f : turns) {
        cos.push_back(static_cast<float>(std::cos(at.position * f) * static_cast<double>(case_.magnitude)));
        sin.push_back(static_cast<float>(std::sin(at.position * f) * static_cast<double>(case_.magnitude)));
      }
      const auto turned = [&](const Norm &norm, const float *from) {
        std::vector<float> x(from, from + head_dim);
        if (norm) plain.norm(norm, x.data(), x.data(), case_.kv.head_dim);
        if (case_.turn != Turn::None) plain.rope(style, x.data(), cos.data(), sin.data(), case_.dims);
        return x;
      };
      for (size_t h = 0; h < static_cast<size_t>(case_.heads); ++h) {
        const size_t first = (row * static_cast<size_t>(case_.heads) + h) * head_dim;
        const auto halves = halves_of(turned(case_.q_norm, q_.data() + first));
        std::copy(halves.begin(), halves.end(), q_out.begin() + static_cast<ptrdiff_t>(first));
      }
      for (int32_t h = 0; h < case_.kv.kv_heads; ++h) {
        const size_t number = row * static_cast<size_t>(case_.kv.kv_heads) + static_cast<size_t>(h);
        const float *v = v_.data() + number * value_dim;
        sequences.append(at.sequence, at.position, h, turned(case_.k_norm, k_.data() + number * head_dim),
                         std::vector<float>(v, v + value_dim));
      }
    }
    return {q_out, sequences.pages()};
  }

  Case case_;
  std::vector<float> q_, k_, v_;
};

constexpr std::pair<int32_t, int32_t> kDims[] = {{8, 8},     {16, 16},   {24, 40},  {40, 24},
                                                 {64, 64},   {72, 72},   {80, 80},  {96, 96},
                                                 {128, 128}, {192, 128}, {256, 256}};

TEST_F(Append, FillsPagesAndQueriesAsTheCpuDoes) {
  for (const Type type : kPageTypes) {
    for (const auto &[head_dim, value_dim] : kDims) {
      for (const Turn turn : {Turn::None, Turn::Adjacent, Turn::Halves}) {
        SCOPED_TRACE(std::string(traits(type).name) + " " + std::to_string(head_dim) + "/" +
                     std::to_string(value_dim) + ", turn " + std::to_string(static_cast<int>(turn)));
        start({{type, 2, head_dim, value_dim}, 4, turn, turn == Turn::None ? 0 : head_dim});
        expect_equal(by_device(), by_cpu());
      }
    }
  }
}

TEST_F(Append, TurnsTheLeadingElementsAlone) {
  for (const Turn turn : {Turn::Adjacent, Turn::Halves}) {
    for (const int32_t dims : {2, 16, 20, 48}) {
      start({{Type::F16, 1, 80, 80}, 3, turn, dims, {}, {}, 1.25f});
      expect_equal(by_device(), by_cpu());
    }
  }
}

// The plain kernels round products of sums on their own, which a norm may show in its last bit.
TEST_F(Append, NormsHeadsOfQueriesAndKeys) {
  for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
    for (const int32_t dim : {24, 64, 256}) {
      const auto n = static_cast<size_t>(dim);
      const std::vector<float> qw = random_values(n, 1, 5), qb = random_values(n, 1, 6),
                               kw = random_values(n, 1, 7);
      const Vector qw_of{qw.data(), dim}, qb_of{qb.data(), dim}, kw_of{kw.data(), dim};
      start({{Type::F16, 2, dim, 16},
             3,
             Turn::Halves,
             dim,
             {kind, 1e-5f, qw_of, qb_of},
             {kind, 1e-3f, kw_of, {}}});
      const Appended found = by_device(), expected = by_cpu();
      ASSERT_EQ(found.q.size(), expected.q.size());
      const auto expect_near = [](Half a, Half b) {
        if (a == 0xffff && b == 0xffff) return;  // neither wrote it
        const float x = half_to_float(a), y = half_to_float(b);
        ASSERT_LE(std::abs(x - y), std::abs(y) * 0x1p-10f + 0x1p-18f);
      };
      for (size_t i = 0; i < found.q.size(); ++i) expect_near(found.q[i], expected.q[i]);
      const auto *a = reinterpret_cast<const Half *>(found.pages.data());
      const auto *b = reinterpret_cast<const Half *>(expected.pages.data());
      for (size_t i = 0; i < found.pages.size() / 2; ++i) expect_near(a[i], b[i]);
    }
  }
}

constexpr float kNoNumbers[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};

TEST_F(Append, WhatIsNoNumberPoisonsItsScale) {
  start({{Type::Q8_0, 1, 64, 40}, 1});
  const size_t row = 2;  // position 31 of sequence 0
  for (const float value : kNoNumbers) {
    k_[row * 64 + 40] = v_[row * 40 + 39] = value;
    const Sequences where(case_.kv, kLengths);
    const Appended found = by_device();
    const auto scale = [&](const std::byte *head, size_t i) {
      const auto *at = reinterpret_cast<const Half *>(found.pages.data() + (head - where.kv().pages));
      return half_to_float(at[i]);
    };
    const std::byte *k = where.key_page(0, 31, 0), *v = where.value_page(0, 31, 0);
    EXPECT_FALSE(std::isnan(scale(k, 31)));
    EXPECT_TRUE(std::isnan(scale(k, 32 + 31)));
    EXPECT_FALSE(std::isnan(scale(v, 2 * 31)));
    EXPECT_TRUE(std::isnan(scale(v, 2 * 31 + 1)));
  }
}

TEST_F(Append, WhatIsNoNumberIsNanAmong8BitFloatsThatStayThemselves) {
  start({{Type::F8, 1, 64, 40}, 1});
  const size_t row = 2;  // position 31 of sequence 0
  for (const float value : kNoNumbers) {
    k_[row * 64 + 40] = v_[row * 40 + 39] = value;
    const Sequences where(case_.kv, kLengths);
    const Appended found = by_device();
    const auto is_nan = [&](const std::byte *at) {
      return std::isnan(
          f8_value(std::to_integer<uint8_t>(found.pages[static_cast<size_t>(at - where.kv().pages)])));
    };
    const std::byte *k = where.key_page(0, 31, 0) + 31, *v = where.value_page(0, 31, 0) + 31 * 48;
    for (int d = 0; d < 64; ++d) EXPECT_EQ(is_nan(k + d * 32), d == 40);
    for (int d = 0; d < 48; ++d) EXPECT_EQ(is_nan(v + d), d == 39);
  }
}

// Scales below half precision, and one past it; 8-bit floats that are zero, subnormal, and past 448.
TEST_F(Append, CodesOfTinyAndHugeValuesAreTheCpus) {
  for (const Type type : {Type::Q8_0, Type::F8}) {
    start({{type, 1, 64, 64}, 1});
    for (size_t row = 0; row < kRows.size(); ++row) {
      const float size = std::pow(10.0f, static_cast<float>(row) * 2 - 9);  // 1e-9 to 1e7
      for (size_t i = 0; i < 64; ++i) {
        k_[row * 64 + i] *= size;
        v_[row * 64 + i] *= size;
      }
    }
    expect_equal(by_device(), by_cpu());
  }
}

TEST_F(Append, DoesNotDependOnTheOrderOfThreadsAndBlocks) {
  start({{Type::Q8_0, 2, 72, 40}, 4, Turn::Halves, 72});
  const Appended expected = by_device();
  for (uint64_t seed = 1; seed < 5; ++seed) {
    emulator::faults().seed = seed;
    const Appended found = by_device();
    expect_equal(found, expected);
  }
}

}  // namespace
}  // namespace rz::cuda::test
