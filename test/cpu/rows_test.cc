// The kernels that work on one row, of every instruction set, against formulas in double precision.
#include "cpu/kernel_test.h"

#include "cpu/kernel_timing.h"

namespace rz::cpu {
namespace {

using test::Bounded;
using test::Guarded;
using test::kUlp;
using test::random_values;
using Row = std::vector<float>;

constexpr size_t kSizes[] = {1, 15, 16, 17, 31, 33, 63, 100, 1000};

double at(const Row &row, size_t i) { return static_cast<double>(row[i]); }

class NormProblem {
 public:
  NormProblem(NormKind kind, bool biased, size_t n)
      : x_(random_values(n, 1, 1)), weight_(random_values(n, 1, 2)), bias_(random_values(n, 1, 3)) {
    for (float &x : x_) x += 0.5f;
    norm_ = {kind, 1e-5f, {weight_.data(), static_cast<int64_t>(n)}, {}};
    if (biased) norm_.bias = {bias_.data(), static_cast<int64_t>(n)};
  }

  void run(const Kernels &kernels, float *y) const {
    kernels.norm(norm_, x_.data(), y, static_cast<int64_t>(x_.size()));
  }
  Row run(const Kernels &kernels) const {
    Guarded<float> y(x_.size());
    run(kernels, y.data());
    return y.values();
  }
  Row run_in_place(const Kernels &kernels) const {
    Guarded<float> y(x_);
    kernels.norm(norm_, y.data(), y.data(), static_cast<int64_t>(x_.size()));
    return y.values();
  }

  // Sums of n numbers in 16 lanes: n / 16 roundings each, of the magnitude of what is summed. An error of the
  // mean shifts every number; one of the mean square scales it.
  Bounded exact() const {
    const size_t n = x_.size();
    double mean = 0, magnitude = 0, square = 0;
    for (size_t i = 0; i < n; ++i) {
      mean += at(x_, i) / static_cast<double>(n);
      magnitude += std::abs(at(x_, i)) / static_cast<double>(n);
    }
    if (norm_.kind == NormKind::Rms) mean = magnitude = 0;
    for (size_t i = 0; i < n; ++i) square += (at(x_, i) - mean) * (at(x_, i) - mean) / static_cast<double>(n);
    const double scale = 1 / std::sqrt(square + static_cast<double>(norm_.eps));
    const double roundings = static_cast<double>(n) / 16 + 8;
    Bounded exact;
    for (size_t i = 0; i < n; ++i) {
      const double normed = (at(x_, i) - mean) * scale * at(weight_, i), b = norm_.bias ? at(bias_, i) : 0;
      const double shift = (std::abs(at(x_, i)) + magnitude) * scale * std::abs(at(weight_, i));
      exact.add(normed + b, kUlp * roundings * (std::abs(normed) + shift) + kUlp * std::abs(normed + b));
    }
    return exact;
  }

 private:
  Row x_, weight_, bias_;
  Norm norm_;
};

class Rows : public test::KernelTest {};

TEST_P(Rows, NormIsTheFormula) {
  for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
    for (const bool biased : {false, true}) {
      for (const size_t n : kSizes) {
        SCOPED_TRACE(std::to_string(n) + (kind == NormKind::Rms ? " rms" : " layer") +
                     (biased ? ", bias" : ""));
        // The layer norm of a single number is 0 / sqrt(eps): nothing but the mean's error, magnified.
        if (n == 1 && kind == NormKind::Layer) continue;
        const NormProblem problem(kind, biased, n);
        test::expect_within(problem.exact(), problem.run(kernels()), problem.run(plain()));
        EXPECT_EQ(problem.run_in_place(kernels()), problem.run(kernels()));
      }
    }
  }
}

TEST_P(Rows, RopeTurnsPairsAndNothingElse) {
  for (const RopeStyle style : {RopeStyle::Adjacent, RopeStyle::Halves}) {
    for (const size_t dims : std::initializer_list<size_t>{2, 4, 16, 30, 32, 34, 66, 100, 128, 256}) {
      SCOPED_TRACE(std::to_string(dims) + (style == RopeStyle::Adjacent ? " adjacent" : " halves"));
      const size_t pairs = dims / 2, step = style == RopeStyle::Adjacent ? 1 : pairs;
      const Row x = random_values(dims, 1, 4);
      Row cos(pairs), sin(pairs);
      Bounded exact{std::vector<double>(dims), std::vector<double>(dims)};
      for (size_t i = 0; i < pairs; ++i) {
        cos[i] = static_cast<float>(1.2 * std::cos(0.7 * static_cast<double>(i)));
        sin[i] = static_cast<float>(1.2 * std::sin(0.7 * static_cast<double>(i)));
        const size_t first = style == RopeStyle::Adjacent ? 2 * i : i;
        const double a = at(x, first), b = at(x, first + step), c = at(cos, i), s = at(sin, i);
        exact.values[first] = a * c - b * s;
        exact.values[first + step] = a * s + b * c;
        exact.bounds[first] = 2 * kUlp * (std::abs(a * c) + std::abs(b * s));  // two products and their sum
        exact.bounds[first + step] = 2 * kUlp * (std::abs(a * s) + std::abs(b * c));
      }
      const auto run = [&](const Kernels &set) {
        Guarded<float> turned(x);
        set.rope(style, turned.data(), cos.data(), sin.data(), static_cast<int64_t>(dims));
        return turned.values();
      };
      test::expect_within(exact, run(kernels()), run(plain()));
    }
  }
}

// From tiny to past where e^x ends, both signs.
Row arguments(size_t n) {
  Row x = random_values(n, 3, 5);
  const float special[] = {0, 1e-30f, -1e-6f, 0.199f, -0.201f, 20, -20, 87, -87.5f, 100, -100, 1000, -1000};
  for (size_t i = 0; i < std::size(special) && 2 * i + 1 < n; ++i) x[2 * i + 1] = special[i];
  return x;
}

// e^x is within 2 units in the last place (1 of kUlp) and a sigmoid adds a sum and a quotient. It stops
// growing at e^88, so silu of less than -88 is -6e-39 of its argument rather than 0. gelu: 1 + tanh is near 0
// for negative arguments, where the errors of tanh, some 8 units, stay.
Bounded exact_activation(Activation act, const Row &gate, const Row &up) {
  Bounded exact;
  for (size_t i = 0; i < gate.size(); ++i) {
    const double x = at(gate, i), u = up.empty() ? 1 : at(up, i);
    const double pi = 3.14159265358979323846;
    const double value = act == Activation::Silu
                             ? x / (1 + std::exp(-x))
                             : 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
    const double bound = act == Activation::Silu ? 4 * kUlp * std::abs(value) + 1e-38 * std::abs(x)
                                                 : 8 * kUlp * std::abs(0.5 * x);
    exact.add(value * u, bound * std::abs(u) + kUlp * std::abs(value * u) + 1e-44);
  }
  return exact;
}

TEST_P(Rows, ActivationsAreTheFormulas) {
  for (const Activation act : {Activation::Silu, Activation::GeluTanh}) {
    for (const size_t n : kSizes) {
      for (const Row &up : {Row(), random_values(n, 1, 6)}) {
        SCOPED_TRACE(std::to_string(n) + (act == Activation::Silu ? " silu" : " gelu") +
                     (up.empty() ? "" : " times up"));
        const Row gate = arguments(n);
        const auto run = [&](const Kernels &set) {
          Guarded<float> out(n);
          set.activate(act, gate.data(), up.empty() ? nullptr : up.data(), out.data(),
                       static_cast<int64_t>(n));
          return out.values();
        };
        test::expect_within(exact_activation(act, gate, up), run(kernels()), run(plain()));
      }
    }
  }
}

TEST_P(Rows, AddAddsAMultiple) {
  for (const size_t n : kSizes) {
    for (const float scale : {1.0f, -0.37f, 0.0f}) {
      SCOPED_TRACE(std::to_string(n) + " times " + std::to_string(scale));
      const Row x = random_values(n, 1, 7), y = random_values(n, 1, 8);
      Bounded exact;
      for (size_t i = 0; i < n; ++i) {
        const double term = at(y, i) * static_cast<double>(scale);
        exact.add(at(x, i) + term, kUlp * (std::abs(at(x, i)) + std::abs(term)));
      }
      const auto run = [&](const Kernels &set) {
        Guarded<float> sum(x);
        set.add(sum.data(), y.data(), scale, static_cast<int64_t>(n));
        return sum.values();
      };
      test::expect_within(exact, run(kernels()), run(plain()));
    }
  }
}

// tanh x = 1 - 2 / (e^2x + 1) loses digits toward 0; where it has lost three bits the polynomial begins.
TEST_P(Rows, SoftcapIsTheFormula) {
  for (const size_t n : kSizes) {
    for (const float cap : {1.0f, 30.0f, 50.0f}) {
      SCOPED_TRACE(std::to_string(n) + " capped at " + std::to_string(cap));
      const Row x = arguments(n);
      Bounded exact;
      for (size_t i = 0; i < n; ++i) {
        const double c = static_cast<double>(cap), value = c * std::tanh(at(x, i) / c);
        exact.add(value, 12 * kUlp * std::abs(value) + 1e-44);
      }
      const auto run = [&](const Kernels &set) {
        Guarded<float> capped(x);
        set.softcap(capped.data(), cap, static_cast<int64_t>(n));
        return capped.values();
      };
      test::expect_within(exact, run(kernels()), run(plain()));
    }
  }
}

// A term errs by what rounding does to its exponent, the sum by at most a rounding a term. What is below
// e^-87.3 of the greatest is 0.
TEST_P(Rows, SoftmaxIsTheFormula) {
  for (const size_t n : kSizes) {
    SCOPED_TRACE(n);
    const Row x = arguments(n);
    double largest = at(x, 0), total = 0;
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, at(x, i));
    for (size_t i = 0; i < n; ++i) total += std::exp(at(x, i) - largest);
    Bounded exact;
    for (size_t i = 0; i < n; ++i) {
      const double value = std::exp(at(x, i) - largest) / total;
      exact.add(value,
                kUlp * value * (static_cast<double>(n) / 2 + 4 + std::abs(at(x, i) - largest)) + 1.2e-38);
    }
    const auto run = [&](const Kernels &set) {
      Guarded<float> soft(x);
      set.softmax(soft.data(), static_cast<int64_t>(n));
      return soft.values();
    };
    test::expect_within(exact, run(kernels()), run(plain()));
  }
}

// What is no number must reach the logits, where it is noticed.
TEST_P(Rows, WhatIsNoNumberStaysNone) {
  constexpr size_t kRow = 50;
  for (const size_t i : {size_t{0}, size_t{17}, kRow - 1}) {
    SCOPED_TRACE(i);
    Row x = random_values(kRow, 1, 9), out(kRow);
    const Row other = x, ones(kRow, 1.0f);
    x[i] = NAN;
    for (const Activation act : {Activation::Silu, Activation::GeluTanh}) {
      kernels().activate(act, x.data(), other.data(), out.data(), kRow);
      EXPECT_TRUE(std::isnan(out[i]));
      kernels().activate(act, other.data(), x.data(), out.data(), kRow);
      EXPECT_TRUE(std::isnan(out[i]));
    }
    for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
      kernels().norm({kind, 1e-5f, {ones.data(), kRow}, {}}, x.data(), out.data(), kRow);
      EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[kRow - 1]));
    }
    out = other;
    kernels().add(out.data(), x.data(), 1, kRow);
    EXPECT_TRUE(std::isnan(out[i]));
    out = x;
    kernels().softcap(out.data(), 30, kRow);
    EXPECT_TRUE(std::isnan(out[i]));
    out = x;
    kernels().softmax(out.data(), kRow);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[kRow - 1]));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Rows, testing::ValuesIn(test::kernel_sets()), test::set_name);

void time_norm(benchmark::State &state, const Kernels &kernels, size_t n) {
  const NormProblem problem(NormKind::Rms, false, n);
  Row y(n);
  for (auto _ : state) problem.run(kernels, y.data());
  test::count_bytes(state, 2 * n * sizeof(float));
}

const bool kTimed = test::for_every_set([](const std::string &name, const Kernels &set) {
  for (const size_t n : {size_t{1024}, size_t{4096}}) {
    benchmark::RegisterBenchmark(("norm/" + name + "/" + std::to_string(n)).c_str(), time_norm,
                                 std::cref(set), n);
  }
});

}  // namespace
}  // namespace rz::cpu
