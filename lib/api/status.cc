// rz.h: status and versions.
#include "rz.h"

const char *rz_status_name(rz_status status) {
  switch (status) {
    case RZ_OK:
      return "RZ_OK";
    case RZ_E_ARGUMENT:
      return "RZ_E_ARGUMENT";
    case RZ_E_NOMEM:
      return "RZ_E_NOMEM";
    case RZ_E_IO:
      return "RZ_E_IO";
    case RZ_E_FORMAT:
      return "RZ_E_FORMAT";
    case RZ_E_UNSUPPORTED:
      return "RZ_E_UNSUPPORTED";
    case RZ_E_LIMIT:
      return "RZ_E_LIMIT";
    case RZ_E_CONTEXT:
      return "RZ_E_CONTEXT";
    case RZ_E_DEVICE:
      return "RZ_E_DEVICE";
    case RZ_E_BUSY:
      return "RZ_E_BUSY";
    case RZ_E_STATE:
      return "RZ_E_STATE";
    case RZ_E_TEMPLATE:
      return "RZ_E_TEMPLATE";
    case RZ_E_GRAMMAR:
      return "RZ_E_GRAMMAR";
    case RZ_E_NUMERIC:
      return "RZ_E_NUMERIC";
    case RZ_E_BUFFER:
      return "RZ_E_BUFFER";
    case RZ_E_CANCELLED:
      return "RZ_E_CANCELLED";
    case RZ_E_TIMEOUT:
      return "RZ_E_TIMEOUT";
    case RZ_E_INTERNAL:
      return "RZ_E_INTERNAL";
    default:
      return "unknown status";
  }
}

const char *rz_version(void) { return RZ_VERSION; }

uint32_t rz_abi_version(void) { return RZ_ABI_VERSION; }
