// The host's progress callback, called in the host's own floating-point mode.
#pragma once

#include "base/log.h"
#include "engine/float_mode.h"
#include "rz.h"

namespace rz::api {

class HostProgress {
 public:
  HostProgress(rz_progress_fn report, void *user, const FloatMode &mode)
      : report_(report), user_(user), mode_(mode) {}
  Progress progress() { return {report_ ? call : nullptr, this}; }

 private:
  static int32_t call(void *self, float fraction) {
    const auto *progress = static_cast<const HostProgress *>(self);
    const FloatMode::Host host(progress->mode_);
    return progress->report_(progress->user_, fraction);
  }

  rz_progress_fn report_;
  void *user_;
  const FloatMode &mode_;
};

}  // namespace rz::api
