// A model, ready to be compiled by a backend: what the file says, where its weights lie, its Plan and its
// tokenizer.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "format/model_file.h"
#include "model/plan.h"
#include "model/weights.h"
#include "text/tokenizer.h"

namespace rz {

struct LoadOptions {
  int32_t context = 0;        // longest timeline; 0 = the model's own
  bool vocab_only = false;    // tokenizer and metadata; the Plan stays empty
  bool headers_only = false;  // for estimates: the Plan is built, weights have no data
  bool lock_memory = false;
  bool check_tensors = false;  // refuse NaN and infinity in weights (Numeric, naming tensor and index)
  Progress progress = {};
};

struct Model {
  std::unique_ptr<ModelFile> file;
  Spec spec;
  std::unique_ptr<Weights> weights;
  Plan plan;
  std::unique_ptr<Tokenizer> tokenizer;  // null when the file has no vocabulary
  uint64_t parameters = 0;
  std::string quantization;  // "Q4_K_M", "F16": general.file_type, or the most common type

  uint64_t weights_bytes() const;  // of all tensors
};

std::unique_ptr<Model> load_model(std::shared_ptr<const Source> source, const LoadOptions &options);

}  // namespace rz
