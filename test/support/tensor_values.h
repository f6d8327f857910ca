// A tensor's values as floats, whatever it is stored in.
#pragma once

#include <vector>

#include "format/model_file.h"

namespace rz::test {

std::vector<float> weights_of(const ModelFile &file, const TensorInfo &tensor);

}  // namespace rz::test
