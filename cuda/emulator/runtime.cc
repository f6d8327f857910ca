// runtime.h without a GPU: memory is the host's, and work that was given is done as late as it may be, when
// somebody waits for it: a host that changes what is still to be copied from, or reads what is still to be
// copied to, gets wrong numbers. As on a device, a kernel may begin before the one ahead has ended: a block
// of it runs up to pdl_wait() first.
#include "cuda/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "cuda/emulator/faults.h"
#include "cuda/launch.h"
#include "cuda/overlap.h"

namespace rz::cuda {

using emulator::Block;
using emulator::faults;

int device_count() {
  if (faults().no_device) fail(Status::Device, "cuda: no device (emulated)");
  return 1;
}

DeviceFacts device_facts(int) { return {"emulator", 9, 0, 4, faults().memory_bytes, uint64_t{1} << 20}; }

uint64_t free_bytes(int) { return faults().memory_bytes - faults().used_bytes; }

// ---- memory -----------------------------------------------------------------------------------------------------------
DeviceMemory::DeviceMemory(int device, uint64_t size_bytes) : device_(device), size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  if (faults().used_bytes + size_bytes > faults().memory_bytes) {
    fail(Status::NoMemory, "cuda: %llu bytes asked for, %llu free (emulated)",
         static_cast<unsigned long long>(size_bytes),
         static_cast<unsigned long long>(faults().memory_bytes - faults().used_bytes));
  }
  // Aligned as cudaMalloc does, and filled with NaN: nobody may read what nobody wrote.
  data_ = static_cast<std::byte *>(std::aligned_alloc(256, (size_bytes + 255) / 256 * 256));
  if (!data_) fail(Status::NoMemory, "cuda: %llu bytes", static_cast<unsigned long long>(size_bytes));
  std::memset(data_, 0xff, size_bytes);
  faults().used_bytes += size_bytes;
}

DeviceMemory::~DeviceMemory() {
  if (data_) faults().used_bytes -= size_bytes_;
  std::free(data_);
}

HostMemory::HostMemory(uint64_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  data_ = static_cast<std::byte *>(std::aligned_alloc(256, (size_bytes + 255) / 256 * 256));
  if (!data_) fail(Status::NoMemory, "host memory: %llu bytes", static_cast<unsigned long long>(size_bytes));
}

HostMemory::~HostMemory() { std::free(data_); }

// ---- the queue ----------------------------------------------------------------------------------------------------------
namespace {

using Work = std::function<void()>;
using Step = std::variant<emulator::Job, Work>;

struct RecordedWork final : Queue::Recording {
  std::vector<Step> steps;
};

struct EmulatedMark final : Queue::Mark {
  bool reached = false;
  std::chrono::steady_clock::time_point at;
};

}  // namespace

struct Queue::State {
  int device = 0;
  std::unique_ptr<const emulator::Job> pending;   // launched, not ended
  std::list<Block> blocks = std::list<Block>(3);  // two that began early, and one that runs from end to end
  Block *early = nullptr;                         // of the pending job, up to pdl_wait()
  Grid early_index;
  RecordedWork *recording = nullptr;
  std::deque<Step> given;  // and not begun
  uint64_t seed = 0;
  bool overlap = true;

  void give(Step step);
  void do_next();
  void launch(emulator::Job job);
  Block &unused(const Block *besides);
  void end_pending(const Block *next_early = nullptr);
};

Queue::Queue(int device) : state_(std::make_unique<State>()) { state_->device = device; }

Queue::~Queue() = default;

int Queue::device() const { return state_->device; }

void let_overlap(Queue &queue, bool allowed) { queue.state().overlap = allowed; }

Block &Queue::State::unused(const Block *besides) {
  return *std::ranges::find_if(blocks,
                               [&](const Block &block) { return &block != early && &block != besides; });
}

void Queue::State::launch(emulator::Job job) {
  faults().count_launch();
  if (!overlap) end_pending();
  if (pending) {
    Block &spare = unused(nullptr);
    const Grid first{job.grid.x - 1, job.grid.y - 1, job.grid.z - 1};
    auto next = std::make_unique<const emulator::Job>(std::move(job));
    spare.begin(*next, first, seed);
    spare.run(Block::Until::PdlWait);
    end_pending(&spare);
    pending = std::move(next);
    early = &spare;
    early_index = first;
  } else {
    pending = std::make_unique<const emulator::Job>(std::move(job));
  }
}

void Queue::State::end_pending(const Block *next_early) {
  if (!pending) return;
  const emulator::Job &job = *pending;
  seed += faults().seed;
  Block &free = unused(next_early);
  // The block that began early ends at a random turn among the others.
  const uint64_t total = uint64_t{job.grid.x} * job.grid.y * job.grid.z;
  for (uint64_t i = 0; i < total; ++i) {
    const uint64_t at = seed % 2 == 0 ? i : total - 1 - i;
    const Grid index{static_cast<uint32_t>(at % job.grid.x),
                     static_cast<uint32_t>(at / job.grid.x % job.grid.y),
                     static_cast<uint32_t>(at / job.grid.x / job.grid.y)};
    if (early && index.x == early_index.x && index.y == early_index.y && index.z == early_index.z) {
      early->run(Block::Until::End);
      continue;
    }
    free.begin(job, index, seed + at);
    free.run(Block::Until::End);
  }
  early = nullptr;
  pending.reset();
}

void Queue::State::give(Step step) {
  if (recording) {
    recording->steps.push_back(std::move(step));
  } else {
    given.push_back(std::move(step));
  }
}

void Queue::State::do_next() {
  Step step = std::move(given.front());
  given.pop_front();
  if (auto *job = std::get_if<emulator::Job>(&step)) {
    launch(std::move(*job));
  } else {
    end_pending();
    std::get<Work>(step)();
  }
}

void launch_job(Queue &queue, emulator::Job job) { queue.state().give(std::move(job)); }

void Queue::copy_in(void *device, const void *host, uint64_t size_bytes) {
  state_->give([=] { std::memcpy(device, host, size_bytes); });
}

void Queue::copy_out(void *host, const void *device, uint64_t size_bytes) {
  state_->give([=] { std::memcpy(host, device, size_bytes); });
}

void Queue::copy(void *to, const void *from, uint64_t size_bytes) {
  state_->give([=] { std::memcpy(to, from, size_bytes); });
}

void Queue::fill(void *device, int byte, uint64_t size_bytes) {
  state_->give([=] { std::memset(device, byte, size_bytes); });
}

void Queue::wait() {
  while (!state_->given.empty()) state_->do_next();
  state_->end_pending();
  faults().check();
}

void Queue::begin_recording() { state_->recording = new RecordedWork; }

std::unique_ptr<Queue::Recording> Queue::end_recording() {
  return std::unique_ptr<Recording>(std::exchange(state_->recording, nullptr));
}

void Queue::replay(Recording &recording) {
  for (const Step &step : static_cast<RecordedWork &>(recording).steps) state_->give(step);
}

std::unique_ptr<Queue::Mark> Queue::make_mark() { return std::make_unique<EmulatedMark>(); }

void Queue::reach(Mark &mark) {
  auto &reached = static_cast<EmulatedMark &>(mark);
  reached.reached = false;
  state_->give([&reached] {
    reached.reached = true;
    reached.at = std::chrono::steady_clock::now();
  });
}

void Queue::wait_for(Mark &mark) {
  const bool hurries = faults().seed % 2 == 1;
  while (!state_->given.empty() && (hurries || !static_cast<EmulatedMark &>(mark).reached)) state_->do_next();
  faults().check();
}

double Queue::microseconds(Mark &from, Mark &to) {
  wait();
  using namespace std::chrono;
  return duration<double, std::micro>(static_cast<EmulatedMark &>(to).at -
                                      static_cast<EmulatedMark &>(from).at)
      .count();
}

}  // namespace rz::cuda
