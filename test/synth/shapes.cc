// The table of shapes. Numbers are those of the configuration files and vocabularies that the models were
// published with; a shape's parameters add up to the count that its name rounds.
#include "shapes.h"

namespace rz::synth {
namespace {

constexpr SpecialToken kQwenSpecials[] = {
    {151643, "<|endoftext|>"},
    {151644, "<|im_start|>"},
    {151645, "<|im_end|>"},
    {151646, "<|object_ref_start|>"},
    {151647, "<|object_ref_end|>"},
    {151648, "<|box_start|>"},
    {151649, "<|box_end|>"},
    {151650, "<|quad_start|>"},
    {151651, "<|quad_end|>"},
    {151652, "<|vision_start|>"},
    {151653, "<|vision_end|>"},
    {151654, "<|vision_pad|>"},
    {151655, "<|image_pad|>"},
    {151656, "<|video_pad|>"},
    {151657, "<tool_call>"},
    {151658, "</tool_call>"},
    {151659, "<|fim_prefix|>"},
    {151660, "<|fim_middle|>"},
    {151661, "<|fim_suffix|>"},
    {151662, "<|fim_pad|>"},
    {151663, "<|repo_name|>"},
    {151664, "<|file_sep|>"},
    {151665, "<tool_response>"},
    {151666, "</tool_response>"},
    {151667, "<think>"},
    {151668, "</think>"},
};
constexpr SpecialToken kLlama3Specials[] = {
    {128000, "<|begin_of_text|>"},   {128001, "<|end_of_text|>"},   {128004, "<|finetune_right_pad_id|>"},
    {128006, "<|start_header_id|>"}, {128007, "<|end_header_id|>"}, {128008, "<|eom_id|>"},
    {128009, "<|eot_id|>"},          {128010, "<|python_tag|>"},
};
constexpr SpecialToken kGemmaSpecials[] = {
    {0, "<pad>"}, {1, "<eos>"}, {2, "<bos>"}, {3, "<unk>"}, {105, "<start_of_turn>"}, {106, "<end_of_turn>"},
};
constexpr SpecialToken kPhiSpecials[] = {
    {0, "<unk>"},
    {1, "<s>"},
    {2, "</s>"},
    {32000, "<|endoftext|>"},
    {32001, "<|assistant|>"},
    {32006, "<|system|>"},
    {32007, "<|end|>"},
    {32010, "<|user|>"},
};
constexpr SpecialToken kTinySpecials[] = {{510, "<|endoftext|>"}, {511, "<|im_end|>"}};
constexpr SpecialToken kTinyPieceSpecials[] = {{0, "<unk>"}, {1, "<s>"}, {2, "</s>"}, {3, "<|endoftext|>"}};

constexpr VocabularyShape kQwen{.spelling = Spelling::Bytes,
                                .pre = "qwen2",
                                .size = 151936,
                                .learned = 151643,
                                .specials = kQwenSpecials,
                                .bos = 151643,
                                .eos = 151645,
                                .unknown = -1,
                                .add_bos = false};
constexpr VocabularyShape kLlama3{.spelling = Spelling::Bytes,
                                  .pre = "llama-bpe",
                                  .size = 128256,
                                  .learned = 128000,
                                  .specials = kLlama3Specials,
                                  .bos = 128000,
                                  .eos = 128009,
                                  .unknown = -1,
                                  .add_bos = true};
constexpr VocabularyShape kGemma{.spelling = Spelling::SentencePiece,
                                 .pre = "default",
                                 .size = 262144,
                                 .learned = 262144,
                                 .specials = kGemmaSpecials,
                                 .bos = 2,
                                 .eos = 1,
                                 .unknown = 3,
                                 .add_bos = true};
constexpr VocabularyShape kPhi{.spelling = Spelling::SentencePiece,
                               .pre = "default",
                               .size = 32064,
                               .learned = 32000,
                               .specials = kPhiSpecials,
                               .bos = 1,
                               .eos = 32000,
                               .unknown = 0,
                               .add_bos = true};
constexpr VocabularyShape kTinyBytes{.spelling = Spelling::Bytes,
                                     .pre = "qwen2",
                                     .size = 512,
                                     .learned = 510,
                                     .specials = kTinySpecials,
                                     .bos = 510,
                                     .eos = 510,
                                     .unknown = -1,
                                     .add_bos = false};
constexpr VocabularyShape kTinyPieces{.spelling = Spelling::SentencePiece,
                                      .pre = "default",
                                      .size = 512,
                                      .learned = 512,
                                      .specials = kTinyPieceSpecials,
                                      .bos = 1,
                                      .eos = 2,
                                      .unknown = 0,
                                      .add_bos = true};

// name, architecture, vocabulary, layers, hidden, ffn, heads, kv heads, head_dim, context, rope base,
// epsilon, variant
// clang-format off
constexpr Shape kShapes[] = {
    {"qwen3-0.6b", "qwen3", &kQwen, 28, 1024, 3072, 16, 8, 128, 40960, 1e6f, 1e-6f, {.tied = true}},
    {"qwen3-1.7b", "qwen3", &kQwen, 28, 2048, 6144, 16, 8, 128, 40960, 1e6f, 1e-6f, {.tied = true}},
    {"qwen3-4b", "qwen3", &kQwen, 36, 2560, 9728, 32, 8, 128, 40960, 1e6f, 1e-6f, {.tied = true}},
    {"qwen3-8b", "qwen3", &kQwen, 36, 4096, 12288, 32, 8, 128, 40960, 1e6f, 1e-6f, {}},
    {"qwen3-30b-a3b", "qwen3moe", &kQwen, 48, 2048, 6144, 32, 4, 128, 40960, 1e6f, 1e-6f,
     {.experts = 128, .experts_used = 8, .expert_ffn = 768}},
    {"qwen2.5-0.5b", "qwen2", &kQwen, 24, 896, 4864, 14, 2, 64, 32768, 1e6f, 1e-6f, {.tied = true}},
    {"qwen2.5-1.5b", "qwen2", &kQwen, 28, 1536, 8960, 12, 2, 128, 32768, 1e6f, 1e-6f, {.tied = true}},
    {"llama3.2-1b", "llama", &kLlama3, 16, 2048, 8192, 32, 8, 64, 131072, 5e5f, 1e-5f,
     {.tied = true, .llama3_rope_factor = 32}},
    {"llama3.2-3b", "llama", &kLlama3, 28, 3072, 8192, 24, 8, 128, 131072, 5e5f, 1e-5f,
     {.tied = true, .llama3_rope_factor = 32}},
    {"llama3.1-8b", "llama", &kLlama3, 32, 4096, 14336, 32, 8, 128, 131072, 5e5f, 1e-5f, {.llama3_rope_factor = 8}},
    {"gemma3-1b", "gemma3", &kGemma, 26, 1152, 6912, 4, 1, 256, 32768, 1e6f, 1e-6f,
     {.tied = true, .window = 512, .rope_base_window = 1e4f}},
    {"phi3-mini", "phi3", &kPhi, 32, 3072, 8192, 32, 32, 96, 4096, 1e4f, 1e-5f, {.window = 2047}},
    {"tiny-llama", "llama", &kTinyBytes, 2, 256, 512, 4, 2, 64, 512, 5e5f, 1e-5f, {.llama3_rope_factor = 8}},
    {"tiny-qwen2", "qwen2", &kTinyBytes, 2, 256, 512, 4, 2, 64, 512, 1e6f, 1e-6f, {.tied = true}},
    {"tiny-qwen3", "qwen3", &kTinyBytes, 2, 256, 512, 4, 2, 128, 512, 1e6f, 1e-6f, {.tied = true}},
    {"tiny-qwen3moe", "qwen3moe", &kTinyBytes, 2, 256, 512, 4, 2, 128, 512, 1e6f, 1e-6f,
     {.experts = 16, .experts_used = 4, .expert_ffn = 256}},
    {"tiny-gemma3", "gemma3", &kTinyPieces, 7, 256, 512, 4, 1, 64, 512, 1e6f, 1e-6f,
     {.tied = true, .window = 32, .rope_base_window = 1e4f}},
    {"tiny-phi3", "phi3", &kTinyPieces, 2, 256, 512, 4, 4, 64, 512, 1e4f, 1e-5f, {.window = 255}},
};
// clang-format on

}  // namespace

std::span<const Shape> shapes() { return kShapes; }

const Shape *find_shape(std::string_view name) {
  for (const Shape &shape : kShapes) {
    if (name == shape.name) return &shape;
  }
  return nullptr;
}

std::string shape_names() {
  std::string names;
  for (const Shape &shape : kShapes) {
    if (!names.empty()) names += ", ";
    names += shape.name;
  }
  return names;
}

const VocabularyShape &tiny_vocabulary(Spelling spelling) {
  return spelling == Spelling::Bytes ? kTinyBytes : kTinyPieces;
}

}  // namespace rz::synth
