// Encoding of super-blocks: 256 weights in sub-blocks, each with a small integer scale in units of one
// half-precision scale. The sub-blocks are fitted alone first; then their scales are rounded, each to the
// neighbour that leaves the least error; then the common scale is fitted again to what was chosen. The
// formats differ only in the numbers and in how they pack the result.
#pragma once

#include "quant/blocks.h"
#include "quant/fit.h"
#include "quant/half.h"
#include "quant/range.h"

namespace rz {

template <int Subs>
struct ScaledSuper {  // w = d scale level
  Half d;
  int scales[Subs];
  int codes[kSuperBlock];
};

// Grid's codes and scales of -ScaleTop .. ScaleTop - 1.
template <class Grid, int Subs, int ScaleTop>
class ScaledEncoder {
 public:
  static ScaledSuper<Subs> encode(const float *x) {
    ScaledEncoder e(x);
    for (int s = 0; s < Subs; ++s) e.fitted_[s] = fit_scale<Grid, kSub>(e.sub(s), e.weight(s));
    float peak = 0;
    for (const float f : e.fitted_) {
      if (std::fabs(f) > std::fabs(peak)) peak = f;
    }
    // The largest scale gets the code of largest magnitude, which is negative.
    e.choose(scale_reaching(-peak, ScaleTop));
    e.refine();
    return e.result();
  }

 private:
  static constexpr int kSub = kSuperBlock / Subs;

  explicit ScaledEncoder(const float *x) : x_(x) { square_importance<kSuperBlock>(x, importance_); }
  const float *sub(int s) const { return x_ + s * kSub; }
  const float *weight(int s) const { return importance_ + s * kSub; }

  // Sets the scales' codes for this d, and error_ to what is left.
  void choose(Half d) {
    d_ = d;
    error_ = 0;
    const float unit = half_to_float(d);
    for (int s = 0; s < Subs; ++s) {
      const float ideal = unit != 0 ? round_even(fitted_[s] / unit) : 0;
      const int nearest = static_cast<int>(std::clamp(ideal, -float{ScaleTop}, float{ScaleTop} - 1));
      float best = -1;
      for (int c = std::max(nearest - 1, -ScaleTop); c <= std::min(nearest + 1, ScaleTop - 1); ++c) {
        const float error = scale_error<Grid, kSub>(sub(s), weight(s), unit * static_cast<float>(c));
        if (best >= 0 && error >= best) continue;
        best = error;
        scales_[s] = c;
      }
      error_ += best;
    }
  }

  // The least-squares d for the scales and levels as they are; kept if the error falls once it is rounded.
  void refine() {
    const float unit = half_to_float(d_);
    float xl = 0, ll = 0;
    for (int s = 0; s < Subs; ++s) {
      const float scale = static_cast<float>(scales_[s]);
      if (unit == 0 || scales_[s] == 0) continue;
      const float inverse = 1 / (unit * scale);
      for (int j = 0; j < kSub; ++j) {
        const float level = scale * Grid::level(sub(s)[j] * inverse);
        xl += weight(s)[j] * sub(s)[j] * level;
        ll += weight(s)[j] * level * level;
      }
    }
    if (ll <= 0) return;
    const ScaledEncoder before = *this;
    choose(nearest_scale(xl / ll));
    if (error_ >= before.error_) *this = before;
  }

  ScaledSuper<Subs> result() const {
    ScaledSuper<Subs> out;
    out.d = d_;
    for (int s = 0; s < Subs; ++s) {
      out.scales[s] = scales_[s];
      const float scale = half_to_float(d_) * static_cast<float>(scales_[s]);
      const float inverse = scale != 0 ? 1 / scale : 0;
      for (int j = 0; j < kSub; ++j) out.codes[s * kSub + j] = Grid::code(sub(s)[j] * inverse);
    }
    return out;
  }

  const float *x_;
  float importance_[kSuperBlock];
  float fitted_[Subs];
  Half d_ = 0;
  int scales_[Subs] = {};
  float error_ = 0;
};

template <int Subs>
struct LineSuper {  // w = d scale code - dmin min
  Half d, dmin;
  int scales[Subs], mins[Subs];
  int codes[kSuperBlock];
};

// Codes of 0 .. Top, scales and minima of 0 .. ScaleTop.
template <int Subs, int Top, int ScaleTop>
class LineEncoder {
 public:
  static LineSuper<Subs> encode(const float *x) {
    LineEncoder e(x);
    float scale = 0, min = 0;
    for (int s = 0; s < Subs; ++s) {
      e.fitted_[s] = fit_line<kSub>(e.sub(s), e.weight(s), Top, Offset::NotPositive);
      scale = std::max(scale, e.fitted_[s].scale);
      min = std::max(min, -e.fitted_[s].offset);
    }
    e.choose(scale_reaching(scale, ScaleTop), scale_reaching(min, ScaleTop));
    e.refine();
    return e.result();
  }

 private:
  static constexpr int kSub = kSuperBlock / Subs;

  explicit LineEncoder(const float *x) : x_(x) { linear_importance<kSuperBlock>(x, importance_); }
  const float *sub(int s) const { return x_ + s * kSub; }
  const float *weight(int s) const { return importance_ + s * kSub; }
  static int nearest(float value, Half unit) {
    if (unit == 0) return 0;
    return static_cast<int>(std::clamp(round_even(value / half_to_float(unit)), 0.0f, float{ScaleTop}));
  }
  Line line(int scale, int min) const {
    return {half_to_float(d_) * static_cast<float>(scale), -half_to_float(dmin_) * static_cast<float>(min)};
  }

  void choose(Half d, Half dmin) {
    d_ = d;
    dmin_ = dmin;
    error_ = 0;
    for (int s = 0; s < Subs; ++s) {
      const int scale = nearest(fitted_[s].scale, d), min = nearest(-fitted_[s].offset, dmin);
      float best = -1;
      for (int c = std::max(scale - 1, 0); c <= std::min(scale + 1, ScaleTop); ++c) {
        for (int m = std::max(min - 1, 0); m <= std::min(min + 1, ScaleTop); ++m) {
          const float error = line_error<kSub>(sub(s), weight(s), line(c, m), Top);
          if (best >= 0 && error >= best) continue;
          best = error;
          scales_[s] = c;
          mins_[s] = m;
        }
      }
      error_ += best;
    }
  }

  // The least-squares d and dmin for the codes as they are; kept if the error falls once they are rounded.
  void refine() {
    float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;  // x ~ d a + dmin b, a = scale code, b = -min
    for (int s = 0; s < Subs; ++s) {
      const Line l = line(scales_[s], mins_[s]);
      const float inverse = l.scale > 0 ? 1 / l.scale : 0;
      const float b = -static_cast<float>(mins_[s]);
      for (int j = 0; j < kSub; ++j) {
        const float a = static_cast<float>(scales_[s]) * line_code(sub(s)[j], inverse, l.offset, Top);
        const float wa = weight(s)[j] * a, wb = weight(s)[j] * b;
        aa += wa * a;
        ab += wa * b;
        bb += wb * b;
        xa += wa * sub(s)[j];
        xb += wb * sub(s)[j];
      }
    }
    const float determinant = aa * bb - ab * ab;
    const float d = determinant > 0 ? (xa * bb - xb * ab) / determinant : aa > 0 ? xa / aa : 0;
    const float dmin = determinant > 0 ? (xb * aa - xa * ab) / determinant : half_to_float(dmin_);
    if (d <= 0 || dmin < 0) return;
    const LineEncoder before = *this;
    choose(nearest_scale(d), nearest_scale(dmin));
    if (error_ >= before.error_) *this = before;
  }

  LineSuper<Subs> result() const {
    LineSuper<Subs> out;
    out.d = d_;
    out.dmin = dmin_;
    for (int s = 0; s < Subs; ++s) {
      out.scales[s] = scales_[s];
      out.mins[s] = mins_[s];
      const Line l = line(scales_[s], mins_[s]);
      const float inverse = l.scale > 0 ? 1 / l.scale : 0;
      for (int j = 0; j < kSub; ++j) {
        out.codes[s * kSub + j] = static_cast<int>(line_code(sub(s)[j], inverse, l.offset, Top));
      }
    }
    return out;
  }

  const float *x_;
  float importance_[kSuperBlock];
  Line fitted_[Subs];
  Half d_ = 0, dmin_ = 0;
  int scales_[Subs] = {}, mins_[Subs] = {};
  float error_ = 0;
};

}  // namespace rz
