// Real data that may lie beside the project, in ../shared/data (or where RZ_SHARED_DATA says). Tests that
// need it skip, saying so, where it is absent; everything the project promises is also tested without it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rz::test {

// The folder, or an empty path.
std::filesystem::path shared_data();

// Reads a whole file; fails the test by throwing where it cannot.
std::string read_file(const std::filesystem::path &path);
std::vector<float> read_floats(const std::filesystem::path &path);  // little-endian float32, the whole file

// A fresh folder for one test's files, removed at the end of the process.
std::filesystem::path scratch_folder();

}  // namespace rz::test

#define RZ_NEED_SHARED_DATA() \
  if (rz::test::shared_data().empty()) GTEST_SKIP() << "../shared/data is not here"
