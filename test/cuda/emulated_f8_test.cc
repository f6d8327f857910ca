// 8-bit floats as attention decodes them, every code in every place of its words.
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/kernels/attention_page.h"
#include "support/f8.h"

namespace rz::cuda::test {
namespace {

TEST(F8, IsDecodedToAHalfOf256thTheSize) {
  constexpr uint32_t kOthers = 0xff7e8001;
  for (uint32_t code = 0; code < 256; ++code) {
    const double exact = rz::test::f8_value(static_cast<uint8_t>(code)) / 256;
    for (uint32_t place = 0; place < 4; ++place) {
      const uint32_t word = (kOthers & ~(0xffu << 8 * place)) | code << 8 * place;
      Half2 first[4], second[4];
      pairs_of_f8(word, kOthers, first);
      pairs_of_f8(kOthers, word, second);
      for (const Half found : {low_half(first[place]), high_half(second[place])}) {
        const float value = half_to_float(found);
        EXPECT_EQ(std::signbit(value), code >= 128);
        if (std::isnan(exact)) {
          EXPECT_TRUE(std::isnan(value)) << code;
        } else {
          EXPECT_EQ(static_cast<double>(value), exact) << code;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rz::cuda::test
