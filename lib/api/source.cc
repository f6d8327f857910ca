#include "api/source.h"

#include <sys/stat.h>

#include "api/versioned.h"

namespace rz::api {

std::shared_ptr<const Source> open_model_path(const char *path, bool map) {
  need(path, "path");
  if (*path == 0) fail(Status::Argument, "path: expected the name of a file, found an empty one");
  struct stat info {};
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    fail(Status::Unsupported, "%s: expected a .gguf file, found a folder (safetensors are not supported)",
         path);
  }
  return open_path(path, map);
}

std::shared_ptr<const Source> open_source(const rz_source *given, bool map) {
  const rz_source source = take(given, "source");
  switch (source.kind) {
    case RZ_SOURCE_PATH:
      return open_model_path(source.path, map);
    case RZ_SOURCE_MEMORY:
      need(source.data, "source.data");
      return open_memory(source.data, source.size);
    case RZ_SOURCE_FD:
      if (source.fd < 0) fail(Status::Argument, "source.fd: expected a descriptor, found %d", source.fd);
      return open_descriptor(source.fd, source.offset, source.size, map);
    case RZ_SOURCE_IO: {
      const rz_io io = take(source.io, "source.io");
      if (!io.read_at) fail(Status::Argument, "source.io.read_at: expected a function, found NULL");
      return open_host_io(io.read_at, io.user, io.size);
    }
    default:
      fail(Status::Argument, "source.kind: expected RZ_SOURCE_*, found %d", source.kind);
  }
}

}  // namespace rz::api
