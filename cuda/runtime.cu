// runtime.h over the CUDA runtime, which ends inside the plugin: it loads on machines without a driver, and
// the first call then says so.
#include "cuda/runtime.h"

#include <cuda_runtime.h>

#include <utility>

#include "base/error.h"
#include "cuda/launch.h"
#include "cuda/overlap.h"

namespace rz::cuda {

namespace {

[[noreturn]] void refuse(cudaError_t error, const char *call) {
  cudaGetLastError();  // an error that is not sticky is reported once
  fail(error == cudaErrorMemoryAllocation ? Status::NoMemory : Status::Device, "cuda: %s: %s", call,
       cudaGetErrorString(error));
}

void check(cudaError_t error, const char *call) {
  if (error != cudaSuccess) refuse(error, call);
}

}  // namespace

int device_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for devices");
  return count;
}

DeviceFacts device_facts(int device) {
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, device), "asking for properties");
  DeviceFacts facts;
  facts.name = p.name;
  facts.major = p.major;
  facts.minor = p.minor;
  facts.multiprocessors = p.multiProcessorCount;
  facts.memory_bytes = p.totalGlobalMem;
  facts.l2_bytes = static_cast<uint64_t>(p.l2CacheSize);
  return facts;
}

uint64_t free_bytes(int device) {
  check(cudaSetDevice(device), "choosing the device");
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

// ---- memory -----------------------------------------------------------------------------------------------------------
DeviceMemory::DeviceMemory(int device, uint64_t size_bytes) : device_(device), size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  check(cudaSetDevice(device), "choosing the device");
  void *data = nullptr;
  const cudaError_t error = cudaMalloc(&data, size_bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(Status::NoMemory, "cuda: %llu bytes asked for, %llu free",
         static_cast<unsigned long long>(size_bytes), static_cast<unsigned long long>(free_bytes(device)));
  }
  check(error, "taking memory");
  data_ = static_cast<std::byte *>(data);
}

DeviceMemory::~DeviceMemory() {
  if (data_ && cudaSetDevice(device_) == cudaSuccess) cudaFree(data_);
}

HostMemory::HostMemory(uint64_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  void *data = nullptr;
  check(cudaHostAlloc(&data, size_bytes, cudaHostAllocPortable | cudaHostAllocMapped), "taking host memory");
  data_ = static_cast<std::byte *>(data);
}

HostMemory::~HostMemory() {
  if (data_) cudaFreeHost(data_);
}

// ---- the queue ----------------------------------------------------------------------------------------------------------
struct Queue::State {
  int device = 0;
  cudaStream_t stream = nullptr;
  bool overlap = true;
};

namespace {

struct Graph final : Queue::Recording {
  cudaGraphExec_t executable = nullptr;
  ~Graph() override {
    if (executable) cudaGraphExecDestroy(executable);
  }
};

struct Event final : Queue::Mark {
  cudaEvent_t event = nullptr;
  ~Event() override {
    if (event) cudaEventDestroy(event);
  }
};

}  // namespace

Queue::Queue(int device) : state_(std::make_unique<State>()) {
  state_->device = device;
  check(cudaSetDevice(device), "choosing the device");
  check(cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking), "making a stream");
}

Queue::~Queue() {
  if (cudaSetDevice(state_->device) != cudaSuccess) return;
  cudaStreamSynchronize(state_->stream);
  cudaStreamDestroy(state_->stream);
}

int Queue::device() const { return state_->device; }

void let_overlap(Queue &queue, bool allowed) { queue.state().overlap = allowed; }

void launch_kernel(Queue &queue, const void *kernel, const char *name, Grid grid, int threads,
                   size_t shared_bytes, void *args) {
  const Queue::State &state = queue.state();
  check(cudaSetDevice(state.device), "choosing the device");
  constexpr size_t kSharedWithoutAsking = 48 * 1024;
  if (shared_bytes > kSharedWithoutAsking) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          name);
  }
  cudaLaunchAttribute dependent{};
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.x, grid.y, grid.z);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = state.stream;
  config.attrs = &dependent;
  config.numAttrs = state.overlap ? 1 : 0;
  check(cudaLaunchKernelExC(&config, kernel, &args), name);
}

void Queue::copy_in(void *device, const void *host, uint64_t size_bytes) {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaMemcpyAsync(device, host, size_bytes, cudaMemcpyHostToDevice, state_->stream), "copying in");
}

void Queue::copy_out(void *host, const void *device, uint64_t size_bytes) {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaMemcpyAsync(host, device, size_bytes, cudaMemcpyDeviceToHost, state_->stream), "copying out");
}

void Queue::copy(void *to, const void *from, uint64_t size_bytes) {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, state_->stream), "copying");
}

void Queue::fill(void *device, int byte, uint64_t size_bytes) {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaMemsetAsync(device, byte, size_bytes, state_->stream), "filling");
}

void Queue::wait() {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaStreamSynchronize(state_->stream), "computing");
}

void Queue::begin_recording() {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaStreamBeginCapture(state_->stream, cudaStreamCaptureModeThreadLocal), "beginning to record");
}

std::unique_ptr<Queue::Recording> Queue::end_recording() {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(state_->stream, &graph), "recording");
  auto recording = std::make_unique<Graph>();
  const cudaError_t error = cudaGraphInstantiate(&recording->executable, graph, 0);
  cudaGraphDestroy(graph);
  check(error, "preparing what was recorded");
  return recording;
}

void Queue::replay(Recording &recording) {
  check(cudaSetDevice(state_->device), "choosing the device");
  check(cudaGraphLaunch(static_cast<Graph &>(recording).executable, state_->stream), "replaying");
}

std::unique_ptr<Queue::Mark> Queue::make_mark() {
  check(cudaSetDevice(state_->device), "choosing the device");
  auto mark = std::make_unique<Event>();
  check(cudaEventCreate(&mark->event), "making an event");
  return mark;
}

void Queue::reach(Mark &mark) {
  check(cudaEventRecord(static_cast<Event &>(mark).event, state_->stream), "marking");
}

void Queue::wait_for(Mark &mark) {
  check(cudaEventSynchronize(static_cast<Event &>(mark).event), "computing");
}

double Queue::microseconds(Mark &from, Mark &to) {
  float milliseconds = 0;
  check(cudaEventSynchronize(static_cast<Event &>(to).event), "computing");
  check(cudaEventElapsedTime(&milliseconds, static_cast<Event &>(from).event, static_cast<Event &>(to).event),
        "taking the time");
  return 1000.0 * static_cast<double>(milliseconds);
}

}  // namespace rz::cuda
