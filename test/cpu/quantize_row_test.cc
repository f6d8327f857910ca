// Activations to 8 bits by every instruction set: codes within half a step, sums exact, the same bits from
// all sets, and what is no number never lost.
#include <cstring>
#include <limits>

#include "cpu/kernel_test.h"
#include "cpu/kernel_timing.h"

namespace rz::cpu {
namespace {

using test::Guarded;
using Row = std::vector<float>;

// A form of activations: how many values share a scale, and how many a sum.
struct Form {
  ActKind kind;
  size_t group, sum_group;
  const char *name() const { return kind == ActKind::Blocks ? "blocks" : "super"; }
  std::vector<size_t> sizes() const {
    if (kind == ActKind::Blocks) return {32, 64, 96, 480, 544, 992};
    return {256, 512, 1280};
  }
};
constexpr Form kForms[] = {{ActKind::Blocks, 32, 32}, {ActKind::Super, 256, 16}};

struct Quantized {
  std::vector<int8_t> codes;  // padded to a multiple of 64
  std::vector<float> scales;
  std::vector<int16_t> sums;
};

void quantize(const Kernels &kernels, const Form &form, const Row &x, int8_t *codes, float *scales,
              int16_t *sums) {
  (form.kind == ActKind::Blocks ? kernels.quantize_blocks : kernels.quantize_super)(
      x.data(), static_cast<int64_t>(x.size()), codes, scales, sums);
}

Quantized quantize(const Kernels &kernels, const Form &form, const Row &x) {
  Guarded<int8_t> codes((x.size() + 63) / 64 * 64);
  Guarded<float> scales(x.size() / form.group);
  Guarded<int16_t> sums(x.size() / form.sum_group);
  quantize(kernels, form, x, codes.data(), scales.data(), sums.data());
  return {codes.values(), scales.values(), sums.values()};
}

class QuantizeRow : public test::KernelTest {};

// A code is rounded from x times a float that is 127 / largest but for a rounding, so it is half a step from
// x and 127 roundings of a step more.
TEST_P(QuantizeRow, KeepsEveryValueWithinHalfAStep) {
  for (const Form &form : kForms) {
    for (const size_t n : form.sizes()) {
      SCOPED_TRACE(std::string(form.name()) + " " + std::to_string(n));
      const Row x = test::random_values(n, 1, static_cast<uint32_t>(n));
      const Quantized q = quantize(kernels(), form, x);
      for (size_t g = 0; g < q.scales.size(); ++g) {
        double largest = 0;
        int largest_code = 0;
        for (size_t i = g * form.group; i < (g + 1) * form.group; ++i) {
          largest = std::max(largest, std::abs(static_cast<double>(x[i])));
          largest_code = std::max(largest_code, std::abs(static_cast<int>(q.codes[i])));
        }
        const auto scale = static_cast<double>(q.scales[g]);
        EXPECT_NEAR(scale, largest / 127, largest / 127 * test::kUlp);
        EXPECT_EQ(largest_code, 127);
        for (size_t i = g * form.group; i < (g + 1) * form.group; ++i) {
          EXPECT_NEAR(scale * q.codes[i], static_cast<double>(x[i]), scale * (0.5 + 127 * 2 * test::kUlp));
        }
      }
      for (size_t s = 0; s < q.sums.size(); ++s) {
        int sum = 0;
        for (size_t i = s * form.sum_group; i < (s + 1) * form.sum_group; ++i) sum += q.codes[i];
        EXPECT_EQ(q.sums[s], sum);
      }
      for (size_t i = n; i < q.codes.size(); ++i) EXPECT_EQ(q.codes[i], 0) << "padding " << i;
    }
  }
}

TEST_P(QuantizeRow, GivesTheBitsOfThePlainKernels) {
  for (const Form &form : kForms) {
    for (const size_t n : form.sizes()) {
      Row x = test::random_values(n, 3, static_cast<uint32_t>(n) + 1);
      // Halfway between two codes, where the direction of rounding shows: steps of 1 in the first group.
      for (size_t i = 0; i < form.group; ++i) x[i] = static_cast<float>(i % 127) - 63.5f;
      x[5] = -127;
      const Quantized found = quantize(kernels(), form, x), wanted = quantize(plain(), form, x);
      EXPECT_EQ(found.codes, wanted.codes);
      EXPECT_EQ(found.sums, wanted.sums);
      EXPECT_EQ(std::memcmp(found.scales.data(), wanted.scales.data(), found.scales.size() * sizeof(float)),
                0);
    }
  }
}

TEST_P(QuantizeRow, GivesZerosForZeros) {
  for (const Form &form : kForms) {
    const Quantized q = quantize(kernels(), form, Row(512, 0.0f));
    EXPECT_EQ(q.codes, std::vector<int8_t>(512, 0));
    EXPECT_EQ(q.scales, Row(512 / form.group, 0.0f));
    EXPECT_EQ(q.sums, std::vector<int16_t>(512 / form.sum_group, 0));
  }
}

TEST_P(QuantizeRow, GivesWhatIsNoNumberAScaleThatIsNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Form &form : kForms) {
    for (const float bad : {NAN, kInfinity, -kInfinity}) {
      for (const size_t i : {size_t{0}, size_t{7}, size_t{31}, size_t{300}, size_t{767}}) {
        SCOPED_TRACE(std::string(form.name()) + ", " + std::to_string(bad) + " at " + std::to_string(i));
        Row x = test::random_values(768, 1, 5);
        x[i] = bad;
        const Quantized q = quantize(kernels(), form, x);
        for (size_t g = 0; g < q.scales.size(); ++g) EXPECT_EQ(std::isnan(q.scales[g]), g == i / form.group);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantizeRow, testing::ValuesIn(test::kernel_sets()), test::set_name);

void time_quantize(benchmark::State &state, const Kernels &kernels, const Form &form) {
  const Row x = test::random_values(4096, 1, 1);
  Quantized q{std::vector<int8_t>(x.size()), Row(x.size() / form.group),
              std::vector<int16_t>(x.size() / form.sum_group)};
  for (auto _ : state) quantize(kernels, form, x, q.codes.data(), q.scales.data(), q.sums.data());
  test::count_bytes(state, x.size() * sizeof(float));
}

const bool kTimed = test::for_every_set([](const std::string &name, const Kernels &set) {
  for (const Form &form : kForms) {
    benchmark::RegisterBenchmark(("quantize/" + name + "/" + form.name() + "/4096").c_str(), time_quantize,
                                 std::cref(set), form);
  }
});

}  // namespace
}  // namespace rz::cpu
