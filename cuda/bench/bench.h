// cuda-bench: each kernel alone on the device, started by the same functions as by the executor and replayed
// from a recording as there. What a kernel reads of the model rotates through more memory than the
// second-level cache holds, as a model's layers do; activations stay where the kernel before would have left
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cuda/runtime.h"

namespace rz::cuda {

struct BenchOptions {
  int device = 0;
  std::string filter;  // a part of the names of what is measured; empty = everything
  int rounds = 9;      // whose median is told; 1 to 1000
  bool csv = false;
  bool tiny = false;  // small shapes, each once: to see that everything runs, in the emulator too
};

// What a launch has to read and write in memory at least, and to compute: 2 for a product and its sum.
struct Cost {
  double bytes = 0, operations = 0;
};

class Bench {
 public:
  explicit Bench(const BenchOptions &options);

  Queue &queue() { return queue_; }
  int device() const { return options_.device; }
  int multiprocessors() const { return facts_.multiprocessors; }
  bool tiny() const { return options_.tiny; }
  bool wants(const std::string &name) const { return name.find(options_.filter) != name.npos; }
  // How many copies of so many bytes to take in turn, so that none is cached when its turn comes again.
  int copies_of(uint64_t size_bytes) const;
  bool has_room(const std::string &name, uint64_t size_bytes) const;  // false: after a line that says so

  using Give = std::function<void(int copy)>;
  // Times what give(copy) starts, and prints a row. Recorded: in one recording, as the executor's steps are.
  enum class Way : uint8_t { Recorded, OneByOne };
  void time(const std::string &name, const Cost &cost, int copies, const Give &give, Way way = Way::Recorded);

  void print_head() const;
  int rows_printed() const { return rows_printed_; }

 private:
  double give_all(int launches, int copies, const Give &give, Way way, std::vector<double> *samples);
  void print_row(const std::string &name, const Cost &cost, double us, double spread, int launches) const;

  BenchOptions options_;
  DeviceFacts facts_;
  Queue queue_;
  std::unique_ptr<Queue::Mark> before_, after_;
  Ceilings ceilings_;
  int rows_printed_ = 0;
};

// The kernels, a file each.
void bench_launches(Bench &bench);
void bench_matmuls(Bench &bench);
void bench_attention(Bench &bench);
void bench_rows(Bench &bench);
void bench_sampling(Bench &bench);

}  // namespace rz::cuda
