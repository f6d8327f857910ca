// What the opaque handles of rz.h point to.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/guard.h"
#include "backend/backend.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/generation.h"
#include "engine/session.h"
#include "model/model.h"

struct rz_model {
  std::atomic<uint32_t> references{1};
  std::unique_ptr<rz::Model> model;
  std::shared_ptr<rz::Device> device;  // null when only the vocabulary is there
  std::unique_ptr<rz::Engine> engine;  // likewise
  struct Entry {
    std::string key, value;
  };
  std::vector<Entry> metadata;  // as rz_model_metadata_at gives it
  rz::Logger logger;
};

namespace rz::api {

// Keeps a model alive.
class ModelReference {
 public:
  explicit ModelReference(rz_model *model) : model_(rz_model_retain(model)) {}
  ~ModelReference() { rz_model_release(model_); }
  ModelReference(const ModelReference &) = delete;
  ModelReference &operator=(const ModelReference &) = delete;
  rz_model *get() const { return model_; }

 private:
  rz_model *model_;
};

// Throws Argument where the model is NULL or was opened for its vocabulary only.
Engine &engine_of(const rz_model *model);
// Throws Argument where the model is NULL, Unsupported where it has no vocabulary.
const Tokenizer &tokenizer_of(const rz_model *model);
// Throws Argument, naming the first token that is not in the vocabulary.
void check_tokens(const rz_model *model, const int32_t *tokens, size_t n_tokens, const char *name);

}  // namespace rz::api

// The reference comes first, so it goes last.
struct rz_session {
  rz::api::ModelReference model;
  std::shared_ptr<rz::Session> session;
};

struct rz_generation {
  rz::api::ModelReference model;
  std::unique_ptr<rz::Generation> generation;
};
