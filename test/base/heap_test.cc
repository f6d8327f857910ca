#include "base/heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace rz {
namespace {

TEST(Heap, AlignsBlocksAsAsked) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const size_t size : {0u, 1u, 15u, 64u, 1000u, 100000u}) {
      void *block = heap_allocate(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u) << size << " at " << alignment;
      std::memset(block, 0xa5, size);
      heap_free(block);
    }
  }
  heap_free(nullptr);
}

TEST(Heap, GivesNullWhenThereIsNotSoMuch) {
  volatile size_t size = SIZE_MAX / 2;  // not known to the compiler, which would warn
  if (std::string(heap_name()) == "system") GTEST_SKIP() << "a sanitizer's own allocator may end the process";
  EXPECT_EQ(heap_allocate(size), nullptr);
  EXPECT_EQ(heap_allocate(size, 4096), nullptr);
}

TEST(Heap, ServesManyThreadsAndFreesAcrossThem) {
  constexpr int kThreads = 4, kBlocks = 2000;
  std::vector<std::vector<unsigned char *>> blocks(kThreads, std::vector<unsigned char *>(kBlocks));
  const auto size_of = [](int i) { return static_cast<size_t>(i * 37 % 3000 + 1); };
  const auto in_threads = [](auto work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (auto &thread : threads) thread.join();
  };
  in_threads([&](int t) {
    for (int i = 0; i < kBlocks; ++i) {
      auto *block = static_cast<unsigned char *>(heap_allocate(size_of(i), i % 2 ? 64 : 16));
      std::memset(block, t + 1, size_of(i));
      blocks[static_cast<size_t>(t)][static_cast<size_t>(i)] = block;
    }
  });
  std::vector<int> wrong(kThreads, 0);
  in_threads([&](int t) {
    const int other = (t + 1) % kThreads;
    for (int i = 0; i < kBlocks; ++i) {
      unsigned char *block = blocks[static_cast<size_t>(other)][static_cast<size_t>(i)];
      if (block[0] != other + 1 || block[size_of(i) - 1] != other + 1) ++wrong[static_cast<size_t>(t)];
      heap_free(block);
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

TEST(Heap, NamesItsAllocator) {
  const std::string name = heap_name();
  EXPECT_TRUE(name == "system" || name == "mimalloc (built in)" || name == "mimalloc (libmimalloc.so.2)")
      << name;
  EXPECT_EQ(heap_name(), name);
}

}  // namespace
}  // namespace rz
