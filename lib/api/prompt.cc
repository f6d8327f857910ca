#include "api/prompt.h"

#include "api/buffers.h"
#include "api/versioned.h"
#include "engine/float_mode.h"

namespace rz::api {

std::vector<int32_t> prompt_tokens(const rz_model *model, const rz_prompt *given, bool continues) {
  need(model, "model");
  const rz_prompt prompt = take(given, "prompt");
  check_flags(prompt.flags, RZ_TOKENIZE_NO_BOS | RZ_TOKENIZE_PARSE_SPECIAL, "prompt.flags");
  const int kinds = (prompt.text ? 1 : 0) + (prompt.tokens ? 1 : 0) + (prompt.messages ? 1 : 0);
  if (kinds != 1)
    fail(Status::Argument, "prompt: expected one of text, tokens, messages, found %d of them", kinds);
  if (prompt.messages) fail(Status::Unsupported, "prompt.messages: chat templates are not supported");
  if (prompt.tools_json || prompt.template_vars_json || prompt.template_override) {
    fail(Status::Argument, "prompt: tools and templates go with messages only");
  }
  if (prompt.tokens) {
    check_tokens(model, prompt.tokens, prompt.n_tokens, "prompt.tokens");
    return {prompt.tokens, prompt.tokens + prompt.n_tokens};
  }
  const std::string_view text = text_argument(prompt.text, prompt.text_len, "prompt.text");
  const bool special = !continues && (prompt.flags & RZ_TOKENIZE_NO_BOS) == 0;
  const FloatMode mode;
  std::vector<int32_t> tokens;
  tokenizer_of(model).encode(text, {special, (prompt.flags & RZ_TOKENIZE_PARSE_SPECIAL) != 0}, tokens);
  return tokens;
}

}  // namespace rz::api

using namespace rz::api;

rz_status rz_chat_format(const rz_model *model, const rz_prompt *prompt, char *, size_t, size_t *count,
                         rz_error *err) {
  return guard(err, [&] {
    need(model, "model");
    take(prompt, "prompt");
    need(count, "count");
    *count = 0;
    rz::fail(rz::Status::Unsupported, "rz_chat_format: chat templates are not supported");
  });
}
