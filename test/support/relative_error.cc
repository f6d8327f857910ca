#include "support/relative_error.h"

#include <cmath>
#include <stdexcept>

namespace rz::test {

namespace {

template <class Found, class Expected>
double error_of(std::span<const Found> found, std::span<const Expected> expected) {
  if (found.size() != expected.size()) throw std::invalid_argument("relative_error: sizes differ");
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double wanted = static_cast<double>(expected[i]), off = static_cast<double>(found[i]) - wanted;
    difference += off * off;
    norm += wanted * wanted;
  }
  return std::sqrt(difference / norm);
}

}  // namespace

double relative_error(std::span<const double> found, std::span<const double> expected) {
  return error_of(found, expected);
}
double relative_error(std::span<const float> found, std::span<const double> expected) {
  return error_of(found, expected);
}
double relative_error(std::span<const float> found, std::span<const float> expected) {
  return error_of(found, expected);
}

}  // namespace rz::test
