// rz.h: where the time went.
#include <algorithm>
#include <limits>

#include "api/buffers.h"
#include "api/handles.h"
#include "api/versioned.h"

using namespace rz::api;

rz_status rz_model_profile(const rz_model *model, rz_profile_entry *entries, size_t capacity, size_t *count,
                           rz_error *err) {
  return guard(err, [&] {
    const std::vector<rz::ProfileEntry> profile = engine_of(model).profile();
    check_capacity(profile.size(), entries, capacity, count);
    if (profile.empty()) return;
    check_out(entries, "entries");
    check_stride(entries, profile.size(), "entries");
    const uint32_t size = entries->struct_size;
    for (size_t i = 0; i < profile.size(); ++i) {
      rz_profile_entry entry{};
      entry.calls =
          static_cast<uint32_t>(std::min<uint64_t>(profile[i].calls, std::numeric_limits<uint32_t>::max()));
      entry.op = profile[i].op;
      entry.total_us = profile[i].total_us;
      entry.bytes = profile[i].bytes;
      entry.flops = profile[i].flops;
      rz_profile_entry *out = element(entries, i);
      out->struct_size = size;
      give(entry, out);
    }
  });
}
