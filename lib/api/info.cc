// rz.h: what a model is, and what its file says about it.
#include <cstring>
#include <string>

#include "api/handles.h"
#include "api/versioned.h"
#include "base/utf8.h"

namespace rz::api {

namespace {

// As much as fits, in whole characters.
template <size_t N>
void copy_text(char (&out)[N], std::string_view text) {
  text = text.substr(0, N - 1);
  text = text.substr(0, utf8_complete_prefix(text));
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = 0;
}

// A GPU's own name goes first where the text has no room for all: "cuda:0, 12 of 28 layers; cpu (avx512, 2
// threads)".
template <size_t N>
void copy_device(char (&out)[N], std::string name) {
  const size_t open = name.find(" ("), close = name.find("), ");
  if (name.size() >= N && open < close && close != std::string::npos) name.erase(open, close + 1 - open);
  copy_text(out, name);
}

rz_model_info info_of(const rz_model &handle) {
  const Model &model = *handle.model;
  const Spec &spec = model.spec;
  rz_model_info info{};
  copy_text(info.architecture, spec.architecture);
  copy_text(info.name, spec.name);
  copy_text(info.quantization, model.quantization);
  if (handle.device) copy_device(info.device, handle.device->name());
  info.parameters = model.parameters;
  info.file_bytes = model.file->file_bytes();
  info.context_length = spec.context;
  info.vocabulary = spec.vocab;
  info.layers = spec.layers;
  info.hidden = spec.hidden;
  info.heads = spec.heads;
  info.kv_heads = spec.kv_heads;
  info.head_dim = spec.head_dim;
  info.experts = spec.experts;
  info.experts_used = spec.experts_used;
  info.bos_token = model.tokenizer ? model.tokenizer->vocab().bos : -1;
  info.eos_token = model.tokenizer ? model.tokenizer->vocab().eos : -1;
  return info;
}

}  // namespace

}  // namespace rz::api

using namespace rz::api;

rz_status rz_model_get_info(const rz_model *model, rz_model_info *out, rz_error *err) {
  return guard(err, [&] {
    need(model, "model");
    check_out(out, "out");
    give(info_of(*model), out);
  });
}

size_t rz_model_metadata_count(const rz_model *model) { return model ? model->metadata.size() : 0; }

rz_status rz_model_metadata_at(const rz_model *model, size_t index, const char **key, const char **value,
                               rz_error *err) {
  return guard(err, [&] {
    need(model, "model");
    need(key, "key");
    need(value, "value");
    const size_t count = model->metadata.size();
    if (index >= count)
      rz::fail(rz::Status::Argument, "index: expected less than %zu, found %zu", count, index);
    *key = model->metadata[index].key.c_str();
    *value = model->metadata[index].value.c_str();
  });
}
