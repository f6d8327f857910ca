#include "support/plugins.h"

#include <filesystem>

namespace rz::test {

std::string test_plugin(const std::string &name) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / "plugins" / (name + ".so")).string();
}

}  // namespace rz::test
