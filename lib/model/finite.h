// Looks at every weight of a file for values that are no numbers, for hosts that ask for it at load.
#pragma once

#include "format/model_file.h"

namespace rz {

// Throws Numeric `<tensor>[<index>]: expected a finite number, found nan`.
void check_finite(const ModelFile &file);

}  // namespace rz
