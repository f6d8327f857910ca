// Puts a file together: the keys that the family's files have, the vocabulary, then the tensors piece by
// piece.
#include "synth.h"

#include <algorithm>

#include "format/gguf_writer.h"
#include "tensors.h"
#include "vocabulary.h"
#include "weights.h"

namespace rz::synth {
namespace {

constexpr int64_t kPiece = 1 << 22;  // weights dealt and written at a time

void add_metadata(GgufWriter &file, const Shape &s, const Mix &mix) {
  const std::string prefix = std::string(s.architecture) + '.';
  const auto u32 = [&](const char *key, int32_t value) {
    file.add_u32(prefix + key, static_cast<uint32_t>(value));
  };
  const auto f32 = [&](const char *key, float value) { file.add_f32(prefix + key, value); };
  file.add_string("general.architecture", s.architecture);
  file.add_string("general.type", "model");
  file.add_string("general.name", std::string(s.name) + " (random weights)");
  u32("block_count", s.layers);
  u32("context_length", s.context);
  u32("embedding_length", s.hidden);
  u32("feed_forward_length", s.ffn);
  u32("attention.head_count", s.heads);
  u32("attention.head_count_kv", s.kv_heads);
  u32("attention.key_length", s.head_dim);
  u32("attention.value_length", s.head_dim);
  f32("attention.layer_norm_rms_epsilon", s.norm_eps);
  if (s.variant.window > 0) u32("attention.sliding_window", s.variant.window);
  u32("rope.dimension_count", s.head_dim);
  f32("rope.freq_base", s.rope_base);
  if (s.variant.rope_base_window > 0) f32("rope.freq_base_swa", s.variant.rope_base_window);
  if (s.variant.experts > 0) {
    u32("expert_count", s.variant.experts);
    u32("expert_used_count", s.variant.experts_used);
    u32("expert_feed_forward_length", s.variant.expert_ffn);
  }
  u32("vocab_size", s.vocabulary->size);
  file.add_u32("general.file_type", mix.file_type);
  file.add_u32("general.quantization_version", kQuantizationVersion);
}

MixModel mix_model(const Shape &shape, const std::vector<Tensor> &tensors) {
  MixModel model;
  model.n_layers = shape.layers;
  model.n_heads = shape.heads;
  model.n_kv_heads = shape.kv_heads;
  model.n_experts = shape.variant.experts;
  std::vector<std::string_view> names;
  for (const Tensor &tensor : tensors) names.push_back(tensor.name);
  model.survey(names);
  return model;
}

}  // namespace

void write_model(const Shape &shape, const Mix &mix, uint64_t seed, const std::string &path) {
  const std::vector<Tensor> tensors = tensors_of(shape);
  const MixModel model = mix_model(shape, tensors);
  GgufWriter file(path);
  add_metadata(file, shape, mix);
  add_vocabulary(file, *shape.vocabulary, seed);

  std::vector<Type> types;
  for (const Tensor &tensor : tensors) {
    types.push_back(type_for(mix, model, tensor.name, tensor.dims, Type::F32));
    file.add_tensor(tensor.name, types.back(), tensor.dims);
  }
  Weights weights(shape, seed);
  std::vector<std::byte> piece;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t n = tensors[i].elements();
    for (int64_t done = 0; done < n; done += kPiece) {
      const int64_t now = std::min(kPiece, n - done);
      piece.resize(bytes_of(types[i], static_cast<uint64_t>(now)));
      weights.deal(tensors[i], types[i], now, piece.data());
      file.write_part(piece);
    }
  }
  file.finish();
}

}  // namespace rz::synth
