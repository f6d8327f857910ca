// A plugin on a machine without its device.
#include "backend/plugin_export.h"

namespace rz::test {

namespace {

std::unique_ptr<Device> open_nothing(const std::string &) { fail(Status::Device, "fake: no driver"); }

}  // namespace

}  // namespace rz::test

RZ_DEVICE_PLUGIN(rz::test::open_nothing)
