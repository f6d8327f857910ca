// Files that are well-formed GGUF and no model: each is a tiny valid one with one patch. All are refused with
// the code and the words expected, in bounded time, memory and stack.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/hostile.h"
#include "support/shared_data.h"
#include "tiny_load.h"

namespace rz::test {
namespace {

struct BadModel {
  const char *what;
  TinyModel model;
  Patch patch;
  Status status;
  std::string message;  // a piece of it
};

void PrintTo(const BadModel &bad, std::ostream *out) { *out << bad.what; }

template <class T>
Patch set(const char *key, T value) {
  return [=](TinyFile &file) { file.set(key, value); };
}
Patch remove(const char *key) {
  return [=](TinyFile &file) { file.remove(key); };
}
// The tensor as it is with other dimensions of the same product.
Patch reshape(const char *name, std::vector<int64_t> dims) {
  return [=](TinyFile &file) { file.tensor(name).dims = dims; };
}

class BadModels : public testing::TestWithParam<BadModel> {};

TEST_P(BadModels, AreRefusedByCodeAndWord) {
  const BadModel &bad = GetParam();
  const std::filesystem::path path = write_patched(bad.model, bad.patch);
  const Outcome outcome =
      run_hostile(std::filesystem::file_size(path), [&] { load_model(open_path(path.string(), true), {}); });
  EXPECT_FALSE(outcome.foreign);
  EXPECT_EQ(outcome.status, bad.status) << outcome.message;
  EXPECT_NE(outcome.message.find(bad.message), std::string::npos) << outcome.message;
  EXPECT_LT(outcome.seconds.count(), 2);
}

const TinyModel kLlama = {};
const TinyModel kMoe = tiny_model("qwen3moe");
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

INSTANTIATE_TEST_SUITE_P(
    Keys, BadModels,
    testing::Values(
        BadModel{"no architecture", kLlama, remove("general.architecture"), Status::Format,
                 "general.architecture: expected"},
        BadModel{"architecture a number", kLlama, set("general.architecture", uint32_t{1}), Status::Format,
                 "general.architecture: expected"},
        BadModel{"unknown architecture", kLlama, set("general.architecture", std::string("eliza")),
                 Status::Unsupported, "found eliza"},
        BadModel{"no layers key", kLlama, remove("llama.block_count"), Status::Format,
                 "llama.block_count: expected"},
        BadModel{"layers as text", kLlama, set("llama.block_count", std::string("2")), Status::Format,
                 "llama.block_count: expected"},
        BadModel{"no width", kLlama, remove("llama.embedding_length"), Status::Format,
                 "llama.embedding_length: expected an integer in [1, 16777216], found nothing"},
        BadModel{"width a float", kLlama, set("llama.embedding_length", 96.0f), Status::Format,
                 "llama.embedding_length: expected"},
        BadModel{"no heads", kLlama, remove("llama.attention.head_count"), Status::Format,
                 "llama.attention.head_count: expected"},
        BadModel{"no feed-forward width", kLlama, remove("llama.feed_forward_length"), Status::Format,
                 "llama.feed_forward_length: expected"},
        BadModel{"no context", kLlama, remove("llama.context_length"), Status::Format,
                 "llama.context_length: expected"},
        BadModel{"no epsilon", kLlama, remove("llama.attention.layer_norm_rms_epsilon"), Status::Format,
                 "llama.attention.layer_norm_rms_epsilon: expected a finite number, found nothing"},
        BadModel{"width of floats by layer", kLlama,
                 set("llama.feed_forward_length", std::vector<float>{160, 160}), Status::Format,
                 "llama.feed_forward_length: expected"},
        BadModel{"experts used unsaid", kMoe, remove("qwen3moe.expert_used_count"), Status::Format,
                 "qwen3moe.expert_used_count: expected"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, BadModels,
    testing::Values(
        BadModel{"no layer", kLlama, set("llama.block_count", uint32_t{0}), Status::Limit,
                 "llama.block_count: expected 1 to 512, found 0"},
        BadModel{"513 layers", kLlama, set("llama.block_count", uint32_t{513}), Status::Limit, "found 513"},
        BadModel{"100000 layers", kLlama, set("llama.block_count", uint32_t{100000}), Status::Limit,
                 "found 100000"},
        BadModel{"minus one layer", kLlama, set("llama.block_count", int32_t{-1}), Status::Limit, "found -1"},
        BadModel{"width 0", kLlama, set("llama.embedding_length", uint32_t{0}), Status::Format,
                 "llama.embedding_length: expected"},
        BadModel{"0 heads", kLlama, set("llama.attention.head_count", uint32_t{0}), Status::Format,
                 "llama.attention.head_count: expected"},
        BadModel{"0 kv heads", kLlama, set("llama.attention.head_count_kv", uint32_t{0}), Status::Format,
                 "llama.attention.head_count_kv: expected"},
        BadModel{"heads no multiple of kv heads", kLlama, set("llama.attention.head_count_kv", uint32_t{3}),
                 Status::Format, "llama.attention.head_count_kv: expected a divisor of the 4 heads, found 3"},
        BadModel{"more kv heads than heads", kLlama, set("llama.attention.head_count_kv", uint32_t{8}),
                 Status::Format, "llama.attention.head_count_kv: expected a divisor of the 4 heads, found 8"},
        BadModel{"head size 0", kLlama, set("llama.attention.key_length", uint32_t{0}), Status::Format,
                 "llama.attention.key_length: expected"},
        BadModel{"0 experts used", kMoe, set("qwen3moe.expert_used_count", uint32_t{0}), Status::Format,
                 "qwen3moe.expert_used_count: expected an integer in [1, 6]"},
        BadModel{"more experts used than there are", kMoe, set("qwen3moe.expert_used_count", uint32_t{7}),
                 Status::Format, "qwen3moe.expert_used_count: expected an integer in [1, 6]"},
        BadModel{"no experts", kMoe, set("qwen3moe.expert_count", uint32_t{0}), Status::Format,
                 "qwen3moe.expert_count: expected at least 1"},
        BadModel{"more rope dimensions than the head has", kLlama,
                 set("llama.rope.dimension_count", uint32_t{34}), Status::Format,
                 "llama.rope.dimension_count: expected"},
        BadModel{"odd rope dimensions", kLlama, set("llama.rope.dimension_count", uint32_t{31}),
                 Status::Format, "llama.rope.dimension_count: expected an even number, found 31"},
        BadModel{"context 2^32 - 1", kLlama, set("llama.context_length", uint32_t{0xffffffff}),
                 Status::Format, "llama.context_length: expected"},
        BadModel{"context 0", kLlama, set("llama.context_length", uint32_t{0}), Status::Format,
                 "llama.context_length: expected"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadModels,
    testing::Values(
        BadModel{"rope base NaN", kLlama, set("llama.rope.freq_base", kNan), Status::Format,
                 "llama.rope.freq_base: expected"},
        BadModel{"rope base 0", kLlama, set("llama.rope.freq_base", 0.0f), Status::Format,
                 "llama.rope.freq_base: expected"},
        BadModel{"rope base infinite", kLlama, set("llama.rope.freq_base", kInfinity), Status::Format,
                 "llama.rope.freq_base: expected"},
        BadModel{"rope base negative", kLlama, set("llama.rope.freq_base", -10000.0f), Status::Format,
                 "llama.rope.freq_base: expected"},
        BadModel{"local rope base 0", tiny_model("gemma3"), set("gemma3.rope.freq_base_swa", 0.0f),
                 Status::Format, "gemma3.rope.freq_base_swa: expected"},
        BadModel{"rope factor negative", kLlama, set("llama.rope.scaling.factor", -1.0f), Status::Format,
                 "llama.rope.scaling.factor: expected"},
        BadModel{"rope magnitude 0", kLlama, set("llama.rope.scaling.attn_factor", 0.0f), Status::Format,
                 "llama.rope.scaling.attn_factor: expected"},
        BadModel{"epsilon NaN", kLlama, set("llama.attention.layer_norm_rms_epsilon", kNan), Status::Format,
                 "llama.attention.layer_norm_rms_epsilon: expected"},
        BadModel{"epsilon 0", kLlama, set("llama.attention.layer_norm_rms_epsilon", 0.0f), Status::Format,
                 "llama.attention.layer_norm_rms_epsilon: expected"},
        BadModel{"epsilon infinite", kLlama, set("llama.attention.layer_norm_rms_epsilon", kInfinity),
                 Status::Format, "llama.attention.layer_norm_rms_epsilon: expected"},
        BadModel{"soft cap negative", tiny_model("gemma2"), set("gemma2.attn_logit_softcapping", -50.0f),
                 Status::Format, "gemma2.attn_logit_softcapping: expected"},
        BadModel{"soft cap NaN", tiny_model("gemma2"), set("gemma2.final_logit_softcapping", kNan),
                 Status::Format, "gemma2.final_logit_softcapping: expected"}));

INSTANTIATE_TEST_SUITE_P(
    Tensors, BadModels,
    testing::Values(
        BadModel{"fewer embeddings than tokens", kLlama,
                 [](TinyFile &file) {
                   file.remove_tensor("token_embd.weight");
                   file.add_tensor("token_embd.weight", Type::F32, {96, 300}, std::vector<float>(96 * 300));
                 },
                 Status::Format, "token_embd.weight: expected 96x389, found 96x300"},
        BadModel{"no embeddings", kLlama, [](TinyFile &file) { file.remove_tensor("token_embd.weight"); },
                 Status::Format, "token_embd.weight: expected the tensor, found nothing"},
        BadModel{"no embeddings and no vocabulary", kLlama,
                 [](TinyFile &file) {
                   for (const char *key : {"model", "tokens", "scores", "token_type", "bos_token_id",
                                           "eos_token_id", "unknown_token_id"}) {
                     file.remove(std::string("tokenizer.ggml.") + key);
                   }
                   file.remove_tensor("token_embd.weight");
                 },
                 Status::Format, "token_embd.weight: expected the tensor, found nothing"},
        BadModel{"a layer too few", kLlama,
                 [](TinyFile &file) { file.set("llama.block_count", uint32_t{3}); }, Status::Format,
                 "blk.2.attn_norm.weight: expected the tensor, found nothing"},
        BadModel{"transposed projection", kLlama, reshape("blk.0.ffn_gate.weight", {160, 96}), Status::Format,
                 "blk.0.ffn_gate.weight: expected 96x160, found 160x96"},
        BadModel{"output projection of the wrong width", kLlama,
                 reshape("blk.1.attn_output.weight", {64, 192}), Status::Format,
                 "blk.1.attn_output.weight: expected 128x96, found 64x192"},
        BadModel{"norm of another length", kLlama,
                 [](TinyFile &file) {
                   file.remove_tensor("blk.1.ffn_norm.weight");
                   file.add_tensor("blk.1.ffn_norm.weight", Type::F32, {64}, std::vector<float>(64, 1));
                 },
                 Status::Format, "blk.1.ffn_norm.weight: expected 96, found 64"},
        BadModel{"experts of another number", kMoe, reshape("blk.0.ffn_up_exps.weight", {96, 128, 3}),
                 Status::Format, "blk.0.ffn_up_exps.weight: expected 96x64x6, found 96x128x3"},
        BadModel{"a bias missing", tiny_model("qwen2"),
                 [](TinyFile &file) { file.remove_tensor("blk.0.attn_k.bias"); }, Status::Format,
                 "blk.0.attn_k.bias: expected the tensor, found nothing"},
        BadModel{"rope factors of another number",
                 {.rope_factors = true},
                 reshape("rope_freqs.weight", {8, 2}),
                 Status::Format,
                 "rope_freqs.weight: expected 16, found 8x2"},
        BadModel{"weights as integers", kLlama,
                 [](TinyFile &file) { file.tensor("blk.0.attn_q.weight").type = Type::I32; },
                 Status::Unsupported, "blk.0.attn_q.weight: expected a type of weights, found I32"},
        BadModel{"positions of another number", tiny_model("gpt2"), set("gpt2.context_length", uint32_t{512}),
                 Status::Format, "position_embd.weight: expected 96x512, found 96x256"}));

}  // namespace
}  // namespace rz::test
