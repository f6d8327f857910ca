// rz.h: what a device can do at most.
#include "api/model_options.h"
#include "api/versioned.h"
#include "engine/float_mode.h"

using namespace rz::api;

rz_status rz_device_ceilings(const char *device, int32_t threads, rz_ceilings *out, rz_error *err) {
  return guard(err, [&] {
    check_out(out, "out");
    const DeviceChoice choice = read_device(device, nullptr);
    const int32_t count = thread_count(threads);
    const rz::FloatMode mode;
    rz::Ceilings measured;
    ChosenDevice chosen(choice, count, rz::Logger{});
    chosen.use([&](rz::Device &d) { measured = d.ceilings(); });
    rz_ceilings ceilings{};
    ceilings.threads = measured.threads;
    ceilings.read_bytes_per_s = measured.read_bytes_per_s;
    ceilings.int8_ops_per_s = measured.int8_ops_per_s;
    ceilings.float_ops_per_s = measured.float_ops_per_s;
    give(ceilings, out);
  });
}
