// Architectures by name. Each family is one file in arch/: it reads what is its own from the metadata, names
// its tensors and emits the Plan, and should read like the paper.
#pragma once

#include <span>
#include <string_view>

#include "model/plan.h"
#include "model/weights.h"

namespace rz {

// What an architecture builds with.
struct ArchContext {
  const Metadata &metadata;
  Spec &spec;  // read_spec() done; the family may add its own
  Weights &weights;
  PlanBuilder &plan;
};

struct Architecture {
  std::string_view name;  // general.architecture
  void (*build)(ArchContext &context);
};

std::span<const Architecture> architectures();
// Throws Unsupported, naming it and all those known.
const Architecture &find_architecture(std::string_view name);

}  // namespace rz
