// A plugin of another librz. Nothing of its table but the beginning may be used: the rest is null.
#include "backend/plugin.h"

extern "C" __attribute__((visibility("default"))) const rz::PluginBuild *rz_device_plugin() {
  static constexpr rz::PluginBuild build{"0.9.0", rz::kPluginInterface, rz::kPluginBuild.layout};
  return &build;
}
