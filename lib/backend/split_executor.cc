#include "backend/split_executor.h"

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "model/plan_weights.h"

namespace rz {

namespace {

// The first part gives no logits, and its device need not keep room for them.
ExecutorOptions for_first(ExecutorOptions options) {
  options.max_logit_rows = 0;
  options.progress = {};
  return options;
}

size_t floats_on_their_way(const Plan &plan, int32_t cut, const ExecutorOptions &options) {
  int32_t width = 0;
  for (const BufferId id : plan.crossing(cut)) {
    width = std::max(width, plan.buffers[static_cast<size_t>(id)].width);
  }
  return static_cast<size_t>(width) * static_cast<size_t>(options.max_rows);
}

}  // namespace

SplitExecutor::SplitExecutor(const Plan &plan, int32_t cut, Device &first, Device &second,
                             const ExecutorOptions &options)
    : cut_(cut),
      first_plan_(plan.part(0, cut)),
      second_plan_(plan.part(cut, static_cast<int32_t>(plan.ops.size()))),
      kv_(KvLayout::make(plan, options.kv_type)),
      first_(first.compile(first_plan_, for_first(options))),
      second_(second.compile(second_plan_, options)),
      crossing_(plan.crossing(cut)),
      rows_on_their_way_(floats_on_their_way(plan, cut, options)),
      ran_last_(first_.get()) {
  const uint64_t parts = first_->kv_layout().page_bytes + second_->kv_layout().page_bytes;
  if (parts != kv_.page_bytes) {
    fail(Status::Internal, "plan cut at op %d: expected pages of %llu bytes, found parts of %llu", cut,
         static_cast<unsigned long long>(kv_.page_bytes), static_cast<unsigned long long>(parts));
  }
}

Footprint SplitExecutor::footprint(const Plan &plan, int32_t cut, const Device &first, const Device &second,
                                   const ExecutorOptions &options) {
  Footprint sum;
  sum.compute_bytes = floats_on_their_way(plan, cut, options) * sizeof(float);
  const auto add = [&](const Plan &part, const Device &device, const ExecutorOptions &its) {
    const Footprint one = device.footprint(part, its);
    sum.weights_bytes += one.weights_bytes;
    sum.compute_bytes += one.compute_bytes;
    sum.device_bytes += one.device_bytes;
    sum.read_bytes += one.weights_bytes == 0 ? weights_bytes(part) : one.read_bytes;
  };
  add(plan.part(0, cut), first, for_first(options));
  add(plan.part(cut, static_cast<int32_t>(plan.ops.size())), second, options);
  return sum;
}

// Ops are counted as in the whole plan. A run that ends at the border has not handed over yet: that belongs
// to the next one, which begins there.
int32_t SplitExecutor::run(const Batch &batch, const RunControl &control) {
  RunControl rest = control;
  if (control.first_op < cut_) {
    const uint64_t start = now_us();
    const int32_t reached = run_first(batch, control);
    if (reached < cut_) return reached;
    const uint64_t spent = now_us() - start;
    const bool late = control.budget_us != 0 && spent >= control.budget_us;
    const bool cancelled = control.cancel && control.cancel->load(std::memory_order_relaxed);
    if (late || cancelled || control.stop_after == cut_ - 1) return cut_;
    rest.first_op = cut_;
    if (rest.budget_us != 0) rest.budget_us -= spent;
  }
  if (rest.first_op == cut_) hand_over(batch.rows());
  rest.first_op -= cut_;
  if (rest.stop_after >= 0) rest.stop_after -= cut_;
  ran_last_ = second_.get();
  return cut_ + second_->run(batch, rest);
}

int32_t SplitExecutor::run_first(const Batch &batch, RunControl control) {
  Batch rows = batch;
  rows.logit_rows = rows.seats = rows.hidden_rows = {};
  if (control.stop_after >= cut_) control.stop_after = -1;
  ran_last_ = first_.get();
  return first_->run(rows, control);
}

void SplitExecutor::hand_over(int32_t rows) {
  for (const BufferId id : crossing_) {
    first_->read_buffer(id, rows, rows_on_their_way_.data());
    second_->write_buffer(id, rows, rows_on_their_way_.data());
  }
}

void SplitExecutor::copy_page(int32_t from, int32_t to) {
  first_->copy_page(from, to);
  second_->copy_page(from, to);
}

void SplitExecutor::read_page(int32_t page, std::byte *out) const {
  first_->read_page(page, out);
  second_->read_page(page, out + first_->kv_layout().page_bytes);
}

void SplitExecutor::write_page(int32_t page, const std::byte *in) {
  first_->write_page(page, in);
  second_->write_page(page, in + first_->kv_layout().page_bytes);
}

void SplitExecutor::read_buffer(BufferId buffer, int32_t rows, float *out) const {
  ran_last_->read_buffer(buffer, rows, out);
}

void SplitExecutor::write_buffer(BufferId buffer, int32_t rows, const float *in) {
  first_->write_buffer(buffer, rows, in);
}

std::vector<ProfileEntry> SplitExecutor::profile() const {
  std::vector<ProfileEntry> sum = first_->profile();
  for (const ProfileEntry &entry : second_->profile()) {
    const auto same =
        std::ranges::find(sum, std::string_view(entry.op), [](const ProfileEntry &e) { return e.op; });
    if (same == sum.end()) {
      sum.push_back(entry);
      continue;
    }
    same->calls += entry.calls;
    same->total_us += entry.total_us;
    same->bytes += entry.bytes;
    same->flops += entry.flops;
  }
  return sum;
}

uint64_t SplitExecutor::compute_bytes() const {
  return first_->compute_bytes() + second_->compute_bytes() + rows_on_their_way_.size() * sizeof(float);
}

}  // namespace rz
