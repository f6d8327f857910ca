// rz.h: writing a model in another block format.
#include "model/quantize.h"

#include "api/host_progress.h"
#include "api/source.h"
#include "api/versioned.h"
#include "base/cores.h"

using namespace rz::api;

rz_status rz_quantize(const rz_source *source, const char *out_path, const char *scheme, int32_t threads,
                      rz_progress_fn on_progress, void *progress_user, rz_error *err) {
  return guard(err, [&] {
    need(out_path, "out_path");
    need(scheme, "scheme");
    if (threads < 0) rz::fail(rz::Status::Argument, "threads: expected 0 or more, found %d", threads);
    const rz::FloatMode mode;
    HostProgress progress(on_progress, progress_user, mode);
    rz::quantize_file(open_source(source, true), out_path, scheme, rz::worthwhile_threads(threads),
                      progress.progress());
  });
}
