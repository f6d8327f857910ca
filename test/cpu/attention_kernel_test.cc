// Attention over KV pages and its parts, by every instruction set, against a softmax in double precision.
#include <limits>

#include "cpu/kernel_timing.h"
#include "cpu/kv_head.h"

namespace rz::cpu {
namespace {

using test::Guarded;
using test::HeadShape;
using test::KvHead;
using test::Queries;
using Row = std::vector<float>;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr Type kPageTypes[] = {Type::F16, Type::Q8_0};
// (head_dim, value_dim): 16 to 256, odd ones, and keys and values of different widths.
constexpr std::pair<int32_t, int32_t> kDims[] = {{16, 16}, {40, 40},   {64, 64},   {72, 72},  {80, 80},
                                                 {96, 96}, {128, 128}, {256, 256}, {24, 100}, {192, 128}};

float scale_of(int32_t head_dim) { return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim))); }

class AttentionKernel : public test::KernelTest {
 protected:
  // What the stored key or value of token `t` is: a query that sees one position has its score for a maximum
  // and its value for a result.
  Row stored_key(const KvHead &head, int32_t t) const {
    Row key;
    for (int32_t d = 0; d < head.shape().head_dim; ++d) {
      Row q(static_cast<size_t>(head.shape().head_dim));
      q[static_cast<size_t>(d)] = 1;
      key.push_back(look(head, t, q)[0]);
    }
    return key;
  }
  Row stored_value(const KvHead &head, int32_t t) const {
    const Row state = look(head, t, Row(static_cast<size_t>(head.shape().head_dim)));
    return {state.begin() + kStateHeader, state.begin() + kStateHeader + head.shape().value_dim};
  }

 private:
  static Row look(const KvHead &head, int32_t t, const Row &q) {
    Row state(static_cast<size_t>(kStateHeader + (head.shape().value_dim + 15) / 16 * 16));
    head.kernels().attend(head.chunk(0, head.shape().pages, 1, 0, {{q.data(), t, t, state.data()}}));
    return state;
  }
};

// In 8 bits a value is half a step from where it was, the step being the largest of its group over 127,
// rounded to half precision.
void expect_stored(Type type, const Row &found, const Row &given) {
  ASSERT_EQ(found.size(), given.size());
  for (size_t g = 0; g < given.size(); g += 32) {
    const size_t end = std::min(given.size(), g + 32);
    float largest = 0;
    for (size_t i = g; i < end; ++i) largest = std::max(largest, std::abs(given[i]));
    for (size_t i = g; i < end; ++i) {
      if (type == Type::F16) {
        EXPECT_EQ(found[i], half_to_float(float_to_half(given[i])));
      } else {
        EXPECT_NEAR(found[i], given[i], largest / 127 * (0.5f + 0x1p-10f));
      }
    }
  }
}

TEST_P(AttentionKernel, WhatIsNoNumberReachesTheResult) {
  for (const Type type : kPageTypes) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -kMinusInfinity}) {
      for (const size_t at : {size_t{0}, size_t{33}}) {
        for (const bool in_key : {true, false}) {
          // An infinite score of -inf is a weight of 0, and nothing is wrong.
          if (in_key && type == Type::F16 && std::isinf(bad)) continue;
          KvHead head(kernels(), {type, 64, 64, 1});
          Row k = head.key(3), v = head.value(3);
          (in_key ? k : v)[at] = bad;
          head.append(3, k, v);
          Queries queries(head, scale_of(64), 0);
          queries.add(0, 5);
          const Row out = queries.finish(queries.attend(0, 1)[0]);
          EXPECT_FALSE(std::isfinite(out[at])) << traits(type).name << (in_key ? " key " : " value ") << bad;
        }
      }
    }
  }
}

TEST_P(AttentionKernel, PagesHoldWhatWasAppended) {
  for (const Type type : kPageTypes) {
    for (const auto &[head_dim, value_dim] : kDims) {
      SCOPED_TRACE(std::string(traits(type).name) + " " + std::to_string(head_dim) + "/" +
                   std::to_string(value_dim));
      KvHead head(kernels(), {type, head_dim, value_dim, 1});
      const Row k = test::random_values(static_cast<size_t>(head_dim), 1, 1),
                v = test::random_values(static_cast<size_t>(value_dim), 1, 2);
      for (const int32_t slot : {0, 5, 15, 16, 31}) {
        head.append(slot, k, v);
        expect_stored(type, stored_key(head, slot), k);
        expect_stored(type, stored_value(head, slot), v);
      }
      for (const int32_t slot : {1, 4, 6, 14, 17, 30}) {  // beside those written again
        EXPECT_EQ(stored_key(head, slot), head.key(slot)) << "slot " << slot;
        EXPECT_EQ(stored_value(head, slot), head.value(slot)) << "slot " << slot;
      }
    }
  }
}

// Windows of many lengths and places over three pages; the last query sees one position of the middle page.
void add_queries(Queries &queries, const KvHead &head, size_t n) {
  const int32_t start = head.shape().first_position, tokens = head.tokens();
  for (size_t i = 0; i + 1 < n; ++i) {
    const int32_t last = start + static_cast<int32_t>(i * 29 + 7) % tokens;
    const int32_t window = i % 3 == 0 ? last + 1 : i % 3 == 1 ? 20 : 45;
    queries.add(std::max(0, last - window + 1), last);
  }
  queries.add(start + 40, start + 40);
}

TEST_P(AttentionKernel, IsTheSoftmaxOverWhatAQuerySees) {
  for (const Type type : kPageTypes) {
    for (const auto &[head_dim, value_dim] : kDims) {
      for (const auto &[first_position, softcap] : {std::pair(0, 0.0f), {64, 5.0f}, {1024, 50.0f}}) {
        const HeadShape shape = {type, head_dim, value_dim, 3, first_position};
        const KvHead head(kernels(), shape), plain_head(plain(), shape);
        Queries queries(head, scale_of(head_dim), softcap),
            plain_queries(plain_head, scale_of(head_dim), softcap);
        add_queries(queries, head, 9);
        add_queries(plain_queries, head, 9);
        const auto states = queries.attend(0, 3), plain_states = plain_queries.attend(0, 3);
        for (size_t i = 0; i < queries.size(); ++i) {
          SCOPED_TRACE(std::string(traits(type).name) + " " + std::to_string(head_dim) + "/" +
                       std::to_string(value_dim) + " from " + std::to_string(first_position) + ", query " +
                       std::to_string(i));
          test::expect_within(queries.exact(i), queries.finish(states[i]),
                              plain_queries.finish(plain_states[i]));
        }
      }
    }
  }
}

TEST_P(AttentionKernel, GivesAQueryTheSameBitsWhateverIsAskedBesideIt) {
  for (const Type type : kPageTypes) {
    for (const int32_t dim : {72, 128}) {
      const KvHead head(kernels(), {type, dim, dim, 3, 96});
      for (size_t n = 1; n <= 17; ++n) {
        Queries queries(head, scale_of(dim), 0);
        add_queries(queries, head, n);
        const auto together = queries.attend(0, 3);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(together[i], queries.attend(0, 3, i, 1)[0]) << n << " queries, number " << i;
        }
      }
    }
  }
}

TEST_P(AttentionKernel, MergesPagesSeenApart) {
  for (const Type type : kPageTypes) {
    for (const int32_t dim : {40, 128}) {
      const HeadShape shape = {type, dim, dim, 4, 32};
      const KvHead head(kernels(), shape), plain_head(plain(), shape);
      Queries queries(head, scale_of(dim), 0), plain_queries(plain_head, scale_of(dim), 0);
      for (Queries *q : {&queries, &plain_queries}) {
        q->add(0, 32 + 127);        // all four pages
        q->add(32 + 70, 32 + 110);  // the last two
        q->add(32, 32 + 40);        // the first two
      }
      for (const int32_t cut : {1, 2, 3}) {
        const auto early = queries.attend(0, cut), late = queries.attend(cut, 4 - cut);
        const auto plain_states = plain_queries.attend(0, 4);
        for (size_t i = 0; i < queries.size(); ++i) {
          SCOPED_TRACE("cut at " + std::to_string(cut) + ", query " + std::to_string(i));
          test::expect_within(queries.exact(i), queries.finish(queries.merge(early[i], late[i])),
                              plain_queries.finish(plain_states[i]));
        }
      }
    }
  }
}

TEST_P(AttentionKernel, PagesThatAQuerySeesNothingOfChangeNoBit) {
  for (const Type type : kPageTypes) {
    const KvHead head(kernels(), {type, 64, 72, 3, 64});
    Queries queries(head, scale_of(64), 0);
    queries.add(64 + 33, 64 + 60);  // the middle page alone
    queries.add(0, 63);             // all of it earlier
    queries.add(160, 200);          // all of it later
    const auto whole = queries.attend(0, 3), first = queries.attend(0, 1), middle = queries.attend(1, 1);
    const Row nothing = [] {
      Row state(kStateHeader + 80, 0.0f);
      state[0] = kMinusInfinity;
      return state;
    }();
    EXPECT_EQ(whole[0], middle[0]);
    EXPECT_EQ(first[0], nothing);
    EXPECT_EQ(whole[1], nothing);
    EXPECT_EQ(whole[2], nothing);
    EXPECT_EQ(queries.merge(middle[0], nothing), middle[0]);
    EXPECT_EQ(queries.merge(nothing, middle[0]), middle[0]);
    EXPECT_EQ(queries.merge(nothing, nothing), nothing);
  }
}

TEST_P(AttentionKernel, AKeyOrValueThatIsNoNumberReachesThoseWhoSeeIt) {
  for (const auto &[bad_key, bad_value] : {std::pair(NAN, 0.0f), {0.0f, NAN}}) {
    KvHead head(kernels(), {Type::F16, 64, 64, 1});
    Row k = head.key(9), v = head.value(9);
    k[3] += bad_key;
    v[3] += bad_value;
    head.append(9, k, v);
    Queries queries(head, scale_of(64), 0);
    queries.add(0, 8);
    queries.add(0, 9);
    EXPECT_FALSE(std::isnan(queries.finish(queries.attend(0, 1, 0, 1)[0])[3]));
    EXPECT_TRUE(std::isnan(queries.finish(queries.attend(0, 1)[1])[3]));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionKernel, testing::ValuesIn(test::kernel_sets()), test::set_name);

// 512 tokens, as many as the executor hands to a kernel at once, in a head of 128.
void time_attend(benchmark::State &state, const Kernels &kernels, Type type, int32_t n) {
  constexpr int32_t kPages = 16, kDim = 128;
  const KvHead head(kernels, {type, kDim, kDim, kPages});
  const Row q = test::random_values(kDim, 1, 1);
  std::vector<Row> states(static_cast<size_t>(n), Row(kStateHeader + kDim));
  std::vector<AttnQuery> queries;
  for (Row &s : states) queries.push_back({q.data(), 0, head.tokens() - 1, s.data()});
  const AttnChunk chunk = head.chunk(0, kPages, scale_of(kDim), 0, queries);
  for (auto _ : state) kernels.attend(chunk);
  const uint64_t values = uint64_t{2} * kDim * static_cast<uint64_t>(head.tokens());
  test::count_bytes(state, bytes_of(type, values));
  test::count_ops(state, 2 * values * static_cast<uint64_t>(n));
}

const bool kTimed = test::for_every_set([](const std::string &name, const Kernels &set) {
  for (const Type type : kPageTypes) {
    for (const int32_t n : {1, 2, 4, 8, 64}) {
      const std::string title = "attend/" + name + "/" + traits(type).name + "/" + std::to_string(n);
      benchmark::RegisterBenchmark(title.c_str(), time_attend, std::cref(set), type, n);
    }
  }
});

}  // namespace
}  // namespace rz::cpu
