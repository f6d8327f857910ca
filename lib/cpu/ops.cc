// The dense ops of the plan. Every function is run by all threads at once and may end without a barrier: the
// walk has one after each op.
#include <algorithm>
#include <cstring>

#include "cpu/executor.h"
#include "quant/type.h"

namespace rz::cpu {

void CpuExecutor::run_op(const EmbedOp &op, Lane &lane) {
  const int64_t hidden = op.table.cols;
  float *out = buffer(op.out);
  for (int64_t row = lane.thread; row < rows(); row += team_.active()) {
    const auto token = static_cast<uint64_t>(batch_->tokens[static_cast<size_t>(row)]);
    float *x = out + row * hidden;
    traits(op.table.type).decode(op.table.data + token * op.table.row_bytes(), x, hidden);
    if (op.scale != 1) {
      for (int64_t i = 0; i < hidden; ++i) x[i] *= op.scale;
    }
    if (op.positions) {
      const auto position = static_cast<uint64_t>(batch_->positions[static_cast<size_t>(row)]);
      traits(op.positions.type)
          .decode(op.positions.data + position * op.positions.row_bytes(), lane.tile, hidden);
      kernels_.add(x, lane.tile, 1, hidden);
    }
  }
}

void CpuExecutor::run_op(const NormOp &op, Lane &lane) {
  const int64_t n = width(op.in);
  for (int64_t row = lane.thread; row < rows(); row += team_.active()) {
    kernels_.norm(op.norm, buffer(op.in) + row * n, buffer(op.out) + row * n, n);
  }
}

void CpuExecutor::run_op(const QkvOp &op, Lane &lane) {
  const int64_t n = rows();
  const Inputs in = prepare(lane, {&op.wq, &op.wk, &op.wv}, buffer(op.in), n, op.wq.cols);
  const Matrix *matrices[3] = {&op.wq, &op.wk, &op.wv};
  float *outs[3] = {buffer(op.q), space_.keys, space_.values};
  RowWork work(team_, lane.thread, op.wq.rows + op.wk.rows + op.wv.rows);
  for (RowPart part; work.next(part);) {
    int64_t before = 0;  // rows of the matrices before this one
    for (int m = 0; m < 3; ++m) {
      const int64_t total = matrices[m]->rows, first = std::max<int64_t>(part.first - before, 0),
                    end = std::min(part.first + part.count - before, total);
      if (first < end)
        multiply(lane, *matrices[m], 0, {first, end - first, std::min(part.after, total - end)}, in, nullptr,
                 n, outs[m] + first, total);
      before += total;
    }
  }
  team_.barrier();
  // Neighbours by the same thread: slots of neighbouring tokens share a page's cache lines.
  const int64_t each = (n + team_.active() - 1) / team_.active(), first = lane.thread * each;
  for (int64_t row = first; row < std::min(first + each, n); ++row) append_row(op, row);
}

// Bias, norm and rotation of one row's q, k and v; k and v go to their page.
void CpuExecutor::append_row(const QkvOp &op, int64_t row) {
  float *q = buffer(op.q) + row * op.wq.rows, *k = space_.keys + row * op.wk.rows,
        *v = space_.values + row * op.wv.rows;
  if (op.bq) kernels_.add(q, op.bq.data, 1, op.bq.size);
  if (op.bk) kernels_.add(k, op.bk.data, 1, op.bk.size);
  if (op.bv) kernels_.add(v, op.bv.data, 1, op.bv.size);
  const float *angles = space_.rope + row * space_.rope_width;
  int64_t pairs = 0;
  for (int32_t i = 0; i <= op.rope; ++i) {
    angles += 2 * pairs;
    pairs = static_cast<int64_t>(plan_.ropes[static_cast<size_t>(i)].frequencies.size());
  }
  const RopeStyle style = op.rope < 0 ? RopeStyle::None : plan_.ropes[static_cast<size_t>(op.rope)].style;
  const auto turn = [&](const Norm &norm, float *head) {
    if (norm) kernels_.norm(norm, head, head, op.head_dim);
    if (style != RopeStyle::None) kernels_.rope(style, head, angles, angles + pairs, 2 * pairs);
  };
  for (int32_t h = 0; h < op.heads; ++h) turn(op.q_norm, q + h * op.head_dim);
  const int32_t position = batch_->positions[static_cast<size_t>(row)];
  const auto sequence = static_cast<size_t>(batch_->sequences[static_cast<size_t>(row)]);
  std::byte *at = page(batch_->page_tables[sequence][static_cast<size_t>(position / kPageTokens)]);
  const KvLayout::Layer &layer = kv_.layers[static_cast<size_t>(op.layer)];
  for (int32_t h = 0; h < op.kv_heads; ++h) {
    const auto head = static_cast<uint64_t>(h);
    turn(op.k_norm, k + h * op.head_dim);
    kernels_.append_k(kv_.type, at + layer.k_offset + head * layer.k_head_bytes, position % kPageTokens,
                      k + h * op.head_dim, op.head_dim);
    kernels_.append_v(kv_.type, at + layer.v_offset + head * layer.v_head_bytes, position % kPageTokens,
                      v + h * op.value_dim, op.value_dim);
  }
}

// x += norm(term), row by row; term is overwritten.
void CpuExecutor::add_normed(const Norm &norm, const float *term, float *x, int64_t n, int64_t cols) {
  for (int64_t row = 0; row < n; ++row) {
    float *t = const_cast<float *>(term) + row * cols;
    kernels_.norm(norm, t, t, cols);
    kernels_.add(x + row * cols, t, 1, cols);
  }
}

void CpuExecutor::run_op(const MatmulAddOp &op, Lane &lane) {
  const int64_t n = rows(), total = op.w.rows;
  const Inputs in = prepare(lane, {&op.w}, buffer(op.in), n, op.w.cols);
  float *x = buffer(op.x);
  RowWork work(team_, lane.thread, total);
  for (RowPart part; work.next(part);) {
    const int64_t first = part.first, count = part.count;
    multiply(lane, op.w, 0, part, in, nullptr, n, lane.tile, kTileCols);
    for (int64_t row = 0; row < n; ++row) {
      float *term = lane.tile + row * kTileCols;
      if (op.bias) kernels_.add(term, op.bias.data + first, 1, count);
      if (op.post_norm) {
        float *scratch = buffer(op.scratch) + row * total + first;
        std::memset(scratch, 0, static_cast<size_t>(count) * sizeof(float));
        kernels_.add(scratch, term, op.scale, count);
      } else {
        kernels_.add(x + row * total + first, term, op.scale, count);
      }
    }
  }
  if (!op.post_norm) return;
  team_.barrier();
  for (int64_t row = lane.thread; row < n; row += team_.active()) {
    add_normed(op.post_norm, buffer(op.scratch) + row * total, x + row * total, 1, total);
  }
}

void CpuExecutor::run_op(const GateUpOp &op, Lane &lane) {
  const int64_t n = rows(), total = op.up.rows;
  const Inputs in = prepare(lane, {&op.gate, &op.up}, buffer(op.in), n, op.up.cols);
  RowWork work(team_, lane.thread, total);
  for (RowPart part; work.next(part);) {
    const int64_t first = part.first, count = part.count;
    multiply(lane, op.up, 0, part, in, nullptr, n, lane.tile, kTileCols);
    if (op.gate) multiply(lane, op.gate, 0, part, in, nullptr, n, lane.tile2, kTileCols);
    for (int64_t row = 0; row < n; ++row) {
      float *up = lane.tile + row * kTileCols, *gate = lane.tile2 + row * kTileCols;
      if (op.up_bias) kernels_.add(up, op.up_bias.data + first, 1, count);
      if (op.gate && op.gate_bias) kernels_.add(gate, op.gate_bias.data + first, 1, count);
      kernels_.activate(op.act, op.gate ? gate : up, op.gate ? up : nullptr,
                        buffer(op.out) + row * total + first, count);
    }
  }
}

void CpuExecutor::run_op(const HeadOp &op, Lane &lane) {
  const auto n = static_cast<int64_t>(batch_->logit_rows.size());
  if (n == 0) return;
  const int64_t hidden = op.w.cols, total = op.w.rows;
  for (int64_t i = lane.thread; i < n; i += team_.active()) {
    const int64_t row = batch_->logit_rows[static_cast<size_t>(i)];
    kernels_.norm(op.norm, buffer(op.in) + row * hidden, space_.head_rows + i * hidden, hidden);
  }
  team_.barrier();
  const Inputs in = prepare(lane, {&op.w}, space_.head_rows, n, hidden);
  RowWork work(team_, lane.thread, total);
  for (RowPart part; work.next(part);) {
    const int64_t first = part.first, count = part.count;
    float *logits = batch_->logits + first;
    multiply(lane, op.w, 0, part, in, nullptr, n, logits, total);
    for (int64_t row = 0; row < n; ++row) {
      float *out = logits + row * total;
      if (op.bias) kernels_.add(out, op.bias.data + first, 1, count);
      if (op.scale != 1) {
        for (int64_t i = 0; i < count; ++i) out[i] *= op.scale;
      }
      if (op.softcap != 0) kernels_.softcap(out, op.softcap, count);
    }
  }
}

void CpuExecutor::run_op(const PoolOp &op, Lane &lane) {
  const int64_t hidden = width(op.in);
  const auto n = static_cast<int64_t>(batch_->hidden_rows.size());
  for (int64_t i = lane.thread; i < n; i += team_.active()) {
    const int64_t row = batch_->hidden_rows[static_cast<size_t>(i)];
    kernels_.norm(op.norm, buffer(op.in) + row * hidden, batch_->hidden + i * hidden, hidden);
  }
}

}  // namespace rz::cpu
