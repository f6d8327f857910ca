#include "cuda/executor.h"

#include <algorithm>
#include <cstring>

#include "backend/cost.h"
#include "base/clock.h"
#include "base/error.h"
#include "quant/half.h"

namespace rz::cuda {

namespace {

constexpr uint64_t kAlignment = 256;

// The largest sizes over a plan's ops.
struct Sizes {
  int64_t kv_width = 0, q_width = 0, heads = 0, experts = 0, slots = 0, pairs = 0, mixed_width = 0;

  explicit Sizes(const Plan &plan) {
    for (const LayerKv &kv : plan.kv)
      kv_width = std::max<int64_t>(kv_width, int64_t{kv.kv_heads} * std::max(kv.head_dim, kv.value_dim));
    for (const Rope &rope : plan.ropes) pairs += static_cast<int64_t>(rope.frequencies.size());
    for (const Op &op : plan.ops) {
      if (const auto *o = std::get_if<QkvOp>(&op)) {
        q_width = std::max(q_width, o->wq.rows);
        heads = std::max<int64_t>(heads, o->heads);
      }
      if (const auto *o = std::get_if<RouteOp>(&op)) {
        experts = std::max(experts, o->w.rows);
        slots = std::max<int64_t>(slots, o->used);
      }
      if (const auto *o = std::get_if<GateUpOp>(&op)) mix(o->gate, o->up, 1);
      if (const auto *o = std::get_if<MoeGateUpOp>(&op)) mix(o->gate, o->up, o->used);
    }
  }
  void mix(const Matrix &gate, const Matrix &up, int64_t used) {
    if (gate && format_of(gate) != format_of(up)) mixed_width = std::max(mixed_width, up.rows * used);
  }
};

// Without a base only its bytes are of use.
Scratch carve(std::byte *base, const Plan &plan, const ExecutorOptions &options) {
  const Sizes sizes(plan);
  const int64_t rows = options.max_rows, logit_rows = options.max_logit_rows;
  const int64_t head_stride = steps_of(plan.hidden) * kStepCols;
  Scratch s;
  const auto take = [&]<class T>(T *&out, int64_t count) {
    out = reinterpret_cast<T *>(base + s.bytes);
    s.bytes += (static_cast<uint64_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  };
  take(s.keys, rows * sizes.kv_width);
  take(s.values, rows * sizes.kv_width);
  take(s.q, rows * sizes.q_width);
  take(s.angles, rows * 2 * sizes.pairs);
  take(s.frequencies, sizes.pairs);
  take(s.slots, rows * sizes.slots);
  take(s.expert_first, sizes.experts + 1);
  take(s.active, sizes.experts);
  take(s.gate, rows * sizes.mixed_width);
  take(s.up, rows * sizes.mixed_width);
  take(s.head_rows, logit_rows * head_stride);
  take(s.logits, logit_rows * plan.vocab);
  take(s.hidden, rows * plan.hidden);
  take(s.arrived, rows * sizes.heads);
  return s;
}

uint64_t result_bytes(const Plan &plan, const ExecutorOptions &options) {
  return (static_cast<uint64_t>(options.max_logit_rows) * static_cast<uint64_t>(plan.vocab) +
          static_cast<uint64_t>(options.max_rows) * static_cast<uint64_t>(plan.hidden)) *
         sizeof(float);
}

}  // namespace

Footprint CudaExecutor::footprint(const Plan &plan, const ExecutorOptions &options) {
  Footprint footprint;
  footprint.weights_bytes = DeviceWeights::bytes(plan);
  const uint64_t device = Activations::bytes(plan, options.max_rows) + carve(nullptr, plan, options).bytes +
                          StepState::bytes(options.max_rows, options.max_logit_rows);
  footprint.compute_bytes = device + result_bytes(plan, options);
  const KvLayout kv = KvLayout::make(plan, options.kv_type);
  footprint.device_bytes =
      footprint.weights_bytes + device + kv.page_bytes * static_cast<uint64_t>(options.pages);
  return footprint;
}

CudaExecutor::CudaExecutor(int device, const Plan &plan, const ExecutorOptions &options)
    : plan_(plan),
      options_(options),
      kv_(KvLayout::make(plan, options.kv_type)),
      facts_(device_facts(device)),
      queue_(device),
      weights_(queue_, plan, options.progress),
      activations_(queue_, plan, options.max_rows),
      state_(queue_, options.max_rows, options.max_logit_rows),
      seats_(queue_, options.max_logit_rows),
      pages_(device, kv_.page_bytes * static_cast<uint64_t>(options.pages)),
      scratch_memory_(device, carve(nullptr, plan, options).bytes),
      scratch_(carve(scratch_memory_.data(), plan, options)),
      results_(result_bytes(plan, options)),
      compute_bytes_(footprint(plan, options).compute_bytes),
      ends_{queue_.make_mark(), queue_.make_mark()},
      profile_(std::variant_size_v<Op>) {
  options_.progress = {};
  // What a kernel reads beside what was written must be numbers: masked tokens count 0 times their values.
  queue_.fill(pages_.data(), 0, pages_.size_bytes());
  queue_.fill(scratch_memory_.data(), 0, scratch_memory_.size_bytes());
  double *frequencies = scratch_.frequencies;
  for (const Rope &rope : plan.ropes) {
    queue_.copy_in(frequencies, rope.frequencies.data(), rope.frequencies.size() * sizeof(double));
    frequencies += rope.frequencies.size();
  }
  queue_.wait();
}

void CudaExecutor::load(const Batch &batch) {
  if (batch.rows() > options_.max_rows) {
    fail(Status::Internal, "batch: expected at most %d rows, found %d", options_.max_rows, batch.rows());
  }
  shape_ = StepState::shape_of(batch, options_.max_rows, options_.max_logit_rows);
  if (state_.load(queue_, batch, shape_)) recordings_.clear();
  make_room(shape_);
}

int32_t CudaExecutor::run(const Batch &batch, const RunControl &control) {
  if (control.first_op == 0) load(batch);
  const auto n_ops = static_cast<int32_t>(plan_.ops.size());
  const bool whole =
      control.first_op == 0 && control.stop_after < 0 && control.budget_us == 0 && !control.profile;
  int32_t reached = n_ops;
  if (whole) {
    compute(shape_);
  } else {
    reached = compute_in_parts(batch, control);
    if (reached == n_ops) sample_rows(shape_);
  }
  if (reached == n_ops) {
    give_results(batch);
  } else {
    queue_.wait();
  }
  return reached;
}

// What fails leaves no batch given.
template <class Work>
void CudaExecutor::one_of_two(const Work &work) {
  try {
    work();
  } catch (...) {
    finished_ = begun_;
    try {
      queue_.wait();
    } catch (const Error &) {  // the first one is told
    }
    throw;
  }
}

void CudaExecutor::begin(const Batch &batch) {
  one_of_two([&] {
    if (begun_ - finished_ >= 2)
      fail(Status::Internal, "batch: expected at most two under way, found a third");
    load(batch);
    compute(shape_);
    queue_.reach(*ends_[begun_++ % 2]);
  });
}

void CudaExecutor::finish(const Batch &batch) {
  one_of_two([&] {
    queue_.wait_for(*ends_[finished_++ % 2]);
    for (size_t i = 0; i < batch.seats.size(); ++i) batch.sampled[i] = seats_.read(batch.seats[i]);
  });
}

// All ops.
void CudaExecutor::compute(const StepShape &shape) {
  auto &recording = recordings_[shape];
  if (!recording) {
    queue_.begin_recording();
    try {
      rope_angles_of(shape);
      for (const Op &op : plan_.ops) enqueue(op, shape);
      sample_rows(shape);
    } catch (...) {
      queue_.end_recording();
      recordings_.erase(shape);
      throw;
    }
    recording = queue_.end_recording();
  }
  queue_.replay(*recording);
}

// Op by op, looking at the clock and at the host's wish between them.
int32_t CudaExecutor::compute_in_parts(const Batch &batch, const RunControl &control) {
  const auto before = queue_.make_mark(), after = queue_.make_mark();
  const uint64_t start = now_us();
  if (control.first_op == 0) rope_angles_of(shape_);
  const auto n_ops = static_cast<int32_t>(plan_.ops.size());
  for (int32_t i = control.first_op; i < n_ops; ++i) {
    const Op &op = plan_.ops[static_cast<size_t>(i)];
    queue_.reach(*before);
    enqueue(op, shape_);
    queue_.reach(*after);
    queue_.wait_for(*after);
    if (const auto *route = std::get_if<RouteOp>(&op)) {
      active_experts_ =
          static_cast<int32_t>(std::min<int64_t>(batch.rows() * int64_t{route->used}, route->w.rows));
    }
    if (control.profile) {
      const OpCost cost = cost_of(op, batch, kv_, active_experts_);
      ProfileEntry &entry = profile_[op.index()];
      entry.op = op_name(op);
      entry.calls += 1;
      entry.total_us += static_cast<uint64_t>(queue_.microseconds(*before, *after));
      entry.bytes += cost.bytes;
      entry.flops += cost.flops;
    }
    const bool late = control.budget_us != 0 && now_us() - start >= control.budget_us;
    const bool cancelled = control.cancel && control.cancel->load(std::memory_order_relaxed);
    if (late || cancelled || i == control.stop_after) return i + 1;
  }
  return n_ops;
}

// What blocks share: attention of few rows over long contexts, and the sampler's lists. Grows with the steps
// that come.
void CudaExecutor::make_room(const StepShape &shape) {
  uint64_t states = 0;
  for (const Op &op : plan_.ops) {
    if (const auto *o = std::get_if<AttnOp>(&op)) {
      states = std::max(states, attention_state_bytes(attention_of(*o, shape)));
    }
  }
  const uint64_t work =
      shape.sampled ? static_cast<uint64_t>(shape.logit_rows) * sample_work_bytes(plan_.vocab) : 0;
  const auto grow = [&](DeviceMemory &memory, uint64_t needed) {
    if (needed <= memory.size_bytes()) return;
    queue_.wait();
    recordings_.clear();
    memory = {};
    memory = DeviceMemory(queue_.device(), needed);
    queue_.fill(memory.data(), 0, needed);
  };
  grow(states_, states);
  grow(sample_work_, work);
}

void CudaExecutor::sample_rows(const StepShape &shape) {
  if (!shape.sampled) return;
  SampleArgs args;
  args.logits = scratch_.logits;
  args.rows = shape.logit_rows;
  args.vocab = args.logits_stride = plan_.vocab;
  args.seats = state_.seats();
  args.chosen = seats_.chosen();
  args.table = seats_.rows();
  args.work = sample_work_.data();
  sample(queue_, args);
}

// Of the logits only those that the host samples.
void CudaExecutor::give_results(const Batch &batch) {
  const uint64_t vocab = static_cast<uint64_t>(plan_.vocab) * sizeof(float),
                 hidden = static_cast<uint64_t>(plan_.hidden) * sizeof(float);
  const size_t n = batch.logit_rows.size();
  const auto seat_of = [&](size_t i) { return i < batch.seats.size() ? batch.seats[i] : -1; };
  auto *const out = results_.as<std::byte>();
  for (size_t i = 0; i < n; ++i) {
    if (seat_of(i) < 0)
      queue_.copy_out(out + i * vocab, scratch_.logits + i * static_cast<size_t>(plan_.vocab), vocab);
  }
  const uint64_t hidden_bytes = batch.hidden_rows.size() * hidden;
  if (hidden_bytes > 0) queue_.copy_out(out + n * vocab, scratch_.hidden, hidden_bytes);
  queue_.wait();
  for (size_t i = 0; i < n; ++i) {
    if (seat_of(i) >= 0) {
      batch.sampled[i] = seats_.read(seat_of(i));
    } else {
      std::memcpy(batch.logits + i * static_cast<size_t>(plan_.vocab), out + i * vocab, vocab);
    }
  }
  if (hidden_bytes > 0) std::memcpy(batch.hidden, out + n * vocab, hidden_bytes);
}

void CudaExecutor::copy_page(int32_t from, int32_t to) { queue_.copy(page(to), page(from), kv_.page_bytes); }

void CudaExecutor::read_page(int32_t number, std::byte *out) const {
  queue_.copy_out(out, page(number), kv_.page_bytes);
  queue_.wait();
}

void CudaExecutor::write_page(int32_t number, const std::byte *in) {
  queue_.copy_in(page(number), in, kv_.page_bytes);
  queue_.wait();
}

void CudaExecutor::read_buffer(BufferId id, int32_t n, float *out) const {
  const BufferInfo &info = plan_.buffers[static_cast<size_t>(id)];
  HalfRows halves = activations_.halves(id);
  for (const Op &op : plan_.ops) {  // queries are halves once they are turned
    const auto *o = std::get_if<QkvOp>(&op);
    if (o && o->q == id) halves = {scratch_.q, info.width, 1, 1, info.width};
  }
  if (!halves.data) {
    queue_.copy_out(out, activations_.floats(id),
                    static_cast<uint64_t>(n) * static_cast<uint64_t>(info.width) * 4);
    queue_.wait();
    return;
  }
  const auto rows = static_cast<size_t>(n) * static_cast<size_t>(halves.per_row);
  std::vector<Half> padded(rows * static_cast<size_t>(halves.stride));
  queue_.copy_out(padded.data(), halves.data, padded.size() * sizeof(Half));
  queue_.wait();
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < static_cast<size_t>(halves.width); ++i) {
      *out++ = half_to_float(padded[row * static_cast<size_t>(halves.stride) + i]) * halves.unscale;
    }
  }
}

void CudaExecutor::write_buffer(BufferId id, int32_t n, const float *in) {
  if (activations_.halves(id).data) {
    fail(Status::Internal, "buffer %d: expected one that is kept as floats, found halves", id);
  }
  const auto width = static_cast<uint64_t>(plan_.buffers[static_cast<size_t>(id)].width);
  queue_.copy_in(activations_.floats(id), in, static_cast<uint64_t>(n) * width * sizeof(float));
  queue_.wait();  // `in` is the caller's again
}

std::vector<ProfileEntry> CudaExecutor::profile() const {
  std::vector<ProfileEntry> used;
  for (const ProfileEntry &entry : profile_) {
    if (entry.calls != 0) used.push_back(entry);
  }
  return used;
}

}  // namespace rz::cuda
