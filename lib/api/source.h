// rz_source: where the host says that a model comes from.
#pragma once

#include <memory>

#include "base/file.h"
#include "rz.h"

namespace rz::api {

// Throws Argument for a source that says too little or too much; `map` false reads instead of mapping.
std::shared_ptr<const Source> open_source(const rz_source *source, bool map);
std::shared_ptr<const Source> open_model_path(const char *path, bool map);

}  // namespace rz::api
