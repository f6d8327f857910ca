// Walks a Plan as its ops' comments describe them, in double precision and with nothing clever. Beside the
// reference forward it shows that the family's file says what the paper says; beside a backend, that its
// kernels do what the ops say. Buffers lie where the Plan puts them, so buffers that wrongly share memory
// spoil the numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/plan.h"

namespace rz::test {

struct PlanWalk {
  std::vector<double> logits;  // (tokens, vocab)
  std::vector<double> hidden;  // (tokens, hidden), after the last norm
};

// `tokens` lie at positions 0, 1, ...; keys and values stay in double.
PlanWalk walk_plan(const Plan &plan, std::span<const int32_t> tokens);

}  // namespace rz::test
