// The Plan as it is built and printed.
#include "model/plan.h"

#include <gtest/gtest.h>

#include "tiny_load.h"

namespace rz::test {
namespace {

bool lie_apart(const BufferInfo &a, const BufferInfo &b) {
  return a.offset + a.width <= b.offset || b.offset + b.width <= a.offset;
}
bool live_together(const BufferInfo &a, const BufferInfo &b) {
  return a.first_op <= b.last_op && b.first_op <= a.last_op;
}

TEST(Plan, NeverPutsBuffersThatLiveTogetherInOnePlace) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = load_patched(tiny_model(name), {});
    const Plan &plan = model->plan;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const BufferInfo &a = plan.buffers[i];
      EXPECT_GE(a.offset, 0) << name;
      EXPECT_LE(a.offset + a.width, plan.floats_per_row) << name;
      for (size_t j = 0; j < i; ++j) {
        const BufferInfo &b = plan.buffers[j];
        EXPECT_TRUE(!live_together(a, b) || lie_apart(a, b)) << name << ": buffers " << i << " and " << j;
      }
    }
  }
}

TEST(Plan, TakesNoMoreMemoryForMoreLayers) {
  const auto floats_per_row = [](int32_t layers) {
    return load_patched({.layers = layers}, {})->plan.floats_per_row;
  };
  EXPECT_EQ(floats_per_row(1), floats_per_row(9));
}

TEST(Plan, BeginsEveryBufferOnACacheLine) {
  const auto model = load_patched(tiny_model("gemma3"), {});
  for (const BufferInfo &buffer : model->plan.buffers) EXPECT_EQ(buffer.offset % 16, 0);
  EXPECT_EQ(model->plan.floats_per_row % 16, 0);
}

TEST(Plan, SaysWhatEachLayerKeeps) {
  const auto model = load_patched({.layers = 3, .kv_heads = 2, .head_dim = 32}, {});
  ASSERT_EQ(model->plan.kv.size(), 3u);
  for (const LayerKv &kv : model->plan.kv) {
    EXPECT_EQ(kv.kv_heads, 2);
    EXPECT_EQ(kv.head_dim, 32);
    EXPECT_EQ(kv.value_dim, 32);
  }
}

TEST(Plan, PrintsOneLineAnOp) {
  const auto model = load_patched(tiny_model("gemma2"), {});
  const std::string text = model->plan.print();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), model->plan.ops.size());
  const auto line = [&](const char *expected) { return text.find(expected) != std::string::npos; };
  EXPECT_TRUE(line("   0 Embed     b0[96] = token_embd.weight 96x389 F32[token] * 9.79796\n")) << text;
  EXPECT_TRUE(line(
      "   3 Attn      layer 0: b3[128] of b2[128], 4 heads over 2, scale 0.176777, soft cap 50, window 8\n"))
      << text;
  EXPECT_TRUE(line("   4 MatmulAdd b0[96] += rms norm of blk.0.attn_output.weight 128x96 F32 b3[128]\n"))
      << text;
  EXPECT_TRUE(
      line("  10 Attn      layer 1: b10[128] of b9[128], 4 heads over 2, scale 0.176777, soft cap 50\n"))
      << text;
  EXPECT_TRUE(line("logits = token_embd.weight 96x389 F32 rms norm of b0[96], soft cap 30\n")) << text;
}

TEST(Plan, NamesItsOps) {
  EXPECT_STREQ(op_name(EmbedOp{}), "Embed");
  EXPECT_STREQ(op_name(MoeDownOp{}), "MoeDown");
  EXPECT_STREQ(op_name(PoolOp{}), "Pool");
}

TEST(Plan, EndsWithHeadAndPoolOverTheSameNorm) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = load_patched(tiny_model(name), {});
    const auto &ops = model->plan.ops;
    const auto *head = std::get_if<HeadOp>(&ops[ops.size() - 2]);
    const auto *pool = std::get_if<PoolOp>(&ops.back());
    ASSERT_TRUE(head && pool) << name;
    EXPECT_EQ(head->norm.weight.data, pool->norm.weight.data) << name;
  }
}

}  // namespace
}  // namespace rz::test
