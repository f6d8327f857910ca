#include "api/handles.h"

namespace rz::api {

Engine &engine_of(const rz_model *model) {
  need(model, "model");
  if (!model->engine)
    fail(Status::Argument, "model: it was opened with RZ_MODEL_VOCAB_ONLY and computes nothing");
  return *model->engine;
}

const Tokenizer &tokenizer_of(const rz_model *model) {
  need(model, "model");
  if (!model->model->tokenizer)
    fail(Status::Unsupported, "model: its file has no vocabulary, only token ids");
  return *model->model->tokenizer;
}

void check_tokens(const rz_model *model, const int32_t *tokens, size_t n_tokens, const char *name) {
  if (n_tokens == 0) return;
  need(tokens, name);
  const int32_t vocab = model->model->spec.vocab;
  for (size_t i = 0; i < n_tokens; ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab) continue;
    fail(Status::Argument, "%s[%zu]: expected 0 to %d, found %d", name, i, vocab - 1, tokens[i]);
  }
}

}  // namespace rz::api
