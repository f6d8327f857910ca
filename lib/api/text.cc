// rz.h: text to tokens and back.
#include <algorithm>

#include "api/buffers.h"
#include "api/handles.h"
#include "api/versioned.h"
#include "engine/float_mode.h"

using namespace rz::api;

rz_status rz_tokenize(const rz_model *model, const char *text, size_t text_len, uint32_t flags,
                      int32_t *tokens, size_t capacity, size_t *count, rz_error *err) {
  return guard(err, [&] {
    const rz::Tokenizer &tokenizer = tokenizer_of(model);
    check_flags(flags, RZ_TOKENIZE_NO_BOS | RZ_TOKENIZE_PARSE_SPECIAL, "flags");
    const std::string_view read = text_argument(text, text_len, "text");
    const rz::FloatMode mode;
    std::vector<int32_t> ids;
    tokenizer.encode(read, {(flags & RZ_TOKENIZE_NO_BOS) == 0, (flags & RZ_TOKENIZE_PARSE_SPECIAL) != 0},
                     ids);
    check_capacity(ids.size(), tokens, capacity, count);
    std::ranges::copy(ids, tokens);
  });
}

rz_status rz_detokenize(const rz_model *model, const int32_t *tokens, size_t n_tokens, uint32_t flags,
                        char *text, size_t capacity, size_t *count, rz_error *err) {
  return guard(err, [&] {
    const rz::Tokenizer &tokenizer = tokenizer_of(model);
    check_flags(flags, RZ_DETOKENIZE_SPECIAL, "flags");
    check_tokens(model, tokens, n_tokens, "tokens");
    std::string written;
    tokenizer.decode(tokens, n_tokens, (flags & RZ_DETOKENIZE_SPECIAL) != 0, true, written);
    check_capacity(written.size(), text, capacity, count);
    std::ranges::copy(written, text);
  });
}

rz_status rz_token_piece(const rz_model *model, int32_t token, const char **text, size_t *len,
                         rz_error *err) {
  return guard(err, [&] {
    const rz::Tokenizer &tokenizer = tokenizer_of(model);
    need(text, "text");
    need(len, "len");
    const int32_t vocab = tokenizer.vocab().size();
    if (token < 0 || token >= vocab) {
      rz::fail(rz::Status::Argument, "token: expected 0 to %d, found %d", vocab - 1, token);
    }
    const std::string_view piece = tokenizer.piece(token);
    *text = piece.data();
    *len = piece.size();
  });
}
