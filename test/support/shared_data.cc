#include "support/shared_data.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rz::test {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char *given = std::getenv("RZ_SHARED_DATA");
  const fs::path folder = given ? fs::path(given) : fs::path("../shared/data");
  return fs::exists(folder / "README.md") ? folder : fs::path();
}

std::string read_file(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<float> read_floats(const fs::path &path) {
  const std::string bytes = read_file(path);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

namespace {
struct Scratch {
  fs::path root = fs::temp_directory_path() / ("rz-test-" + std::to_string(getpid()));
  int next = 0;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};
}  // namespace

fs::path scratch_folder() {
  static Scratch scratch;
  const fs::path folder = scratch.root / std::to_string(scratch.next++);
  fs::create_directories(folder);
  return folder;
}

}  // namespace rz::test
