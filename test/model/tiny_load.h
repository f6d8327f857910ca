// Tiny models on disk, opened: as they are or patched.
#pragma once

#include <functional>
#include <memory>

#include "model/model.h"
#include "support/tiny_models.h"

namespace rz::test {

using Patch = std::function<void(TinyFile &)>;

std::filesystem::path write_patched(const TinyModel &what, const Patch &patch);
std::unique_ptr<ModelFile> open_patched(const TinyModel &what, const Patch &patch);
std::unique_ptr<Model> load_patched(const TinyModel &what, const Patch &patch,
                                    const LoadOptions &options = {});

}  // namespace rz::test
