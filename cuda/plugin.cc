// librz_cuda.so as librz sees it.
#include "backend/plugin_export.h"
#include "cuda/device.h"

RZ_DEVICE_PLUGIN(rz::open_cuda_device)
