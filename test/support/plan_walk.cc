// One function an op; rows are independent but for attention.
#include "support/plan_walk.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace rz::test {
namespace {

using Values = std::vector<double>;

Values decode_row(const Matrix &m, int64_t row, int64_t expert = 0) {
  std::vector<float> floats(static_cast<size_t>(m.cols));
  const uint64_t index = static_cast<uint64_t>(expert * m.rows + row);
  traits(m.type).decode(m.data + index * m.row_bytes(), floats.data(), m.cols);
  return Values(floats.begin(), floats.end());
}

Values multiply(const Matrix &m, std::span<const double> x, const Vector &bias = {}, int64_t expert = 0) {
  Values y(static_cast<size_t>(m.rows));
  for (int64_t r = 0; r < m.rows; ++r) {
    const Values row = decode_row(m, r, expert);
    const double start = bias ? static_cast<double>(bias.data[r]) : 0;
    y[static_cast<size_t>(r)] = std::inner_product(row.begin(), row.end(), x.begin(), start);
  }
  return y;
}

Values normed(const Norm &norm, std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  if (norm.kind == NormKind::Layer) mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  for (const double value : x) squares += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(squares / n + static_cast<double>(norm.eps));
  Values y(x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = (x[i] - mean) * scale * static_cast<double>(norm.weight.data[i]);
    if (norm.bias) y[i] += static_cast<double>(norm.bias.data[i]);
  }
  return y;
}

double activated(Activation act, double x) {
  if (act == Activation::Silu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double capped(double x, float cap) {
  return cap == 0 ? x : static_cast<double>(cap) * std::tanh(x / static_cast<double>(cap));
}

void turn(const Rope &rope, size_t pos, std::span<double> head) {
  const size_t pairs = rope.frequencies.size();
  for (size_t i = 0; i < pairs; ++i) {
    double &a = head[rope.style == RopeStyle::Halves ? i : 2 * i];
    double &b = head[rope.style == RopeStyle::Halves ? i + pairs : 2 * i + 1];
    const double angle = static_cast<double>(pos) * rope.frequencies[i];
    const double c = std::cos(angle) * static_cast<double>(rope.magnitude);
    const double s = std::sin(angle) * static_cast<double>(rope.magnitude);
    const double turned = a * c - b * s;
    b = a * s + b * c;
    a = turned;
  }
}

class Walk {
 public:
  Walk(const Plan &plan, std::span<const int32_t> tokens)
      : plan_(plan),
        tokens_(tokens),
        arena_(static_cast<size_t>(plan.floats_per_row) * tokens.size(), std::nan("")),
        keys_(plan.kv.size()),
        values_(plan.kv.size()) {}

  PlanWalk run() {
    for (const Op &op : plan_.ops) {
      for (pos_ = 0; pos_ < tokens_.size(); ++pos_) std::visit(*this, op);
    }
    return std::move(result_);
  }

  void operator()(const EmbedOp &op) {
    Values x = decode_row(op.table, tokens_[pos_]);
    for (double &value : x) value *= static_cast<double>(op.scale);
    if (op.positions) add(x, decode_row(op.positions, static_cast<int64_t>(pos_)));
    write(op.out, x);
  }
  void operator()(const NormOp &op) { write(op.out, normed(op.norm, row(op.in))); }

  void operator()(const QkvOp &op) {
    Values q = multiply(op.wq, row(op.in), op.bq), k = multiply(op.wk, row(op.in), op.bk);
    finish_heads(q, op.head_dim, op.q_norm, op.rope);
    finish_heads(k, op.head_dim, op.k_norm, op.rope);
    write(op.q, q);
    keys_[static_cast<size_t>(op.layer)].push_back(std::move(k));
    values_[static_cast<size_t>(op.layer)].push_back(multiply(op.wv, row(op.in), op.bv));
  }

  void operator()(const AttnOp &op) {
    const auto window = static_cast<size_t>(op.window);
    const size_t first = window > 0 && pos_ + 1 > window ? pos_ + 1 - window : 0;
    Values out;
    for (int32_t head = 0; head < op.heads; ++head) {
      const Values one = attend(op, head, first);
      out.insert(out.end(), one.begin(), one.end());
    }
    write(op.out, out);
  }

  void operator()(const MatmulAddOp &op) {
    Values y = multiply(op.w, row(op.in), op.bias);
    for (double &value : y) value *= static_cast<double>(op.scale);
    if (op.post_norm) {
      write(op.scratch, y);
      y = normed(op.post_norm, row(op.scratch));
    }
    accumulate(op.x, y);
  }

  void operator()(const GateUpOp &op) {
    Values y = multiply(op.up, row(op.in), op.up_bias);
    if (op.gate) {
      const Values gate = multiply(op.gate, row(op.in), op.gate_bias);
      for (size_t i = 0; i < y.size(); ++i) y[i] *= activated(op.act, gate[i]);
    } else {
      for (double &value : y) value = activated(op.act, value);
    }
    write(op.out, y);
  }

  void operator()(const RouteOp &op) {
    Values odds = multiply(op.w, row(op.in));
    softmax(odds);
    std::vector<size_t> order(odds.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return odds[a] > odds[b]; });
    Values route;
    double sum = 0;
    for (int32_t i = 0; i < op.used; ++i) {
      route.push_back(static_cast<double>(order[static_cast<size_t>(i)]));
      sum += odds[order[static_cast<size_t>(i)]];
    }
    for (int32_t i = 0; i < op.used; ++i) {
      route.push_back(odds[order[static_cast<size_t>(i)]] * static_cast<double>(op.scale) /
                      (op.normalize ? sum : 1));
    }
    write(op.route, route);
  }

  void operator()(const MoeGateUpOp &op) {
    Values out;
    for (int32_t slot = 0; slot < op.used; ++slot) {
      const auto expert = static_cast<int64_t>(row(op.route)[static_cast<size_t>(slot)]);
      const Values gate = multiply(op.gate, row(op.in), {}, expert),
                   up = multiply(op.up, row(op.in), {}, expert);
      for (size_t i = 0; i < up.size(); ++i) out.push_back(activated(op.act, gate[i]) * up[i]);
    }
    write(op.out, out);
  }

  void operator()(const MoeDownOp &op) {
    Values all, sum(static_cast<size_t>(op.down.rows));
    for (int32_t slot = 0; slot < op.used; ++slot) {
      const auto expert = static_cast<int64_t>(row(op.route)[static_cast<size_t>(slot)]);
      const auto first = static_cast<size_t>(slot * op.down.cols);
      const Values y =
          multiply(op.down, row(op.in).subspan(first, static_cast<size_t>(op.down.cols)), {}, expert);
      all.insert(all.end(), y.begin(), y.end());
    }
    write(op.scratch, all);
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t slot = i / sum.size();
      sum[i % sum.size()] += row(op.route)[static_cast<size_t>(op.used) + slot] * row(op.scratch)[i];
    }
    accumulate(op.x, op.post_norm ? normed(op.post_norm, sum) : sum);
  }

  void operator()(const HeadOp &op) {
    for (const double logit : multiply(op.w, normed(op.norm, row(op.in)), op.bias)) {
      result_.logits.push_back(capped(logit * static_cast<double>(op.scale), op.softcap));
    }
  }
  void operator()(const PoolOp &op) {
    const Values y = normed(op.norm, row(op.in));
    result_.hidden.insert(result_.hidden.end(), y.begin(), y.end());
  }

 private:
  std::span<double> row(BufferId id) {
    const BufferInfo &info = plan_.buffers[static_cast<size_t>(id)];
    const auto width = static_cast<size_t>(info.width);
    return std::span(arena_).subspan(static_cast<size_t>(info.offset) * tokens_.size() + pos_ * width, width);
  }
  void write(BufferId id, const Values &values) { std::copy(values.begin(), values.end(), row(id).begin()); }
  static void add(std::span<double> x, const Values &y) {
    for (size_t i = 0; i < y.size(); ++i) x[i] += y[i];
  }
  void accumulate(BufferId id, const Values &y) { add(row(id), y); }

  static void softmax(Values &x) {
    const double most = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (double &value : x) sum += value = std::exp(value - most);
    for (double &value : x) value /= sum;
  }

  void finish_heads(Values &x, int32_t head_dim, const Norm &norm, int32_t rope) {
    const auto dim = static_cast<size_t>(head_dim);
    for (size_t first = 0; first < x.size(); first += dim) {
      const std::span<double> head = std::span(x).subspan(first, dim);
      if (norm) std::ranges::copy(normed(norm, head), head.begin());
      if (rope >= 0) turn(plan_.ropes[static_cast<size_t>(rope)], pos_, head);
    }
  }

  Values attend(const AttnOp &op, int32_t head, size_t first) {
    const int32_t kv_head = head / (op.heads / op.kv_heads);
    const auto layer = static_cast<size_t>(op.layer), dim = static_cast<size_t>(op.head_dim);
    const auto q = row(op.q).subspan(static_cast<size_t>(head) * dim, dim);
    Values scores;
    for (size_t seen = first; seen <= pos_; ++seen) {
      const auto k = keys_[layer][seen].begin() + kv_head * op.head_dim;
      scores.push_back(
          capped(std::inner_product(q.begin(), q.end(), k, 0.0) * static_cast<double>(op.scale), op.softcap));
    }
    softmax(scores);
    Values out(static_cast<size_t>(op.value_dim));
    for (size_t seen = first; seen <= pos_; ++seen) {
      const auto v = values_[layer][seen].begin() + kv_head * op.value_dim;
      for (size_t i = 0; i < out.size(); ++i)
        out[i] += scores[seen - first] * v[static_cast<std::ptrdiff_t>(i)];
    }
    return out;
  }

  const Plan &plan_;
  std::span<const int32_t> tokens_;
  size_t pos_ = 0;
  Values arena_;                             // (floats_per_row, tokens), laid out as the Plan says
  std::vector<std::vector<Values>> keys_;    // (layers, tokens, kv_heads * head_dim)
  std::vector<std::vector<Values>> values_;  // (layers, tokens, kv_heads * value_dim)
  PlanWalk result_;
};

}  // namespace

PlanWalk walk_plan(const Plan &plan, std::span<const int32_t> tokens) { return Walk(plan, tokens).run(); }

}  // namespace rz::test
