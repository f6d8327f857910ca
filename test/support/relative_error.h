// How far two lists of numbers lie apart: norm of the difference over norm of what was expected, the measure
// of all comparisons.
#pragma once

#include <span>

namespace rz::test {

double relative_error(std::span<const double> found, std::span<const double> expected);
double relative_error(std::span<const float> found, std::span<const double> expected);
double relative_error(std::span<const float> found, std::span<const float> expected);

}  // namespace rz::test
