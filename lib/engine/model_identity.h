// Which model a saved session belongs to: a hash of what decides the content of a KV page.
#pragma once

#include "base/hash.h"
#include "model/model.h"

namespace rz {

// Architecture, dimensions, the table of tensors and samples of each tensor's bytes.
Hash128 model_identity(const Model &model);

}  // namespace rz
