// How many threads are worth starting when the host does not say.
#pragma once

#include <cstdint>

namespace rz::api {

// Physical cores that this process may run on: its affinity mask without hyper-threads, and no more than the
// processor time that its control group is given. At least 1.
int32_t physical_cores();

}  // namespace rz::api
