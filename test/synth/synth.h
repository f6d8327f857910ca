// Writes a GGUF file that looks to every program like a real model, except for what it says.
#pragma once

#include <cstdint>
#include <string>

#include "quant/mix.h"
#include "shapes.h"

namespace rz::synth {

void write_model(const Shape &shape, const Mix &mix, uint64_t seed, const std::string &path);

}  // namespace rz::synth
