// The plugins that are built for tests (test/plugin), beside the test programs.
#pragma once

#include <string>

namespace rz::test {

std::string test_plugin(const std::string &name);  // "fake_device": its file

}  // namespace rz::test
