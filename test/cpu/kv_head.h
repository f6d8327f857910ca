// KV pages of one head as a kernel set fills them, and queries over them: the problem that tests and timings
// of attention share. Keys and values are chosen so that pages hold them exactly, whatever the page's type,
// and a reference can take them as they were given.
#pragma once

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "cpu/kernel_test.h"
#include "quant/half.h"
#include "support/f8.h"

namespace rz::test {

struct HeadShape {
  Type type;  // of the pages
  int32_t head_dim, value_dim, pages;
  int32_t first_position = 0;  // of the first page
};

// Rounded to half precision for F16, to an 8-bit float for F8; for Q8_0 codes times a power of two, the
// largest code in every group of 32, so that the group's scale is that power.
inline std::vector<float> exact_values(Type type, int32_t n, uint32_t seed) {
  std::vector<float> x = random_values(static_cast<size_t>(n), 1, seed);
  if (type == Type::F16) {
    for (float &v : x) v = half_to_float(float_to_half(v));
    return x;
  }
  if (type == Type::F8) {
    for (float &v : x) v = static_cast<float>(f8_value(nearest_f8(static_cast<double>(v))));
    return x;
  }
  std::mt19937 random(seed);
  for (size_t i = 0; i < x.size(); ++i) {
    const float step = std::ldexp(1.0f, -5 - static_cast<int>((seed + i / 32) % 3));
    x[i] = step * (i % 32 == 0 ? 127.0f : static_cast<float>(random() % 255) - 127.0f);
  }
  return x;
}

class KvHead {
 public:
  KvHead(const cpu::Kernels &kernels, const HeadShape &shape) : shape_(shape), kernels_(kernels) {
    Plan plan;
    plan.kv = {{1, shape.head_dim, shape.value_dim}};
    const KvLayout::Layer layer = KvLayout::make(plan, shape.type).layers[0];
    for (int32_t p = 0; p < shape.pages; ++p) {
      k_pages_.push_back(k_bytes_.emplace_back(layer.k_head_bytes).data());
      v_pages_.push_back(v_bytes_.emplace_back(layer.v_head_bytes).data());
    }
    for (int32_t t = 0; t < tokens(); ++t) {
      const auto seed = static_cast<uint32_t>(t);
      append(t, exact_values(shape.type, shape.head_dim, seed),
             exact_values(shape.type, shape.value_dim, seed + 1));
    }
  }

  int32_t tokens() const { return shape_.pages * kPageTokens; }
  // Of the token `t` from the first page's first on.
  const std::vector<float> &key(int32_t t) const { return keys_[static_cast<size_t>(t)]; }
  const std::vector<float> &value(int32_t t) const { return values_[static_cast<size_t>(t)]; }

  // Tokens may come again, to overwrite what is there.
  void append(int32_t t, const std::vector<float> &k, const std::vector<float> &v) {
    keys_.resize(std::max(keys_.size(), static_cast<size_t>(t) + 1));
    values_.resize(keys_.size());
    keys_[static_cast<size_t>(t)] = k;
    values_[static_cast<size_t>(t)] = v;
    const auto page = static_cast<size_t>(t / kPageTokens);
    kernels_.append_k(shape_.type, k_bytes_[page].data(), t % kPageTokens, k.data(), shape_.head_dim);
    kernels_.append_v(shape_.type, v_bytes_[page].data(), t % kPageTokens, v.data(), shape_.value_dim);
  }

  // Pages [first, first + n) and the queries that look at them.
  cpu::AttnChunk chunk(int32_t first, int32_t n, float scale, float softcap,
                       const std::vector<cpu::AttnQuery> &queries) const {
    return {shape_.type,
            k_pages_.data() + first,
            v_pages_.data() + first,
            shape_.first_position + first * kPageTokens,
            n,
            shape_.head_dim,
            shape_.value_dim,
            scale,
            softcap,
            queries.data(),
            static_cast<int32_t>(queries.size())};
  }

  const HeadShape &shape() const { return shape_; }
  const cpu::Kernels &kernels() const { return kernels_; }

 private:
  HeadShape shape_;
  const cpu::Kernels &kernels_;
  std::deque<Guarded<std::byte>> k_bytes_, v_bytes_;  // (pages)
  std::vector<const std::byte *> k_pages_, v_pages_;
  std::vector<std::vector<float>> keys_, values_;  // (tokens), as appended
};

// Queries over a head, their states and what the kernels make of them.
class Queries {
 public:
  Queries(const KvHead &head, float scale, float softcap) : head_(head), scale_(scale), softcap_(softcap) {}

  // Sees positions first to last, both included.
  void add(int32_t first, int32_t last) {
    const auto seed = 1000 + static_cast<uint32_t>(q_.size());
    q_.push_back(random_values(static_cast<size_t>(head_.shape().head_dim), 1, seed));
    firsts_.push_back(first);
    lasts_.push_back(last);
  }
  size_t size() const { return q_.size(); }

  using State = std::vector<float>;  // (kStateHeader + value stride)
  std::vector<State> attend(int32_t first_page, int32_t pages) const {
    return attend(first_page, pages, 0, size());
  }
  // Of the queries [from, from + n) alone.
  std::vector<State> attend(int32_t first_page, int32_t pages, size_t from, size_t n) const {
    std::deque<Guarded<float>> states;
    std::vector<cpu::AttnQuery> queries;
    for (size_t i = from; i < from + n; ++i) {
      queries.push_back({q_[i].data(), firsts_[i], lasts_[i], states.emplace_back(state_floats()).data()});
    }
    head_.kernels().attend(head_.chunk(first_page, pages, scale_, softcap_, queries));
    std::vector<State> results;
    for (const Guarded<float> &state : states) results.push_back(state.values());
    return results;
  }
  State merge(const State &earlier, const State &later) const {
    Guarded<float> state(earlier);
    head_.kernels().merge(state.data(), later.data(), head_.shape().value_dim);
    return state.values();
  }
  std::vector<float> finish(const State &state) const {
    Guarded<float> out(static_cast<size_t>(head_.shape().value_dim));
    head_.kernels().finish(state.data(), out.data(), head_.shape().value_dim);
    return out.values();
  }

  Bounded exact(size_t i) const;  // what finish() must give for query i after all pages

 private:
  size_t state_floats() const {
    return static_cast<size_t>(cpu::kStateHeader + (head_.shape().value_dim + 15) / 16 * 16);
  }

  const KvHead &head_;
  float scale_, softcap_;
  std::vector<std::vector<float>> q_;  // (queries, head_dim)
  std::vector<int32_t> firsts_, lasts_;
};

// A score is a sum of head_dim products: its roundings, of random signs, come to a few of what the products'
// magnitudes sum up to. That is an absolute error of the exponent, so a relative one of the weight; 32 more
// cover e^x, the sums over the tokens, the merges and the last quotient. A soft cap brings tanh's own error,
// some 12 roundings of the cap.
inline Bounded Queries::exact(size_t i) const {
  const HeadShape &shape = head_.shape();
  const auto scale = static_cast<double>(scale_), cap = static_cast<double>(softcap_);
  std::vector<double> scores, values(static_cast<size_t>(shape.value_dim)), magnitudes(values.size());
  double magnitude = 0, total = 0;
  const int32_t from = std::max(0, firsts_[i] - shape.first_position);
  const int32_t to = std::min(head_.tokens() - 1, lasts_[i] - shape.first_position);
  for (int32_t t = from; t <= to; ++t) {
    double score = 0, sum = 0;
    for (size_t d = 0; d < q_[i].size(); ++d) {
      const double term = scale * static_cast<double>(q_[i][d]) * static_cast<double>(head_.key(t)[d]);
      score += term;
      sum += std::abs(term);
    }
    scores.push_back(cap != 0 ? cap * std::tanh(score / cap) : score);
    magnitude = std::max(magnitude, sum);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  for (int32_t t = from; t <= to; ++t) {
    const double weight = std::exp(scores[static_cast<size_t>(t - from)] - largest);
    total += weight;
    for (size_t d = 0; d < values.size(); ++d) {
      const double term = weight * static_cast<double>(head_.value(t)[d]);
      values[d] += term;
      magnitudes[d] += std::abs(term);
    }
  }
  const double relative = kUlp * (32 + 4 * magnitude + 12 * cap);
  Bounded exact;
  for (size_t d = 0; d < values.size(); ++d) {
    exact.add(values[d] / total, relative * magnitudes[d] / total + 1e-37);
  }
  return exact;
}

}  // namespace rz::test
