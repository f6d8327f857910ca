#include "cpu/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cost.h"
#include "base/clock.h"
#include "base/error.h"

namespace rz::cpu {

CpuExecutor::CpuExecutor(const Plan &plan, const Kernels &kernels, const ExecutorOptions &options)
    : plan_(plan),
      kernels_(kernels),
      options_(options),
      kv_(KvLayout::make(plan, options.kv_type)),
      team_(options.threads),
      space_(plan, kernels, options, team_.size(), true),
      pages_(kv_.page_bytes * static_cast<uint64_t>(options.pages)),
      stop_{false, false},
      profile_(std::variant_size_v<Op>) {
  pages_.use_large_pages();
  for (const Op &op : plan.ops) {
    weights_per_row_ += weights_of(op);
    if (const auto *o = std::get_if<AttnOp>(&op)) {
      attention_per_token_ += static_cast<uint64_t>(o->heads * (o->head_dim + o->value_dim));
    }
  }
  ahead_.resize(plan.ops.size());
  for (size_t i = plan.ops.size() - 1; i > 0; --i) {
    ahead_[i - 1] = ahead_[i];
    const Op &op = plan.ops[i];
    if (const auto *o = std::get_if<QkvOp>(&op))
      ahead_[i - 1] = {&o->wq, o->wq.rows + o->wk.rows + o->wv.rows};
    if (const auto *o = std::get_if<MatmulAddOp>(&op)) ahead_[i - 1] = {&o->w, o->w.rows};
    if (const auto *o = std::get_if<GateUpOp>(&op)) ahead_[i - 1] = {&o->up, o->up.rows};
    if (const auto *o = std::get_if<RouteOp>(&op)) ahead_[i - 1] = {&o->w, o->w.rows};
    if (const auto *o = std::get_if<HeadOp>(&op)) ahead_[i - 1] = {&o->w, o->w.rows};
    if (std::holds_alternative<MoeGateUpOp>(op) || std::holds_alternative<MoeDownOp>(op)) ahead_[i - 1] = {};
  }
  blocks_.reserve(static_cast<size_t>(options.max_rows));
}

int32_t CpuExecutor::run(const Batch &batch, const RunControl &control) {
  if (batch.rows() > options_.max_rows) {
    fail(Status::Internal, "batch: expected at most %d rows, found %d", options_.max_rows, batch.rows());
  }
  batch_ = &batch;
  control_ = &control;
  next_op_ = control.first_op;
  start_us_ = now_us();
  stop_[0] = stop_[1] = false;
  if (control.first_op == 0) split_rows();
  team_.run(
      members(), [](void *self, int32_t thread) { static_cast<CpuExecutor *>(self)->walk(thread); }, this);
  batch_ = nullptr;
  control_ = nullptr;
  return next_op_;
}

// A phase of a tiny model or batch is over before another thread has woken up.
ThreadTeam::Members CpuExecutor::members() const {
  constexpr double kWorthSharing = 4e5;  // operations an op: some 5 microseconds of one core
  const double per_row = static_cast<double>(weights_per_row_) +
                         static_cast<double>(attention_per_token_) * (batch_->positions.back() + 1.0);
  const double per_op = 2 * per_row * static_cast<double>(rows()) / static_cast<double>(plan_.ops.size());
  return per_op < kWorthSharing ? ThreadTeam::Members::CallerAlone : ThreadTeam::Members::All;
}

void CpuExecutor::walk(int32_t thread) {
  Lane &lane = space_.lanes[static_cast<size_t>(thread)];
  if (control_->first_op == 0) begin(lane);
  uint64_t before = control_->profile ? now_us() : 0;
  for (int32_t i = control_->first_op; i < static_cast<int32_t>(plan_.ops.size()); ++i) {
    const Op &op = plan_.ops[static_cast<size_t>(i)];
    std::visit([&](const auto &o) { run_op(o, lane); }, op);
    ask_ahead(static_cast<size_t>(i), thread);
    if (thread == 0) {
      next_op_ = i + 1;
      const bool late = control_->budget_us != 0 && now_us() - start_us_ >= control_->budget_us;
      const bool cancelled = control_->cancel && control_->cancel->load(std::memory_order_relaxed);
      stop_[i & 1].store(late || cancelled || i == control_->stop_after, std::memory_order_relaxed);
    }
    team_.barrier();
    if (thread == 0 && control_->profile) {
      const uint64_t after = now_us();
      measure(op, after - before);
      before = after;
    }
    if (stop_[i & 1].load(std::memory_order_relaxed)) return;
  }
}

// The memory would idle while threads wait for each other and while an op without weights is computed: each
// asks for the first rows that it will multiply with next. Larger batches do not wait for the memory.
void CpuExecutor::ask_ahead(size_t op, int32_t thread) const {
  const Ahead &next = ahead_[op];
  if (!next.w || rows() > kSplitRows) return;
  const RowRange share = share_of(thread, team_.active(), next.rows);
  if (share.first >= next.w->rows) return;
  const uint64_t bytes = static_cast<uint64_t>(std::min<int64_t>(16, share.count)) * next.w->row_bytes();
  const std::byte *from = next.w->data + static_cast<uint64_t>(share.first) * next.w->row_bytes();
  for (uint64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at);
}

// cos and sin of every rope, row and pair, in double precision: positions times frequencies lose digits in
// float.
void CpuExecutor::begin(Lane &lane) {
  const int64_t n = rows();
  for (int64_t row = lane.thread; row < n; row += team_.active()) {
    float *out = space_.rope + row * space_.rope_width;
    for (const Rope &rope : plan_.ropes) {
      const size_t pairs = rope.frequencies.size();
      for (size_t i = 0; i < pairs; ++i) {
        const double angle = batch_->positions[static_cast<size_t>(row)] * rope.frequencies[i];
        out[i] = static_cast<float>(std::cos(angle) * static_cast<double>(rope.magnitude));
        out[pairs + i] = static_cast<float>(std::sin(angle) * static_cast<double>(rope.magnitude));
      }
      out += 2 * pairs;
    }
  }
  team_.barrier();
}

void CpuExecutor::measure(const Op &op, uint64_t us) {
  ProfileEntry &entry = profile_[op.index()];
  const OpCost cost = cost_of(op, *batch_, kv_, n_active_);
  entry.op = op_name(op);
  entry.calls += 1;
  entry.total_us += us;
  entry.bytes += cost.bytes;
  entry.flops += cost.flops;
}

std::vector<ProfileEntry> CpuExecutor::profile() const {
  std::vector<ProfileEntry> used;
  for (const ProfileEntry &entry : profile_) {
    if (entry.calls != 0) used.push_back(entry);
  }
  return used;
}

// Of a part of a plan without a layer, pages are empty and lie nowhere.
void CpuExecutor::copy_page(int32_t from, int32_t to) { std::copy_n(page(from), kv_.page_bytes, page(to)); }
void CpuExecutor::read_page(int32_t number, std::byte *out) const {
  std::copy_n(page(number), kv_.page_bytes, out);
}
void CpuExecutor::write_page(int32_t number, const std::byte *in) {
  std::copy_n(in, kv_.page_bytes, page(number));
}

void CpuExecutor::read_buffer(BufferId id, int32_t n, float *out) const {
  std::memcpy(out, buffer(id), static_cast<size_t>(n * width(id)) * sizeof(float));
}

void CpuExecutor::write_buffer(BufferId id, int32_t n, const float *in) {
  std::memcpy(buffer(id), in, static_cast<size_t>(n * width(id)) * sizeof(float));
}

}  // namespace rz::cpu
