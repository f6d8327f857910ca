// A plugin of this version, built where a struct that crosses had another size.
#include "backend/plugin.h"

extern "C" __attribute__((visibility("default"))) const rz::PluginBuild *rz_device_plugin() {
  static constexpr rz::PluginBuild build{RZ_VERSION, rz::kPluginInterface, rz::kPluginBuild.layout ^ 1};
  return &build;
}
