// The numbers of the GGUF format that its reader and its writer must agree on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rz {

static_assert(std::endian::native == std::endian::little,
              "files are little endian, and read without swapping");

constexpr std::string_view kGgufMagic = "GGUF";
constexpr uint32_t kGgufVersion = 3;  // 2 has the same layout
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr uint32_t kDefaultAlignment = 32;
constexpr uint32_t kLargestAlignment = 1 << 20;
constexpr size_t kLongestTensorName = 63;  // others keep names in 64 bytes with a NUL

// Alignments below 8 would let numbers lie across their natural boundaries.
constexpr bool is_alignment(uint64_t n) { return std::has_single_bit(n) && n >= 8 && n <= kLargestAlignment; }

}  // namespace rz
