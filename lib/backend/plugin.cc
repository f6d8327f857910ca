// librz's side of plugin.h: opens the library, refuses what was built from other sources, and forwards.
#include "backend/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace rz {

namespace {

// Calls a function of the table; what was thrown there is thrown again here.
template <class Function, class... Args>
auto call(Function function, const Args &...args) {
  PluginError error;
  const auto check = [&] {
    if (error.status == 0) return;
    const bool known = error.status < 0 && error.status >= static_cast<int32_t>(Status::Internal);
    throw Error(known ? static_cast<Status>(error.status) : Status::Internal, error.message);
  };
  if constexpr (std::is_void_v<decltype(function(args..., &error))>) {
    function(args..., &error);
    check();
  } else {
    const auto result = function(args..., &error);
    check();
    return result;
  }
}

// An object of the plugin's, given back to it.
template <class T>
using Theirs = std::unique_ptr<T, void (*)(T *)>;

class PluginExecutor final : public Executor {
 public:
  PluginExecutor(const DevicePlugin &plugin, Theirs<Executor> executor)
      : plugin_(plugin), theirs_(std::move(executor)), kv_layout_(call(plugin.kv_layout, theirs())) {}

  int32_t run(const Batch &batch, const RunControl &control) override {
    return call(plugin_.run, theirs(), batch, control);
  }
  bool runs_ahead() const override { return call(plugin_.runs_ahead, theirs()); }
  void begin(const Batch &batch) override { call(plugin_.begin, theirs(), batch); }
  void finish(const Batch &batch) override { call(plugin_.finish, theirs(), batch); }
  const KvLayout &kv_layout() const override { return *kv_layout_; }
  void copy_page(int32_t from, int32_t to) override { call(plugin_.copy_page, theirs(), from, to); }
  void read_page(int32_t page, std::byte *out) const override {
    call(plugin_.read_page, theirs(), page, out);
  }
  void write_page(int32_t page, const std::byte *in) override {
    call(plugin_.write_page, theirs(), page, in);
  }
  int32_t take_seat(const SamplerSeat &seat) override { return call(plugin_.take_seat, theirs(), seat); }
  void give_up_seat(int32_t seat) override { call(plugin_.give_up_seat, theirs(), seat); }
  void read_buffer(BufferId buffer, int32_t rows, float *out) const override {
    call(plugin_.read_buffer, theirs(), buffer, rows, out);
  }
  void write_buffer(BufferId buffer, int32_t rows, const float *in) override {
    call(plugin_.write_buffer, theirs(), buffer, rows, in);
  }
  std::vector<ProfileEntry> profile() const override {
    std::vector<ProfileEntry> entries;
    for (size_t n = 0;; entries.resize(n)) {
      n = call(plugin_.profile, theirs(), entries.data(), entries.size());
      if (n == entries.size()) return entries;
    }
  }
  uint64_t compute_bytes() const override { return call(plugin_.compute_bytes, theirs()); }

 private:
  Executor *theirs() const { return theirs_.get(); }

  const DevicePlugin &plugin_;
  Theirs<Executor> theirs_;
  const KvLayout *kv_layout_;
};

class PluginDevice final : public Device {
 public:
  PluginDevice(const DevicePlugin &plugin, const std::string &what)
      : plugin_(plugin), theirs_(call(plugin.open, what.c_str()), plugin.close) {
    name_ = *call(plugin.name, theirs());
  }

  const std::string &name() const override { return name_; }
  std::unique_ptr<Executor> compile(const Plan &plan, const ExecutorOptions &options) override {
    Theirs<Executor> executor(call(plugin_.compile, theirs(), plan, options), plugin_.destroy);
    return std::make_unique<PluginExecutor>(plugin_, std::move(executor));
  }
  Footprint footprint(const Plan &plan, const ExecutorOptions &options) const override {
    return call(plugin_.footprint, theirs(), plan, options);
  }
  Ceilings ceilings() const override { return call(plugin_.ceilings, theirs()); }
  uint64_t free_bytes() const override { return call(plugin_.free_bytes, theirs()); }

 private:
  Device *theirs() const { return theirs_.get(); }

  const DevicePlugin &plugin_;
  Theirs<Device> theirs_;
  std::string name_;
};

void check_build(const std::string &path, const PluginBuild &found) {
  const PluginBuild &expected = kPluginBuild;
  if (std::strcmp(found.version, expected.version) == 0 && found.interface == expected.interface &&
      found.layout == expected.layout) {
    return;
  }
  fail(Status::Device,
       "%s: expected a plugin of librz %s (interface %u, layout %08x), found one of %s (interface %u, layout "
       "%08x)",
       path.c_str(), expected.version, expected.interface, expected.layout, found.version, found.interface,
       found.layout);
}

const DevicePlugin &load_plugin(const std::string &path) {
  if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    fail(Status::Device, "%s: expected a device plugin, found no such file", path.c_str());
  }
  // A name without a folder would send the loader to its own search path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    fail(Status::Device, "%s: expected a device plugin, found a file that does not load: %s", path.c_str(),
         why ? why : "no reason given");
  }
  const auto plugin = reinterpret_cast<const DevicePlugin *(*)()>(dlsym(library, kPluginSymbol));
  if (!plugin) {
    fail(Status::Device, "%s: expected a device plugin, found a library without %s", path.c_str(),
         kPluginSymbol);
  }
  const DevicePlugin *table = plugin();
  check_build(path, table->build);
  return *table;
}

}  // namespace

std::unique_ptr<Device> open_plugin_device(const std::string &path, const std::string &what) {
  return std::make_unique<PluginDevice>(load_plugin(path), what);
}

}  // namespace rz
