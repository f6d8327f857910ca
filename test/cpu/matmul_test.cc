// Every matmul kernel of every instruction set against sums in double precision, in the manner of checkasm:
// random weights and activations with outliers, odd sizes, poisoned outputs with guards, a stated bound.
#include <cstring>

#include "cpu/kernel_test.h"
#include "cpu/kernel_timing.h"

namespace rz::cpu {
namespace {

constexpr Type kTypes[] = {Type::F32,  Type::F16,  Type::BF16, Type::Q4_0,   Type::Q4_1,
                           Type::Q5_0, Type::Q5_1, Type::Q8_0, Type::Q2_K,   Type::Q3_K,
                           Type::Q4_K, Type::Q5_K, Type::Q6_K, Type::IQ4_NL, Type::IQ4_XS};
constexpr int64_t kGap = 3;  // floats between the rows of y

struct Case {
  const Kernels &kernels;
  Type type;
  int64_t rows, cols, n;
};

class Problem {
 public:
  explicit Problem(const Case &c) : case_(c) {
    const auto rows = static_cast<size_t>(c.rows), cols = static_cast<size_t>(c.cols),
               n = static_cast<size_t>(c.n), row_bytes = static_cast<size_t>(bytes_of(c.type, cols));
    // Encoding takes longer than timing: past so many rows the same come again.
    const size_t own_rows = std::min<size_t>(rows, 128);
    const std::vector<float> w = test::random_values(own_rows * cols, 0.05f, 1);
    weights_.resize(rows * row_bytes);
    traits(c.type).encode(w.data(), weights_.data(), static_cast<int64_t>(w.size()));
    for (size_t r = own_rows; r < rows; ++r) {
      std::memcpy(weights_.data() + r * row_bytes, weights_.data() + r % own_rows * row_bytes, row_bytes);
    }
    quantize(test::random_values(n * cols, 1, 2));
    work_.resize(matmul_work_bytes(c.n) + 64);
  }

  // All weight rows with these activation rows; y: (x_rows, y_stride).
  MatmulJob job(const std::vector<int32_t> &x_rows, float *y, int64_t y_stride) {
    MatmulJob job = {};
    job.row_bytes = bytes_of(case_.type, static_cast<uint64_t>(case_.cols));
    job.w = weights_.data();
    job.rows = case_.rows;
    job.cols = case_.cols;
    job.x = x_;
    job.x_rows = x_rows.data();
    job.n = static_cast<int64_t>(x_rows.size());
    job.y = y;
    job.y_stride = y_stride;
    job.work =
        reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(work_.data()) + 63) & ~uintptr_t{63});
    return job;
  }

  // y (n, rows) by a kernel, from some weight and activation rows; what lies around it must not be written.
  std::vector<float> run(void (*kernel)(const MatmulJob &), int64_t first_row, int64_t rows,
                         std::vector<int32_t> x_rows) {
    const int64_t stride = rows + kGap;
    test::Guarded<float> y(x_rows.size() * static_cast<size_t>(stride));
    MatmulJob job = this->job(x_rows, y.data(), stride);
    job.w += static_cast<uint64_t>(first_row) * job.row_bytes;
    job.rows = rows;
    kernel(job);
    std::vector<float> result;
    for (size_t i = 0; i < x_rows.size(); ++i) {
      const float *row = y.data() + i * static_cast<size_t>(stride);
      result.insert(result.end(), row, row + rows);
      EXPECT_TRUE(y.untouched(i * static_cast<size_t>(stride) + static_cast<size_t>(rows), kGap))
          << "wrote past row " << rows;
    }
    return result;
  }

  std::vector<float> run(void (*kernel)(const MatmulJob &)) { return run(kernel, 0, case_.rows, all_x()); }

  std::vector<int32_t> all_x() const {
    std::vector<int32_t> rows;
    for (int32_t i = 0; i < case_.n; ++i) rows.push_back(i);
    return rows;
  }

  // Largest error relative to the sum of |w x|.
  double error_of(const std::vector<float> &y) const {
    std::vector<float> decoded(static_cast<size_t>(case_.rows * case_.cols));
    traits(case_.type).decode(weights_.data(), decoded.data(), case_.rows * case_.cols);
    double worst = 0;
    for (int64_t i = 0; i < case_.n; ++i) {
      for (int64_t r = 0; r < case_.rows; ++r) {
        double sum = 0, magnitude = 1e-30;
        for (int64_t k = 0; k < case_.cols; ++k) {
          const double term = static_cast<double>(decoded[static_cast<size_t>(r * case_.cols + k)]) *
                              static_cast<double>(seen_[static_cast<size_t>(i * case_.cols + k)]);
          sum += term;
          magnitude += std::abs(term);
        }
        worst =
            std::max(worst, std::abs(static_cast<double>(y[static_cast<size_t>(i * case_.rows + r)]) - sum) /
                                magnitude);
      }
    }
    return worst;
  }

 private:
  void quantize(const std::vector<float> &x) {
    const ActKind kind = case_.kernels.matmul[static_cast<int>(case_.type)].activations;
    values_ = x;
    seen_ = x;
    x_.values = values_.data();
    x_.value_stride = case_.cols;
    if (kind == ActKind::Float) return;
    const int64_t group = kind == ActKind::Blocks ? 32 : 256, sum_group = kind == ActKind::Blocks ? 32 : 16;
    x_.code_stride = (case_.cols + 63) / 64 * 64;
    x_.scale_stride = x_.code_stride / 32;
    x_.sum_stride = x_.code_stride / 16;
    codes_.assign(static_cast<size_t>(case_.n * x_.code_stride), 99);
    scales_.assign(static_cast<size_t>(case_.n * x_.scale_stride), NAN);
    sums_.assign(static_cast<size_t>(case_.n * x_.sum_stride), 9999);
    for (int64_t i = 0; i < case_.n; ++i) {
      int8_t *codes = codes_.data() + i * x_.code_stride;
      float *scales = scales_.data() + i * x_.scale_stride;
      int16_t *sums = sums_.data() + i * x_.sum_stride;
      (kind == ActKind::Blocks ? case_.kernels.quantize_blocks : case_.kernels.quantize_super)(
          x.data() + i * case_.cols, case_.cols, codes, scales, sums);
      for (int64_t k = 0; k < case_.cols; ++k) {
        seen_[static_cast<size_t>(i * case_.cols + k)] = static_cast<float>(codes[k]) * scales[k / group];
        EXPECT_NEAR(seen_[static_cast<size_t>(i * case_.cols + k)],
                    x[static_cast<size_t>(i * case_.cols + k)], scales[k / group] * 0.5001f);
      }
      for (int64_t g = 0; g < case_.cols / sum_group; ++g) {
        int sum = 0;
        for (int64_t k = 0; k < sum_group; ++k) sum += codes[g * sum_group + k];
        EXPECT_EQ(sums[g], sum);
      }
    }
    x_.codes = codes_.data();
    x_.scales = scales_.data();
    x_.sums = sums_.data();
  }

  Case case_;
  std::vector<std::byte> weights_, work_;
  std::vector<float> values_, seen_;  // seen_: the activations as the kernel knows them
  std::vector<int8_t> codes_;
  std::vector<float> scales_;
  std::vector<int16_t> sums_;
  Activations x_;
};

using Param = std::tuple<std::string, Type>;
class Matmul : public testing::TestWithParam<Param> {
 protected:
  const Kernels &kernels() const { return choose_kernels(std::get<0>(GetParam())); }
  Type type() const { return std::get<1>(GetParam()); }
  const MatmulKernels &matmul() const { return kernels().matmul[static_cast<int>(type())]; }
  std::vector<int64_t> widths() const {
    const int64_t block = traits(type()).block_weights;
    if (block == 256) return {256, 512, 1280};
    if (block == 32) return {32, 64, 96, 512, 544, 1120};
    return {1, 16, 33, 250, 520};
  }
};

TEST_P(Matmul, IsWithinTenMillionthsOfTheExactSum) {
  for (const int64_t cols : widths()) {
    for (const auto &[rows, n] :
         {std::pair<int64_t, int64_t>{1, 1}, {16, 2}, {17, 3}, {32, 4}, {33, 6}, {70, 13}}) {
      Problem problem({kernels(), type(), rows, cols, n});
      EXPECT_LT(problem.error_of(problem.run(matmul().few)), 1e-5)
          << "few, " << rows << "x" << cols << ", n " << n;
      EXPECT_LT(problem.error_of(problem.run(matmul().many)), 1e-5)
          << "many, " << rows << "x" << cols << ", n " << n;
    }
  }
}

TEST_P(Matmul, GivesTheSameBitsByFewAndByManyRows) {
  for (const int64_t cols : widths()) {
    for (int64_t n = 1; n <= 14; ++n) {
      Problem problem({kernels(), type(), 45, cols, n});
      EXPECT_EQ(problem.run(matmul().few), problem.run(matmul().many)) << cols << " columns, n " << n;
    }
  }
}

TEST_P(Matmul, GivesARowTheSameBitsWhateverIsComputedBesideIt) {
  const int64_t cols = widths().back(), rows = 40, n = 9;
  Problem problem({kernels(), type(), rows, cols, n});
  const std::vector<float> all = problem.run(matmul().many);
  for (int32_t i = 0; i < n; ++i) {
    for (const int64_t first : {0, 3, 24}) {
      const std::vector<float> alone = problem.run(matmul().few, first, rows - first, {i});
      for (int64_t r = first; r < rows; ++r) {
        EXPECT_EQ(alone[static_cast<size_t>(r - first)], all[static_cast<size_t>(i * rows + r)]);
      }
    }
  }
  const std::vector<float> shuffled = problem.run(matmul().many, 0, rows, {8, 2, 5});
  for (int64_t r = 0; r < rows; ++r)
    EXPECT_EQ(shuffled[static_cast<size_t>(rows + r)], all[static_cast<size_t>(2 * rows + r)]);
}

std::string name_of(const testing::TestParamInfo<Param> &info) {
  return std::get<0>(info.param) + "_" + traits(std::get<1>(info.param)).name;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Matmul,
                         testing::Combine(testing::ValuesIn(test::kernel_sets()), testing::ValuesIn(kTypes)),
                         name_of);

// 2048 by 2048 weights stay in the caches, so that it is the kernel that is timed and not the memory.
void time_matmul(benchmark::State &state, const Kernels &kernels, Type type, int64_t n) {
  constexpr int64_t kRows = 2048, kCols = 2048;
  Problem problem({kernels, type, kRows, kCols, n});
  std::vector<float> y(static_cast<size_t>(n * kRows));
  const std::vector<int32_t> x_rows = problem.all_x();
  const MatmulJob job = problem.job(x_rows, y.data(), kRows);
  const MatmulKernels &matmul = kernels.matmul[static_cast<int>(type)];
  const auto kernel = n <= matmul.few_rows ? matmul.few : matmul.many;
  for (auto _ : state) kernel(job);
  test::count_bytes(state, bytes_of(type, kRows * kCols));
  test::count_ops(state, 2 * kRows * kCols * static_cast<uint64_t>(n));
}

const bool kTimed = test::for_every_set([](const std::string &name, const Kernels &set) {
  for (const Type type : kTypes) {
    for (const int64_t n : {1, 2, 4, 8, 16, 64, 512}) {
      const std::string title = "matmul/" + name + "/" + traits(type).name + "/" + std::to_string(n);
      benchmark::RegisterBenchmark(title.c_str(), time_matmul, std::cref(set), type, n);
    }
  }
});

}  // namespace
}  // namespace rz::cpu
