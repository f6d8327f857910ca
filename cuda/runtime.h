// What the executor asks of CUDA: memory, a queue of work, work recorded to be replayed, and time. runtime.cu
// answers with the CUDA runtime, emulator/runtime.cc without a GPU. Whatever fails throws Error: NoMemory
// where memory is not to be had, Device for everything else, with the call and CUDA's own words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cuda/types.h"

namespace rz::cuda {

struct DeviceFacts {
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int multiprocessors = 0;
  uint64_t memory_bytes = 0, l2_bytes = 0;
};

// How many devices there are. Throws Device with the reason where there is none: no driver, one too old, no
// GPU.
int device_count();
DeviceFacts device_facts(int device);
uint64_t free_bytes(int device);  // of its memory

// Memory of a device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(int device, uint64_t size_bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }

  std::byte *data() const { return data_; }
  template <class T>
  T *as(uint64_t offset_bytes = 0) const {
    return reinterpret_cast<T *>(data_ + offset_bytes);
  }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  int device_ = 0;
  std::byte *data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// Memory of the host that the device copies from and to by itself.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(uint64_t size_bytes);
  ~HostMemory();
  HostMemory(HostMemory &&other) noexcept { *this = std::move(other); }
  HostMemory &operator=(HostMemory &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }

  template <class T>
  T *as(uint64_t offset_bytes = 0) const {
    return reinterpret_cast<T *>(data_ + offset_bytes);
  }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  std::byte *data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// Work of one device, done in the order in which it was given. One thread at a time.
class Queue {
 public:
  explicit Queue(int device);
  ~Queue();  // what was given is done before
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  int device() const;
  // `host` stays as it is until the copy is done; copies from and to other memory than HostMemory may wait
  // for that.
  void copy_in(void *device, const void *host, uint64_t size_bytes);
  void copy_out(void *host, const void *device, uint64_t size_bytes);
  void copy(void *to, const void *from, uint64_t size_bytes);
  void fill(void *device, int byte, uint64_t size_bytes);
  void wait();  // until everything given is done; throws what went wrong in it

  // Between the two, work is recorded rather than done. A recording may be replayed until the memory it uses
  // goes.
  class Recording {
   public:
    virtual ~Recording() = default;
  };
  void begin_recording();
  std::unique_ptr<Recording> end_recording();
  void replay(Recording &recording);

  // Microseconds between two marks, once both are reached.
  class Mark {
   public:
    virtual ~Mark() = default;
  };
  std::unique_ptr<Mark> make_mark();
  void reach(Mark &mark);
  void wait_for(Mark &mark);
  double microseconds(Mark &from, Mark &to);

  struct State;
  State &state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace rz::cuda
