// rz_generate_options, checked and with defaults put in, beside a prompt: one generation, ready to start.
#pragma once

#include <memory>

#include "api/handles.h"

namespace rz::api {

std::unique_ptr<Generation> make_generation(rz_model *model, const rz_prompt *prompt,
                                            const rz_generate_options *options);

rz_event to_event(const Event &event, uint32_t request);
rz_event end_event(const Generation &generation, uint32_t request);
rz_stats to_stats(const Generation &generation);

}  // namespace rz::api
