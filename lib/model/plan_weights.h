// The weights of a plan, for those that copy or count them.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "model/plan.h"

namespace rz {

// Calls on_matrix(matrix) and on_vector(vector) for each that an op names; one that several name comes as
// often.
template <class OnMatrix, class OnVector>
void for_each_weight(const Plan &plan, OnMatrix on_matrix, OnVector on_vector) {
  const auto matrix = [&](const Matrix &m) {
    if (m) on_matrix(m);
  };
  const auto vector = [&](const Vector &v) {
    if (v) on_vector(v);
  };
  const auto norm = [&](const Norm &n) {
    vector(n.weight);
    vector(n.bias);
  };
  for (const Op &op : plan.ops) {
    std::visit(
        [&](const auto &o) {
          using O = std::decay_t<decltype(o)>;
          if constexpr (std::is_same_v<O, EmbedOp>) {
            matrix(o.table);
            matrix(o.positions);
          } else if constexpr (std::is_same_v<O, NormOp> || std::is_same_v<O, PoolOp>) {
            norm(o.norm);
          } else if constexpr (std::is_same_v<O, QkvOp>) {
            for (const Matrix *m : {&o.wq, &o.wk, &o.wv}) matrix(*m);
            for (const Vector *v : {&o.bq, &o.bk, &o.bv}) vector(*v);
            norm(o.q_norm);
            norm(o.k_norm);
          } else if constexpr (std::is_same_v<O, MatmulAddOp>) {
            matrix(o.w);
            vector(o.bias);
            norm(o.post_norm);
          } else if constexpr (std::is_same_v<O, GateUpOp>) {
            matrix(o.gate);
            matrix(o.up);
            vector(o.gate_bias);
            vector(o.up_bias);
          } else if constexpr (std::is_same_v<O, RouteOp>) {
            matrix(o.w);
          } else if constexpr (std::is_same_v<O, MoeGateUpOp>) {
            matrix(o.gate);
            matrix(o.up);
          } else if constexpr (std::is_same_v<O, MoeDownOp>) {
            matrix(o.down);
            norm(o.post_norm);
          } else if constexpr (std::is_same_v<O, HeadOp>) {
            norm(o.norm);
            matrix(o.w);
            vector(o.bias);
          } else {
            static_assert(std::is_same_v<O, AttnOp>);
          }
        },
        op);
  }
}

// Matrices, each once. Without data only names and places tell them apart.
class MatrixSet {
 public:
  bool add(const Matrix &m) {
    return seen_.emplace(m.name, m.first_row, m.rows).second;
  }  // false: it was there

 private:
  std::set<std::tuple<std::string_view, int64_t, int64_t>> seen_;
};

// Of the tensors as the file has them.
inline uint64_t weights_bytes(const Plan &plan) {
  uint64_t total = 0;
  MatrixSet seen;
  for_each_weight(
      plan,
      [&](const Matrix &m) {
        if (seen.add(m)) total += m.bytes();
      },
      [&](const Vector &v) { total += static_cast<uint64_t>(v.size) * sizeof(float); });
  return total;
}

}  // namespace rz
