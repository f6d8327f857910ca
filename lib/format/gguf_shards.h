// A model may be cut into several GGUF files, NAME-00001-of-00003.gguf and so on, each a whole GGUF file with
// its own tensors. The first one is opened and leads to its siblings.
#pragma once

#include <memory>
#include <string>

#include "format/model_file.h"

namespace rz {

// Reads one GGUF file: its tensors are added to `file`, its metadata to `metadata`.
void read_gguf_shard(ModelFile &file, std::shared_ptr<const Source> source, Metadata &metadata);

std::string base_name(const std::string &path);

}  // namespace rz
