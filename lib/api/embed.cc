// rz.h: embeddings.
#include "api/buffers.h"
#include "api/prompt.h"
#include "api/versioned.h"
#include "engine/embedding.h"
#include "engine/float_mode.h"

using namespace rz::api;

rz_status rz_embed(rz_model *model, const rz_prompt *prompt, int32_t pooling, uint32_t flags, float *out,
                   size_t capacity, size_t *count, rz_error *err) {
  return guard(err, [&] {
    rz::Engine &engine = engine_of(model);
    if (pooling < RZ_POOL_DEFAULT || pooling > RZ_POOL_NONE) {
      rz::fail(rz::Status::Argument, "pooling: expected RZ_POOL_*, found %d", pooling);
    }
    check_flags(flags, RZ_EMBED_NO_NORMALIZE, "flags");
    const auto how = static_cast<rz::EmbedPooling>(pooling);
    const std::vector<int32_t> tokens = prompt_tokens(model, prompt, false);
    check_capacity(rz::embedding_size(engine, how, tokens.size()), out, capacity, count);
    const rz::FloatMode mode;
    rz::embed(engine, tokens, how, (flags & RZ_EMBED_NO_NORMALIZE) == 0, out);
  });
}
