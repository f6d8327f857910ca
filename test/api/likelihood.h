// How likely trained models find a text, by the C API.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "api/host.h"

namespace rz::test {

inline const std::filesystem::path kStoryFolder = "examples/models";  // the model that lies in the project

// Opens a file with one kernel set; fails the test where that fails.
ModelHandle load_on(const std::filesystem::path &path, const std::string &device,
                    int32_t kv_type = RZ_TYPE_DEFAULT);
rz_model_info info_of(rz_model *model);
Tokens tokenize(rz_model *model, const std::string &text, uint32_t flags);

// The first `most` held-out stories, each with the model's first token before it and its last one, which the
// stories' file spells "<|endoftext|>", behind it, cut to the model's context.
std::vector<Tokens> held_out_stories(rz_model *model, size_t most);

// The natural logarithm of the probability of tokens[1], tokens[2], ... each after those before it, summed.
double log_likelihood(rz_model *model, const Tokens &tokens);
// exp of the mean surprise over all tokens but the first of each text.
double perplexity(rz_model *model, const std::vector<Tokens> &texts);

}  // namespace rz::test
