// Searches for the scale of one group of weights that share it. Each candidate scale rounds the weights to
// codes, and the least-squares scale for those codes is what the candidate is worth; the one of least
// weighted squared error wins. The importance of a weight grows with its magnitude: large weights matter more
// than their share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace rz {

constexpr float kNothing = 1e-15f;  // far below the smallest half (6e-8): such weights are stored as 0
constexpr int kLanes = 8;  // sums are kept in this many parts, so that they vectorize in one fixed order

// Nearest integer, ties to even, for |v| < 2^22: adding 1.5 x 2^23 leaves no bits for a fraction. Unlike
// lrintf it is plain arithmetic, which compilers vectorize.
inline float round_even(float v) { return (v + 12582912.0f) - 12582912.0f; }

// Sum over j < N of term(j).
template <int N, class Term>
float lane_sum(Term term) {
  float lanes[kLanes] = {};
  for (int j = 0; j < N; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(j + l);
  }
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// A grid is the set of levels that codes stand for, in units of the scale: `level(v)` is the level nearest to
// v, `code(v)` its code, `edges` the levels that the weight of largest magnitude may be mapped near to.
template <int Top>
struct IntegerGrid {  // -Top .. Top - 1
  static constexpr std::array<float, 2> edges{-float{Top}, float{Top} - 1};
  static constexpr float step = 0.1f;
  static float level(float v) { return std::min(std::max(round_even(v), -float{Top}), float{Top} - 1); }
  static int code(float v) { return static_cast<int>(level(v)); }
};

// importance[j] = 1 + (x / rms)^2
template <int N>
void square_importance(const float *x, float *importance) {
  const float sum = lane_sum<N>([&](int j) { return x[j] * x[j]; });
  const float inverse = sum > kNothing * kNothing ? N / sum : 0;
  for (int j = 0; j < N; ++j) importance[j] = 1 + x[j] * x[j] * inverse;
}

// importance[j] = 1 + |x| / rms: milder, for formats with minima, where the weights far from zero are common.
template <int N>
void linear_importance(const float *x, float *importance) {
  const float sum = lane_sum<N>([&](int j) { return x[j] * x[j]; });
  const float inverse = sum > kNothing * kNothing ? 1 / std::sqrt(sum / N) : 0;
  for (int j = 0; j < N; ++j) importance[j] = 1 + std::fabs(x[j]) * inverse;
}

// Weighted squared error of x[j] ~ scale * level.
template <class Grid, int N>
float scale_error(const float *x, const float *importance, float scale) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  return lane_sum<N>([&](int j) {
    const float error = x[j] - scale * Grid::level(x[j] * inverse);
    return importance[j] * error * error;
  });
}

// The scale s of x[j] ~ s * level.
template <class Grid, int N>
float fit_scale(const float *x, const float *importance) {
  float peak = 0;
  for (int j = 0; j < N; ++j) {
    if (std::fabs(x[j]) > std::fabs(peak)) peak = x[j];
  }
  if (std::fabs(peak) < kNothing) return 0;
  float best = 0, scale = 0;
  for (const float edge : Grid::edges) {
    for (int k = -9; k <= 9; ++k) {
      const float inverse = (edge + Grid::step * static_cast<float>(k)) / peak;
      float levels[N];
      for (int j = 0; j < N; ++j) levels[j] = Grid::level(x[j] * inverse);
      const float xl = lane_sum<N>([&](int j) { return importance[j] * x[j] * levels[j]; });
      const float ll = lane_sum<N>([&](int j) { return importance[j] * levels[j] * levels[j]; });
      // The error left by the best scale, xl / ll, is sum(importance x^2) - xl^2 / ll.
      if (ll > 0 && xl * xl > best * ll) {
        best = xl * xl / ll;
        scale = xl / ll;
      }
    }
  }
  return scale;
}

struct Line {  // x ~ scale * code + offset, code in 0 .. top
  float scale = 0, offset = 0;
};

inline float line_code(float x, float inverse, float offset, float top) {
  return std::min(std::max(round_even((x - offset) * inverse), 0.0f), top);
}

template <int N>
float line_error(const float *x, const float *importance, Line line, float top) {
  const float inverse = line.scale > 0 ? 1 / line.scale : 0;
  return lane_sum<N>([&](int j) {
    const float error = line.scale * line_code(x[j], inverse, line.offset, top) + line.offset - x[j];
    return importance[j] * error * error;
  });
}

enum class Offset { Any, NotPositive };

template <int N>
Line fit_line(const float *x, const float *importance, float top, Offset rule) {
  float low = x[0], high = x[0];
  for (int j = 1; j < N; ++j) {
    low = std::min(low, x[j]);
    high = std::max(high, x[j]);
  }
  if (rule == Offset::NotPositive) low = std::min(low, 0.0f);
  if (high - low < kNothing) return {0, low};

  float y[N], codes[N];  // y: x above low, so that a large common offset costs no precision
  for (int j = 0; j < N; ++j) y[j] = x[j] - low;
  const float w = lane_sum<N>([&](int j) { return importance[j]; });
  const float wy = lane_sum<N>([&](int j) { return importance[j] * y[j]; });
  float best = -1;
  Line line;
  for (int k = -10; k <= 10; ++k) {
    const float inverse = (top + 0.1f * static_cast<float>(k)) / (high - low);
    for (int j = 0; j < N; ++j) codes[j] = line_code(y[j], inverse, 0, top);
    const float wq = lane_sum<N>([&](int j) { return importance[j] * codes[j]; });
    const float wqq = lane_sum<N>([&](int j) { return importance[j] * codes[j] * codes[j]; });
    const float wqy = lane_sum<N>([&](int j) { return importance[j] * codes[j] * y[j]; });
    const float determinant = w * wqq - wq * wq;
    if (determinant <= 0) continue;
    float scale = (w * wqy - wq * wy) / determinant;
    float offset = (wqq * wy - wq * wqy) / determinant;
    if (rule == Offset::NotPositive && low + offset > 0) {
      offset = -low;
      scale = (wqy - offset * wq) / wqq;
    }
    const float error = lane_sum<N>([&](int j) {
      const float e = scale * codes[j] + offset - y[j];
      return importance[j] * e * e;
    });
    if (scale > 0 && (best < 0 || error < best)) {
      best = error;
      line = {scale, low + offset};
    }
  }
  return best < 0 ? Line{(high - low) / top, low} : line;
}

}  // namespace rz
