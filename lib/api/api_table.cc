// rz.h: the table of all functions, for hosts that look up one symbol.
#include "rz.h"

namespace {

constexpr rz_api kTable = {
    sizeof(rz_api),
    0,
    rz_status_name,
    rz_version,
    rz_abi_version,
    rz_model_load,
    rz_model_load_source,
    rz_model_retain,
    rz_model_release,
    rz_model_estimate,
    rz_model_get_info,
    rz_model_metadata_count,
    rz_model_metadata_at,
    rz_tokenize,
    rz_detokenize,
    rz_token_piece,
    rz_chat_format,
    rz_generate_stream,
    rz_generate_batch,
    rz_generation_start,
    rz_generation_next,
    rz_generation_cancel,
    rz_generation_get_stats,
    rz_generation_free,
    rz_model_step,
    rz_session_open,
    rz_session_free,
    rz_session_eval,
    rz_session_tokens,
    rz_session_rewind,
    rz_session_fork,
    rz_session_save,
    rz_session_load,
    rz_embed,
    rz_quantize,
    rz_model_profile,
    rz_device_ceilings,
};

}  // namespace

const rz_api *rz_get_api(uint32_t abi_version) { return abi_version == RZ_ABI_VERSION ? &kTable : nullptr; }
