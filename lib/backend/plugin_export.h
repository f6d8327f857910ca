// The plugin's side of plugin.h: turns a Device into the table that a plugin gives. A plugin is its own
// Device class, a function that opens one, and a line:
//
//     std::unique_ptr<rz::Device> open_my_device(const std::string &what);
//     RZ_DEVICE_PLUGIN(open_my_device)
//
// linked by the Makefile's link_plugin, which lets nothing else out.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "backend/plugin.h"
#include "base/error.h"

namespace rz {

inline void write_plugin_error(PluginError *error, Status status, const char *message) noexcept {
  error->status = static_cast<int32_t>(status);
  const size_t length = std::min(std::strlen(message), sizeof error->message - 1);
  std::memcpy(error->message, message, length);
  error->message[length] = 0;
}

// Does `body`; what it throws ends here and is written to *error.
template <class Body>
auto plugin_guard(PluginError *error, const Body &body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const Error &thrown) {
    write_plugin_error(error, thrown.status(), thrown.what());
  } catch (const std::bad_alloc &) {
    write_plugin_error(error, Status::NoMemory, "out of memory");
  } catch (const std::exception &thrown) {
    write_plugin_error(error, Status::Internal, thrown.what());
  } catch (...) {
    write_plugin_error(error, Status::Internal, "unknown exception");
  }
  return decltype(body())();
}

// cross<&Executor::run>: the function of the table that calls the method.
template <class Result, class Call>
Crossed<Result> guarded_call(PluginError *error, const Call &call) noexcept {
  return plugin_guard(error, [&]() -> Crossed<Result> {
    if constexpr (std::is_reference_v<Result>) {
      return &call();
    } else {
      return call();
    }
  });
}
template <auto method>
struct Cross;
template <class Class, class R, class... Args, R (Class::*method)(Args...)>
struct Cross<method> {
  static Crossed<R> call(Class *self, Args... args, PluginError *error) noexcept {
    return guarded_call<R>(error, [&]() -> R { return (self->*method)(args...); });
  }
};
template <class Class, class R, class... Args, R (Class::*method)(Args...) const>
struct Cross<method> {
  static Crossed<R> call(const Class *self, Args... args, PluginError *error) noexcept {
    return guarded_call<R>(error, [&]() -> R { return (self->*method)(args...); });
  }
};
template <auto method>
constexpr Crossing<method> cross = Cross<method>::call;

inline Executor *cross_compile(Device *device, const Plan &plan, const ExecutorOptions &options,
                               PluginError *error) noexcept {
  return plugin_guard(error, [&] { return device->compile(plan, options).release(); });
}

inline size_t cross_profile(const Executor *executor, ProfileEntry *entries, size_t capacity,
                            PluginError *error) noexcept {
  return plugin_guard(error, [&] {
    const std::vector<ProfileEntry> profile = executor->profile();
    std::copy_n(profile.begin(), std::min(profile.size(), capacity), entries);
    return profile.size();
  });
}

template <std::unique_ptr<Device> (*open_device)(const std::string &what)>
constexpr DevicePlugin device_plugin() {
  return {
      .build = kPluginBuild,
      .open = [](const char *what, PluginError *error) noexcept -> Device * {
        return plugin_guard(error, [&] { return open_device(what).release(); });
      },
      .close = [](Device *device) noexcept { delete device; },
      .name = cross<&Device::name>,
      .footprint = cross<&Device::footprint>,
      .ceilings = cross<&Device::ceilings>,
      .free_bytes = cross<&Device::free_bytes>,
      .compile = cross_compile,
      .destroy = [](Executor *executor) noexcept { delete executor; },
      .run = cross<&Executor::run>,
      .runs_ahead = cross<&Executor::runs_ahead>,
      .begin = cross<&Executor::begin>,
      .finish = cross<&Executor::finish>,
      .kv_layout = cross<&Executor::kv_layout>,
      .copy_page = cross<&Executor::copy_page>,
      .read_page = cross<&Executor::read_page>,
      .write_page = cross<&Executor::write_page>,
      .take_seat = cross<&Executor::take_seat>,
      .give_up_seat = cross<&Executor::give_up_seat>,
      .read_buffer = cross<&Executor::read_buffer>,
      .write_buffer = cross<&Executor::write_buffer>,
      .profile = cross_profile,
      .compute_bytes = cross<&Executor::compute_bytes>,
  };
}

}  // namespace rz

// At namespace scope, in one file of the plugin.
#define RZ_DEVICE_PLUGIN(open_device)                                                            \
  extern "C" __attribute__((visibility("default"))) const rz::DevicePlugin *rz_device_plugin() { \
    static constexpr rz::DevicePlugin table = rz::device_plugin<open_device>();                  \
    return &table;                                                                               \
  }
