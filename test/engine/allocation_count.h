// Counts what operator new hands out in this test program, so that a test can hold "allocates nothing" to its
// word.
#pragma once

#include <cstddef>

namespace rz::test {

// Allocations on this thread so far.
size_t allocation_count();

}  // namespace rz::test
