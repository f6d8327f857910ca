// One function a family, each in the file of its name. arch.cc lists them.
#pragma once

#include "model/arch.h"

namespace rz {

void build_llama(ArchContext &context);
void build_qwen2(ArchContext &context);
void build_qwen3(ArchContext &context);
void build_qwen3moe(ArchContext &context);
void build_gemma2(ArchContext &context);
void build_gemma3(ArchContext &context);
void build_phi3(ArchContext &context);
void build_gpt2(ArchContext &context);
void build_starcoder2(ArchContext &context);

}  // namespace rz
