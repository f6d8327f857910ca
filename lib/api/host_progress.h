// The host's progress callback, called in the host's own floating-point mode.
#pragma once

#include <algorithm>

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

// The part of a longer work from `first` to `last`, and never less than was reported before, whatever a
// device reports.
class ProgressPart {
 public:
  ProgressPart(const Progress &whole, float first, float last)
      : whole_(whole), first_(first), last_(last), reached_(first) {}
  Progress progress() { return {whole_.report ? call : nullptr, this}; }

 private:
  static int32_t call(void *self, float fraction) {
    auto *part = static_cast<ProgressPart *>(self);
    const float at = part->first_ + fraction * (part->last_ - part->first_);
    part->reached_ = std::min(part->last_, std::max(part->reached_, at));
    return part->whole_.report(part->whole_.user, part->reached_);
  }

  Progress whole_;
  float first_, last_, reached_;
};

}  // namespace rz::api
