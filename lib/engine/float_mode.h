// The floating-point mode that the library computes in: rounding to nearest, no flushing of small numbers. A
// host may have set another one on its thread; it gets that back, also while its own callbacks run.
#pragma once

#include <cfenv>

namespace rz {

// The default mode until the end of the scope.
class FloatMode {
 public:
  FloatMode() {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&host_); }
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

  // The host's own mode until the end of an inner scope.
  class Host {
   public:
    explicit Host(const FloatMode &outer) { std::fesetenv(&outer.host_); }
    ~Host() { std::fesetenv(FE_DFL_ENV); }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;
  };

 private:
  std::fenv_t host_;
};

}  // namespace rz
