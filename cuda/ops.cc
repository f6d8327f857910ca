// The kernels of each op of the plan. Norms, matrices and what becomes of their products are all launches of
// their own: each begins while the one ahead still runs, and asks for its first weights meanwhile.
#include <algorithm>

#include "cuda/executor.h"

namespace rz::cuda {

namespace {

Act act_of(Activation act) { return act == Activation::Silu ? Act::Silu : Act::GeluTanh; }

Turn turn_of(RopeStyle style) {
  switch (style) {
    case RopeStyle::Adjacent:
      return Turn::Adjacent;
    case RopeStyle::Halves:
      return Turn::Halves;
    default:
      return Turn::None;
  }
}

int32_t as_int(int64_t n) { return static_cast<int32_t>(n); }

}  // namespace

void CudaExecutor::enqueue(const Op &op, const StepShape &shape) {
  std::visit([&](const auto &o) { enqueue(o, shape); }, op);
}

// ---- arguments that several ops share -----------------------------------------------------------------------------------
Rows CudaExecutor::rows_of(const StepShape &shape) const {
  return {shape.rows, state_.positions(), state_.table_of_row(), state_.tables()};
}

KvPages CudaExecutor::pages_of(int32_t layer) const {
  const KvLayout::Layer &l = kv_.layers[static_cast<size_t>(layer)];
  return {pages_.data(),  kv_.page_bytes, l.k_offset,    l.v_offset,     l.k_head_bytes,
          l.v_head_bytes, l.kv.kv_heads,  l.kv.head_dim, l.kv.value_dim, kv_.type};
}

NormWeights CudaExecutor::weights_of(const Norm &norm) const {
  return {norm.kind == NormKind::Rms ? NormStyle::Rms : NormStyle::Layer, norm.eps,
          weights_.floats(norm.weight), weights_.floats(norm.bias)};
}

MatmulArgs CudaExecutor::matmul_of(BufferId in, int32_t rows) const {
  const HalfRows &x = activations_.halves(in);
  MatmulArgs args;
  args.n_segments = 1;
  args.x = x.data;
  args.x_stride = x.stride;
  args.x_unscale = x.unscale;
  args.rows = rows;
  return args;
}

MatmulArgs CudaExecutor::experts_of(BufferId in, int32_t rows, int32_t slots_per_x) const {
  MatmulArgs args = matmul_of(in, rows);
  args.slots = scratch_.slots;
  args.expert_first = scratch_.expert_first;
  args.active = scratch_.active;
  args.slots_per_x = slots_per_x;
  return args;
}

// ---- ops ----------------------------------------------------------------------------------------------------------------
void CudaExecutor::rope_angles_of(const StepShape &shape) {
  const double *frequencies = scratch_.frequencies;
  float *angles = scratch_.angles;
  for (const Rope &rope : plan_.ropes) {
    RopeAnglesArgs args;
    args.positions = state_.positions();
    args.frequencies = frequencies;
    args.angles = angles;
    args.rows = shape.rows;
    args.pairs = as_int(static_cast<int64_t>(rope.frequencies.size()));
    args.stride = 2 * args.pairs;
    args.magnitude = rope.magnitude;
    if (args.pairs > 0) rope_angles(queue_, args);
    frequencies += args.pairs;
    angles += static_cast<int64_t>(options_.max_rows) * args.stride;
  }
}

void CudaExecutor::enqueue(const EmbedOp &op, const StepShape &shape) {
  EmbedArgs args;
  args.table = weights_.tiles(op.table);
  args.index = state_.tokens();
  args.chosen = seats_.chosen();
  args.scale = op.scale;
  args.out = activations_.floats(op.out);
  embed(queue_, args, shape.rows);
  if (!op.positions) return;
  args.table = weights_.tiles(op.positions);
  args.index = state_.positions();
  args.chosen = nullptr;
  args.scale = 1;
  args.add = true;
  embed(queue_, args, shape.rows);
}

void CudaExecutor::enqueue(const NormOp &op, const StepShape &shape) {
  const HalfRows &out = activations_.halves(op.out);
  NormArgs args;
  args.norm = weights_of(op.norm);
  args.x = activations_.floats(op.in);
  args.cols = out.width;
  args.y = out.data;
  args.y_stride = out.stride;
  if (activations_.wants_floats(op.out)) args.y_float = activations_.floats(op.out);
  norm(queue_, args, shape.rows);
}

void CudaExecutor::enqueue(const QkvOp &op, const StepShape &shape) {
  MatmulArgs args = matmul_of(op.in, shape.rows);
  const Matrix *matrices[] = {&op.wq, &op.wk, &op.wv};
  const Vector *biases[] = {&op.bq, &op.bk, &op.bv};
  float *outs[] = {activations_.floats(op.q), scratch_.keys, scratch_.values};
  args.n_segments = 3;
  for (size_t i = 0; i < 3; ++i) {
    args.segments[i].w = weights_.tiles(*matrices[i]);
    args.segments[i].bias = weights_.floats(*biases[i]);
    args.segments[i].y = outs[i];
    args.segments[i].y_stride = as_int(matrices[i]->rows);
  }
  matmul(queue_, args);

  AppendArgs append_args;
  append_args.rows = rows_of(shape);
  append_args.kv = pages_of(op.layer);
  append_args.heads = op.heads;
  append_args.q = outs[0];
  append_args.k = outs[1];
  append_args.v = outs[2];
  append_args.q_out = scratch_.q;
  const auto head_norm = [&](const Norm &norm) -> HeadNorm {
    return {weights_.floats(norm.weight), weights_.floats(norm.bias), norm.eps, norm.kind == NormKind::Layer};
  };
  append_args.q_norm = head_norm(op.q_norm);
  append_args.k_norm = head_norm(op.k_norm);
  const float *angles = scratch_.angles;
  for (int32_t i = 0; i <= op.rope; ++i) {
    const Rope &rope = plan_.ropes[static_cast<size_t>(i)];
    const auto pairs = static_cast<int64_t>(rope.frequencies.size());
    if (i < op.rope) {
      angles += options_.max_rows * 2 * pairs;
      continue;
    }
    append_args.turn = turn_of(rope.style);
    append_args.dims = as_int(2 * pairs);
    append_args.angles = angles;
    append_args.angle_stride = as_int(2 * pairs);
  }
  append(queue_, append_args);
}

AttentionArgs CudaExecutor::attention_of(const AttnOp &op, const StepShape &shape) const {
  const HalfRows &out = activations_.halves(op.out);
  AttentionArgs args;
  args.rows = rows_of(shape);
  args.kv = pages_of(op.layer);
  args.heads = op.heads;
  args.q = scratch_.q;
  args.out = out.data;
  args.out_stride = out.stride;
  args.scale = op.scale;
  args.softcap = op.softcap;
  args.window = op.window;
  args.chunks = shape.chunks;
  args.splits = attention_splits(args, facts_.multiprocessors);
  args.states = states_.as<float>();
  args.arrived = scratch_.arrived;
  return args;
}

void CudaExecutor::enqueue(const AttnOp &op, const StepShape &shape) {
  attention(queue_, attention_of(op, shape));
}

void CudaExecutor::enqueue(const MatmulAddOp &op, const StepShape &shape) {
  MatmulArgs args = matmul_of(op.in, shape.rows);
  MatmulSegment &segment = args.segments[0];
  segment.w = weights_.tiles(op.w);
  segment.bias = weights_.floats(op.bias);
  segment.scale = op.scale;
  segment.y_stride = as_int(op.w.rows);
  segment.finish = op.post_norm ? Finish::Store : Finish::Add;
  segment.y = activations_.floats(op.post_norm ? op.scratch : op.x);
  matmul(queue_, args);
  if (!op.post_norm) return;
  AddTermArgs add;
  add.term = activations_.floats(op.scratch);
  add.cols = as_int(op.w.rows);
  add.norm = weights_of(op.post_norm);
  add.x = activations_.floats(op.x);
  add_term(queue_, add, shape.rows);
}

// One pass over x, where gate and up are of one format; else each on its own, and then their product.
void CudaExecutor::gate_up(MatmulArgs args, int experts) {
  const MatmulSegment joint = args.segments[0];
  if (joint.gate.rows == 0 || joint.gate.format == joint.w.format) {
    matmul(queue_, args, experts);
    return;
  }
  const auto store = [&](const Tiles &w, const float *bias, float *y) {
    MatmulSegment &segment = args.segments[0];
    segment = {};
    segment.w = w;
    segment.bias = bias;
    segment.y = y;
    segment.y_stride = w.rows;
    matmul(queue_, args, experts);
  };
  store(joint.w, joint.bias, scratch_.up);
  store(joint.gate, joint.gate_bias, scratch_.gate);
  ActivateArgs activate_args;
  activate_args.gate = scratch_.gate;
  activate_args.up = scratch_.up;
  activate_args.cols = joint.w.rows;
  activate_args.act = joint.act;
  activate_args.y = static_cast<Half *>(joint.y);
  activate_args.y_stride = joint.y_stride;
  activate_rows(queue_, activate_args, args.rows);
}

void CudaExecutor::enqueue(const GateUpOp &op, const StepShape &shape) {
  MatmulArgs args = matmul_of(op.in, shape.rows);
  MatmulSegment &segment = args.segments[0];
  segment.w = weights_.tiles(op.up);
  segment.gate = weights_.tiles(op.gate);
  segment.bias = weights_.floats(op.up_bias);
  segment.gate_bias = weights_.floats(op.gate_bias);
  segment.finish = Finish::Activate;
  segment.act = act_of(op.act);
  segment.y = activations_.halves(op.out).data;
  segment.y_stride = activations_.halves(op.out).stride;
  gate_up(args, 0);
}

void CudaExecutor::enqueue(const RouteOp &op, const StepShape &shape) {
  RouteArgs args;
  args.x = activations_.floats(op.in);
  args.w = weights_.matrix_floats(op.w);
  args.cols = as_int(op.w.cols);
  args.experts = as_int(op.w.rows);
  args.used = op.used;
  args.normalize = op.normalize;
  args.scale = op.scale;
  args.route = activations_.floats(op.route);
  route(queue_, args, shape.rows);

  GroupArgs by_expert;
  by_expert.route = args.route;
  by_expert.slots_total = shape.rows * op.used;
  by_expert.used = op.used;
  by_expert.experts = args.experts;
  by_expert.slots = scratch_.slots;
  by_expert.expert_first = scratch_.expert_first;
  by_expert.active = scratch_.active;
  group(queue_, by_expert);
}

void CudaExecutor::enqueue(const MoeGateUpOp &op, const StepShape &shape) {
  const HalfRows &out = activations_.halves(op.out);
  MatmulArgs args = experts_of(op.in, shape.rows * op.used, op.used);
  MatmulSegment &segment = args.segments[0];
  segment.w = weights_.tiles(op.up);
  segment.gate = weights_.tiles(op.gate);
  segment.finish = Finish::Activate;
  segment.act = act_of(op.act);
  segment.y = out.data;
  segment.y_stride = out.stride;
  gate_up(args, std::min(op.up.experts, args.rows));
}

void CudaExecutor::enqueue(const MoeDownOp &op, const StepShape &shape) {
  MatmulArgs args = experts_of(op.in, shape.rows * op.used, 1);
  MatmulSegment &segment = args.segments[0];
  segment.w = weights_.tiles(op.down);
  segment.y = activations_.floats(op.scratch);
  segment.y_stride = as_int(op.down.rows);
  matmul(queue_, args, std::min(op.down.experts, args.rows));

  AddTermArgs add;
  add.term = activations_.floats(op.scratch);
  add.weights = activations_.floats(op.route);
  add.used = op.used;
  add.cols = as_int(op.down.rows);
  add.norm = weights_of(op.post_norm);
  add.x = activations_.floats(op.x);
  add_term(queue_, add, shape.rows);
}

void CudaExecutor::enqueue(const HeadOp &op, const StepShape &shape) {
  if (shape.logit_rows == 0) return;
  NormArgs normed;
  normed.norm = weights_of(op.norm);
  normed.x = activations_.floats(op.in);
  normed.rows = state_.logit_rows();
  normed.cols = as_int(op.w.cols);
  normed.y = scratch_.head_rows;
  normed.y_stride = steps_of(normed.cols) * kStepCols;
  norm(queue_, normed, shape.logit_rows);

  MatmulArgs args;
  args.n_segments = 1;
  args.x = normed.y;
  args.x_stride = normed.y_stride;
  args.rows = shape.logit_rows;
  MatmulSegment &segment = args.segments[0];
  segment.w = weights_.tiles(op.w);
  segment.bias = weights_.floats(op.bias);
  segment.scale = op.scale;
  segment.softcap = op.softcap;
  segment.y = scratch_.logits;
  segment.y_stride = as_int(op.w.rows);
  matmul(queue_, args);
}

void CudaExecutor::enqueue(const PoolOp &op, const StepShape &shape) {
  if (shape.hidden_rows == 0) return;
  NormArgs args;
  args.norm = weights_of(op.norm);
  args.x = activations_.floats(op.in);
  args.rows = state_.hidden_rows();
  args.cols = plan_.hidden;
  args.y_stride = args.cols;
  args.y_float = scratch_.hidden;
  norm(queue_, args, shape.hidden_rows);
}

}  // namespace rz::cuda
