// How librz uses a device that lives in a shared library of its own. Such a plugin exports one symbol, which
// gives a table of C functions; librz opens the library and wraps the table in a Device again (plugin.cc),
// and a plugin fills it from any Device (plugin_export.h).
//
// The two have a C++ runtime and a heap each. So what one side allocates it also frees, exceptions cross as a
// code and a message, and structs and containers cross as const references, which the other side only reads.
// That needs the same declarations on both sides: the table begins with what its library was built from, and
// librz takes none that differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "backend/backend.h"

namespace rz {

// Raised when a function of the table, or a class that crosses, changes its meaning but not its size.
constexpr uint32_t kPluginInterface = 2;
constexpr char kPluginSymbol[] = "rz_device_plugin";

// What a library was built from. First in every table, of every version, so that it can always be read.
struct PluginBuild {
  const char *version;  // RZ_VERSION
  uint32_t interface;   // kPluginInterface
  uint32_t layout;      // a hash of the sizes of all that crosses
};

struct PluginError {
  int32_t status = 0;  // of rz::Status; 0: nothing was thrown, and message is not written
  char message[504];   // ends with a NUL
};

// A method of Device or Executor as a function of the table, its type made from the method's own: the object
// comes first, the error last, and what is returned by reference is a pointer.
template <class T>
constexpr bool kCrosses = std::is_void_v<T> || std::is_trivially_copyable_v<T> ||
                          (std::is_lvalue_reference_v<T> && std::is_const_v<std::remove_reference_t<T>>);
template <class R>
using Crossed = std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<std::remove_reference_t<R>>, R>;

template <class Method>
struct CrossingOf;
template <class Class, class R, class... Args>
struct CrossingOf<R (Class::*)(Args...)> {
  static_assert(kCrosses<R> && (kCrosses<Args> && ...), "only plain values and const references cross");
  using Function = Crossed<R> (*)(Class *, Args..., PluginError *);
};
template <class Class, class R, class... Args>
struct CrossingOf<R (Class::*)(Args...) const> {
  static_assert(kCrosses<R> && (kCrosses<Args> && ...), "only plain values and const references cross");
  using Function = Crossed<R> (*)(const Class *, Args..., PluginError *);
};
template <auto method>
using Crossing = typename CrossingOf<decltype(method)>::Function;

// Device and Executor here are objects of the plugin's; librz never calls them but through these. A new
// method is a row here, one in plugin_export.h and one in plugin.cc.
struct DevicePlugin {
  PluginBuild build;

  Device *(*open)(const char *what, PluginError *);  // "0", "1": the number of the device
  void (*close)(Device *);
  Crossing<&Device::name> name;
  Crossing<&Device::footprint> footprint;
  Crossing<&Device::ceilings> ceilings;
  Crossing<&Device::free_bytes> free_bytes;
  Executor *(*compile)(Device *, const Plan &, const ExecutorOptions &, PluginError *);

  void (*destroy)(Executor *);
  Crossing<&Executor::run> run;
  Crossing<&Executor::runs_ahead> runs_ahead;
  Crossing<&Executor::begin> begin;
  Crossing<&Executor::finish> finish;
  Crossing<&Executor::kv_layout> kv_layout;
  Crossing<&Executor::copy_page> copy_page;
  Crossing<&Executor::read_page> read_page;
  Crossing<&Executor::write_page> write_page;
  Crossing<&Executor::take_seat> take_seat;
  Crossing<&Executor::give_up_seat> give_up_seat;
  Crossing<&Executor::read_buffer> read_buffer;
  Crossing<&Executor::write_buffer> write_buffer;
  // Fills entries[0, capacity) as far as they go; returns how many there are.
  size_t (*profile)(const Executor *, ProfileEntry *entries, size_t capacity, PluginError *);
  Crossing<&Executor::compute_bytes> compute_bytes;
};

// FNV-1a over the sizes of what one side makes and the other reads.
template <class... Ops>
constexpr uint32_t plugin_layout(const std::variant<Ops...> *) {
  const size_t sizes[] = {
      sizeof(DevicePlugin),
      sizeof(PluginError),
      sizeof(std::string),
      sizeof(Plan),
      sizeof(Op),
      sizeof(Ops)...,
      sizeof(BufferInfo),
      sizeof(LayerKv),
      sizeof(Rope),
      sizeof(Batch),
      sizeof(SamplerSeat),
      sizeof(SamplingOptions),
      sizeof(SampledToken),
      sizeof(RunControl),
      sizeof(KvLayout),
      sizeof(ProfileEntry),
      sizeof(ExecutorOptions),
      sizeof(KvLayout::Layer),
      sizeof(Ceilings),
      sizeof(Footprint),
      static_cast<size_t>(Type::Count),
  };
  uint32_t hash = 2166136261u;
  for (const size_t size : sizes) hash = (hash ^ static_cast<uint32_t>(size)) * 16777619u;
  return hash;
}

constexpr PluginBuild kPluginBuild{RZ_VERSION, kPluginInterface, plugin_layout(static_cast<Op *>(nullptr))};

// Opens device `what` of the plugin in the file `path`, which stays loaded to the end of the process: GPU
// runtimes do not take leave well. Throws Device where there is no such file, or it is no plugin of this
// build; and whatever the plugin says.
std::unique_ptr<Device> open_plugin_device(const std::string &path, const std::string &what);

}  // namespace rz
