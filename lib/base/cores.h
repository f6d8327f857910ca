// How many threads are of use to this process: more of them wait for each other's turn at every barrier.
#pragma once

#include <cstdint>

namespace rz {

// Threads that can run at once: the processors of the affinity mask, hyper-threads included, and no more than
// the processor time that the control group is given. At least 1.
int32_t usable_cores();

// What is worth starting when the host does not say: of usable_cores(), one per physical core. At least 1.
int32_t physical_cores();

// What is started when the host says `asked`: 0 leaves it to the library.
int32_t worthwhile_threads(int32_t asked);

}  // namespace rz
