// The Plan as it is built and printed.
#include "model/plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
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

TEST(PlanPart, BeginsWhereOnlyTheResidualStreamIsAlive) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = load_patched(tiny_model(name), {});
    const Plan &plan = model->plan;
    const BufferId x = std::get<EmbedOp>(plan.ops[0]).out;
    for (int32_t layer = 0; layer < static_cast<int32_t>(plan.kv.size()); ++layer) {
      const int32_t begin = plan.layer_begin(layer);
      ASSERT_TRUE(std::holds_alternative<NormOp>(plan.ops[static_cast<size_t>(begin)])) << name;
      EXPECT_EQ(std::get<QkvOp>(plan.ops[static_cast<size_t>(begin) + 1]).layer, layer) << name;
      EXPECT_EQ(plan.crossing(begin), std::vector<BufferId>{x}) << name;
      EXPECT_EQ(plan.crossing(begin + 1).size(), 2u) << "the normed one too";
    }
    EXPECT_TRUE(plan.crossing(0).empty());
    EXPECT_TRUE(plan.crossing(static_cast<int32_t>(plan.ops.size())).empty());
    EXPECT_THROW(plan.layer_begin(static_cast<int32_t>(plan.kv.size())), Error);
  }
}

// A family that norms behind its branches has no norm before them.
TEST(PlanPart, BeginsWithTheQkvThatReadsTheResidualStream) {
  Spec spec;
  spec.layers = 2;
  spec.hidden = spec.vocab = 64;
  spec.heads = spec.kv_heads = 1;
  spec.head_dim = spec.value_dim = 64;
  const Matrix w{"w", Type::F32, 64, 64};
  PlanBuilder builder(spec);
  const BufferId x = builder.embed(w);
  for (int32_t layer = 0; layer < 2; ++layer) {
    builder.matmul_add(x, builder.attn(builder.qkv(x, layer, w, w, w, {}), layer), w);
  }
  builder.head(x, {}, w);
  const Plan plan = builder.finish();
  EXPECT_EQ(plan.layer_begin(0), 1);
  EXPECT_EQ(plan.layer_begin(1), 4);
  EXPECT_EQ(plan.crossing(4), std::vector<BufferId>{x});
}

TEST(PlanPart, KeepsBuffersAndWhatItsLayersKeep) {
  for (const std::string &name : tiny_architectures()) {
    const auto model = load_patched(tiny_model(name), {});
    const Plan &plan = model->plan;
    const auto ops = static_cast<int32_t>(plan.ops.size());
    const int32_t layer = static_cast<int32_t>(plan.kv.size()) / 2, cut = plan.layer_begin(layer);
    const Plan parts[] = {plan.part(0, cut), plan.part(cut, ops)};
    ASSERT_EQ(static_cast<int32_t>(parts[0].ops.size()), cut);
    ASSERT_EQ(static_cast<int32_t>(parts[1].ops.size()), ops - cut);
    for (size_t i = 0; i < plan.ops.size(); ++i) {
      const bool second = static_cast<int32_t>(i) >= cut;
      const Op &op = parts[second].ops[i - (second ? static_cast<size_t>(cut) : 0)];
      EXPECT_STREQ(op_name(op), op_name(plan.ops[i]));
    }
    for (size_t i = 0; i < plan.kv.size(); ++i) {
      const bool second = static_cast<int32_t>(i) >= layer;
      EXPECT_EQ(parts[second].kv[i].kv_heads, plan.kv[i].kv_heads) << name << " layer " << i;
      EXPECT_EQ(parts[!second].kv[i].kv_heads, 0) << name << " layer " << i;
    }
    for (const Plan &part : parts) {
      EXPECT_EQ(part.floats_per_row, plan.floats_per_row);
      ASSERT_EQ(part.buffers.size(), plan.buffers.size());
      for (size_t i = 0; i < plan.buffers.size(); ++i) {
        EXPECT_EQ(part.buffers[i].offset, plan.buffers[i].offset);
        EXPECT_EQ(part.buffers[i].width, plan.buffers[i].width);
      }
    }
  }
}

TEST(PlanPart, SaysWhichBuffersLiveBeforeInsideAndAfterIt) {
  const auto model = load_patched(tiny_model("llama"), {});
  const Plan &plan = model->plan;
  const int32_t cut = plan.layer_begin(1), ops = static_cast<int32_t>(plan.ops.size());
  const Plan first = plan.part(0, cut), second = plan.part(cut, ops);
  const auto lives = [](const Plan &part, BufferId id) {
    const BufferInfo &info = part.buffers[static_cast<size_t>(id)];
    return std::pair(info.first_op, info.last_op);
  };
  const BufferId x = std::get<EmbedOp>(plan.ops[0]).out;
  const BufferId early = std::get<NormOp>(first.ops[1]).out, late = std::get<NormOp>(second.ops[0]).out;
  EXPECT_EQ(lives(first, x), std::pair(0, cut));
  EXPECT_EQ(lives(second, x), std::pair(-1, ops - cut - 1));
  EXPECT_EQ(lives(first, early), std::pair(1, 2));
  EXPECT_EQ(lives(second, early), std::pair(-1, -1));
  EXPECT_EQ(lives(first, late), std::pair(cut, cut));
  EXPECT_EQ(lives(second, late), std::pair(0, 1));
}

TEST(Matrix, ASliceOfASliceKnowsWhereItsTensorHasIt) {
  const Matrix whole{"w", Type::F32, 10, 4};
  EXPECT_EQ(whole.slice(2, 6).slice(3, 2).first_row, 5);
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
