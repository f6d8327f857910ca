#include "tiny_load.h"

#include "support/shared_data.h"

namespace rz::test {

std::filesystem::path write_patched(const TinyModel &what, const Patch &patch) {
  TinyFile file = make_tiny_model(what);
  if (patch) patch(file);
  const std::filesystem::path path = scratch_folder() / "model.gguf";
  file.write(path);
  return path;
}

std::unique_ptr<ModelFile> open_patched(const TinyModel &what, const Patch &patch) {
  return open_model_file(open_path(write_patched(what, patch).string(), true));
}

std::unique_ptr<Model> load_patched(const TinyModel &what, const Patch &patch, const LoadOptions &options) {
  return load_model(open_path(write_patched(what, patch).string(), true), options);
}

}  // namespace rz::test
