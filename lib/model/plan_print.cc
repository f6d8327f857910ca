// The Plan as text, one line an op, for people who look for a fault or wonder what a file holds.
#include <cstdarg>
#include <cstdio>

#include "model/plan.h"

namespace rz {
namespace {

__attribute__((format(printf, 1, 2))) std::string text(const char *format, ...) {
  char line[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  return line;
}

// Writes the part of an op's line after its name.
class Printer {
 public:
  explicit Printer(const Plan &plan) : plan_(plan) {}

  std::string operator()(const EmbedOp &op) const {
    std::string line = buffer(op.out) + " = " + matrix(op.table) + "[token]";
    if (op.scale != 1) line += text(" * %g", static_cast<double>(op.scale));
    if (op.positions) line += " + " + matrix(op.positions) + "[position]";
    return line;
  }
  std::string operator()(const NormOp &op) const {
    return buffer(op.out) + " = " + norm(op.norm) + " of " + buffer(op.in);
  }
  std::string operator()(const QkvOp &op) const {
    std::string line = text("layer %d: ", op.layer) + buffer(op.q) + ", k, v = " + matrix(op.wq) + ", " +
                       matrix(op.wk) + ", " + matrix(op.wv) + " of " + buffer(op.in);
    if (op.bq || op.bk || op.bv) line += ", biases";
    if (op.q_norm || op.k_norm) line += ", head norms";
    if (op.rope >= 0) line += text(", rope %d", op.rope);
    return line;
  }
  std::string operator()(const AttnOp &op) const {
    std::string line =
        text("layer %d: ", op.layer) + buffer(op.out) + " of " + buffer(op.q) +
        text(", %d heads over %d, scale %g", op.heads, op.kv_heads, static_cast<double>(op.scale));
    if (op.softcap != 0) line += text(", soft cap %g", static_cast<double>(op.softcap));
    if (op.window != 0) line += text(", window %d", op.window);
    return line;
  }
  std::string operator()(const MatmulAddOp &op) const {
    std::string line = buffer(op.x) + " += ";
    if (op.post_norm) line += norm(op.post_norm) + " of ";
    if (op.scale != 1) line += text("%g * ", static_cast<double>(op.scale));
    line += matrix(op.w) + " " + buffer(op.in);
    return op.bias ? line + " + bias" : line;
  }
  std::string operator()(const GateUpOp &op) const {
    std::string line = buffer(op.out) + " = " + activation(op.act) + "(";
    if (op.gate) line += matrix(op.gate) + ") * (";
    line += matrix(op.up) + ") of " + buffer(op.in);
    return op.up_bias || op.gate_bias ? line + ", biases" : line;
  }
  std::string operator()(const RouteOp &op) const {
    return buffer(op.route) + text(" = best %d of ", op.used) + matrix(op.w) + " " + buffer(op.in) +
           (op.normalize ? ", weights sum to 1" : "");
  }
  std::string operator()(const MoeGateUpOp &op) const {
    return buffer(op.out) + " = " + activation(op.act) + "(" + matrix(op.gate) + ") * (" + matrix(op.up) +
           ") of " + buffer(op.in) + " by " + buffer(op.route);
  }
  std::string operator()(const MoeDownOp &op) const {
    return buffer(op.x) + " += " + (op.post_norm ? norm(op.post_norm) + " of " : "") + matrix(op.down) + " " +
           buffer(op.in) + " by " + buffer(op.route);
  }
  std::string operator()(const HeadOp &op) const {
    std::string line = "logits = ";
    if (op.scale != 1) line += text("%g * ", static_cast<double>(op.scale));
    line += matrix(op.w) + " " + norm(op.norm) + " of " + buffer(op.in);
    if (op.softcap != 0) line += text(", soft cap %g", static_cast<double>(op.softcap));
    return line;
  }
  std::string operator()(const PoolOp &op) const {
    return "hidden = " + norm(op.norm) + " of " + buffer(op.in);
  }

 private:
  std::string buffer(BufferId id) const {
    return text("b%d[%d]", id, plan_.buffers[static_cast<size_t>(id)].width);
  }
  // Shapes as everywhere: columns first.
  static std::string matrix(const Matrix &m) {
    std::string line = text("%.*s %lldx%lld", static_cast<int>(m.name.size()), m.name.data(),
                            static_cast<long long>(m.cols), static_cast<long long>(m.rows));
    if (m.experts > 1) line += text("x%d", m.experts);
    return line + " " + traits(m.type).name;
  }
  static std::string norm(const Norm &n) { return n.kind == NormKind::Rms ? "rms norm" : "layer norm"; }
  static std::string activation(Activation act) { return act == Activation::Silu ? "silu" : "gelu"; }

  const Plan &plan_;
};

}  // namespace

const char *op_name(const Op &op) {
  constexpr const char *kNames[] = {"Embed", "Norm",      "Qkv",     "Attn", "MatmulAdd", "GateUp",
                                    "Route", "MoeGateUp", "MoeDown", "Head", "Pool"};
  static_assert(std::size(kNames) == std::variant_size_v<Op>);
  return kNames[op.index()];
}

std::string Plan::print() const {
  std::string out;
  for (size_t i = 0; i < ops.size(); ++i) {
    out += text("%4zu %-9s ", i, op_name(ops[i])) + std::visit(Printer(*this), ops[i]) + "\n";
  }
  return out;
}

}  // namespace rz
