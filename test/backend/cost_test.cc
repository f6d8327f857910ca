// What an op costs: the figures that a profile adds up, and that speeds are judged by.
#include "backend/cost.h"

#include <gtest/gtest.h>

#include <vector>

namespace rz::test {
namespace {

constexpr int32_t kHeads = 4, kKvHeads = 2, kHeadDim = 32, kValueDim = 16;

KvLayout one_layer(Type type) {
  Plan plan;
  LayerKv kv = {};
  kv.kv_heads = kKvHeads;
  kv.head_dim = kHeadDim;
  kv.value_dim = kValueDim;
  plan.kv.push_back(kv);
  return KvLayout::make(plan, type);
}

AttnOp attention(int32_t window) {
  AttnOp op = {};
  op.heads = kHeads;
  op.kv_heads = kKvHeads;
  op.head_dim = kHeadDim;
  op.value_dim = kValueDim;
  op.window = window;
  return op;
}

OpCost cost(int32_t window, const std::vector<int32_t> &positions, const std::vector<int32_t> &sequences,
            Type type = Type::F16) {
  Batch batch;
  batch.tokens = positions;  // any numbers
  batch.positions = positions;
  batch.sequences = sequences;
  return cost_of(attention(window), batch, one_layer(type), 0);
}

constexpr uint64_t kTokenBytes = kKvHeads * (kHeadDim + kValueDim) * 2;
constexpr uint64_t kPairOps = 2 * kHeads * (kHeadDim + kValueDim);  // a query with a token

TEST(Cost, AttentionReadsAContextOnceForAllRowsOfASequence) {
  const OpCost one = cost(0, {99}, {0});
  EXPECT_EQ(one.bytes, 100 * kTokenBytes);
  EXPECT_EQ(one.flops, 100 * kPairOps);
  const OpCost prompt = cost(0, {97, 98, 99}, {0, 0, 0});
  EXPECT_EQ(prompt.bytes, 100 * kTokenBytes);
  EXPECT_EQ(prompt.flops, (98 + 99 + 100) * kPairOps);
}

TEST(Cost, AttentionReadsOneByteOfAn8BitFloat) {
  EXPECT_EQ(cost(0, {99}, {0}, Type::F8).bytes, 100 * kTokenBytes / 2);
}

TEST(Cost, AttentionReadsEachSequencesContext) {
  const OpCost both = cost(0, {9, 19, 20}, {0, 1, 1});
  EXPECT_EQ(both.bytes, (10 + 21) * kTokenBytes);
  EXPECT_EQ(both.flops, (10 + 20 + 21) * kPairOps);
}

TEST(Cost, AttentionReadsWhatTheWindowsOfItsRowsCover) {
  const OpCost one = cost(8, {99}, {0});
  EXPECT_EQ(one.bytes, 8 * kTokenBytes);
  EXPECT_EQ(one.flops, 8 * kPairOps);
  const OpCost prompt = cost(8, {5, 97, 98}, {0, 0, 0});  // 0-5, 90-98
  EXPECT_EQ(prompt.bytes, (6 + 9) * kTokenBytes);
  EXPECT_EQ(prompt.flops, (6 + 8 + 8) * kPairOps);
}

}  // namespace
}  // namespace rz::test
