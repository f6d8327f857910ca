// Writing a model again with other block formats: every tensor decoded and encoded piece by piece, so that
// the memory it takes does not depend on the model's size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/log.h"

namespace rz {

// Writes `source` to `out_path` as GGUF in the mix that `scheme` names ("Q4_K_M", see quant/mix.h). The file
// appears, or replaces an older one, only when it is whole; it does not depend on the number of threads.
// `progress` gets the share of the weights' bytes done. Throws Argument for an unknown scheme, Numeric for
// weights that no block can hold, naming the tensor.
void quantize_file(std::shared_ptr<const Source> source, const std::string &out_path, std::string_view scheme,
                   int32_t threads, const Progress &progress);

}  // namespace rz
