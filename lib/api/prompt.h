// rz_prompt: what a request begins with.
#pragma once

#include <vector>

#include "api/handles.h"

namespace rz::api {

// Its tokens, all in the vocabulary. `continues`: something precedes it, so no BOS is added to a text.
std::vector<int32_t> prompt_tokens(const rz_model *model, const rz_prompt *prompt, bool continues);

}  // namespace rz::api
