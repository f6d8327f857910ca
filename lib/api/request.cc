#include "api/request.h"

#include "api/buffers.h"
#include "api/prompt.h"
#include "api/versioned.h"

namespace rz::api {

namespace {

static_assert(sizeof(rz_logprob) == sizeof(TokenLogprob) &&
              offsetof(rz_logprob, logprob) == offsetof(TokenLogprob, logprob));
static_assert(static_cast<int32_t>(Finish::Stop) == RZ_FINISH_STOP &&
              static_cast<int32_t>(Finish::Length) == RZ_FINISH_LENGTH &&
              static_cast<int32_t>(Finish::Callback) == RZ_FINISH_CALLBACK &&
              static_cast<int32_t>(Finish::Cancelled) == RZ_FINISH_CANCELLED &&
              static_cast<int32_t>(Finish::Deadline) == RZ_FINISH_DEADLINE &&
              static_cast<int32_t>(Finish::Error) == RZ_FINISH_ERROR);

template <class T>
T or_default(T value, T when_zero) {
  return value == T{} ? when_zero : value;
}

SamplingOptions sampling_of(const rz_generate_options &o) {
  SamplingOptions s;
  s.temperature = o.temperature;
  s.top_k = o.top_k;
  s.top_p = or_default(o.top_p, 1.0f);
  s.min_p = o.min_p;
  s.typical_p = or_default(o.typical_p, 1.0f);
  s.repeat_penalty = or_default(o.repeat_penalty, 1.0f);
  s.repeat_last_n = or_default(o.repeat_last_n, s.repeat_last_n);
  s.presence_penalty = o.presence_penalty;
  s.frequency_penalty = o.frequency_penalty;
  s.dry_multiplier = o.dry_multiplier;
  s.dry_base = or_default(o.dry_base, s.dry_base);
  s.dry_allowed_length = or_default(o.dry_allowed_length, s.dry_allowed_length);
  s.xtc_probability = o.xtc_probability;
  s.xtc_threshold = or_default(o.xtc_threshold, s.xtc_threshold);
  s.mirostat = o.mirostat;
  s.mirostat_tau = or_default(o.mirostat_tau, s.mirostat_tau);
  s.mirostat_eta = or_default(o.mirostat_eta, s.mirostat_eta);
  s.seed = o.seed;
  s.logprobs = o.logprobs;
  if (o.n_logit_bias > 0) need(o.logit_bias, "options.logit_bias");
  for (size_t i = 0; i < o.n_logit_bias; ++i)
    s.biases.push_back({o.logit_bias[i].token, o.logit_bias[i].bias});
  return s;
}

void check_supported(const rz_generate_options &o) {
  if (o.next) fail(Status::Argument, "options.next: expected NULL in this version");
  check_flags(
      o.flags,
      RZ_GENERATE_IGNORE_EOS | RZ_GENERATE_SPECIAL_TEXT | RZ_GENERATE_PREFILL_EVENTS | RZ_GENERATE_PROFILE,
      "options.flags");
  if (o.max_tokens < 0) fail(Status::Argument, "max_tokens: expected 0 or more, found %d", o.max_tokens);
  if (o.draft_tokens < 0)
    fail(Status::Argument, "draft_tokens: expected 0 or more, found %d", o.draft_tokens);
  if (o.grammar) fail(Status::Unsupported, "grammar: constrained generation is not supported");
  if (o.json_schema) fail(Status::Unsupported, "json_schema: constrained generation is not supported");
  if (o.draft || o.draft_tokens > 0)
    fail(Status::Unsupported, "draft: speculative decoding is not supported");
}

void copy_stops(const rz_model *model, const rz_generate_options &o, GenerateRequest &request) {
  check_tokens(model, o.stop_tokens, o.n_stop_tokens, "options.stop_tokens");
  request.stop_tokens.assign(o.stop_tokens, o.stop_tokens + o.n_stop_tokens);
  if (o.n_stop_strings > 0) {
    need(o.stop_strings, "options.stop_strings");
    tokenizer_of(model);
  }
  for (size_t i = 0; i < o.n_stop_strings; ++i) {
    request.stop_strings.emplace_back(
        text_argument(o.stop_strings[i].data, o.stop_strings[i].len, "options.stop_strings"));
  }
}

uint64_t microseconds(Clock::duration d) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

}  // namespace

std::unique_ptr<Generation> make_generation(rz_model *model, const rz_prompt *prompt,
                                            const rz_generate_options *given) {
  Engine &engine = engine_of(model);
  const rz_generate_options o = take_or_default(given, "options");
  check_supported(o);
  GenerateRequest request;
  request.sampling = sampling_of(o);
  request.sampling.check(engine.options().step.vocab);
  copy_stops(model, o, request);
  request.max_tokens = o.max_tokens;
  request.ignore_eos = (o.flags & RZ_GENERATE_IGNORE_EOS) != 0;
  request.special_text = (o.flags & RZ_GENERATE_SPECIAL_TEXT) != 0;
  request.prefill_events = (o.flags & RZ_GENERATE_PREFILL_EVENTS) != 0;
  request.profile = (o.flags & RZ_GENERATE_PROFILE) != 0;
  request.deadline_ms = o.deadline_ms;
  request.on_logits = o.on_logits;
  request.logits_user = o.logits_user;
  if (o.session) {
    if (o.session->model.get() != model)
      fail(Status::Argument, "options.session: it belongs to another model");
    request.session = o.session->session;
  }
  request.prompt = prompt_tokens(model, prompt, request.session && request.session->size() > 0);
  return std::make_unique<Generation>(engine, std::move(request));
}

rz_event to_event(const Event &event, uint32_t request) {
  rz_event out{};
  out.request = request;
  out.index = event.index;
  out.text = "";
  if (event.kind == EventKind::Prefill) {
    out.type = RZ_EVENT_PREFILL;
    out.token = -1;
    return out;
  }
  out.type = RZ_EVENT_TOKEN;
  out.token = event.token;
  out.logprob = event.logprob;
  out.text = event.text.c_str();
  out.text_len = event.text.size();
  out.top = reinterpret_cast<const rz_logprob *>(event.top.data());
  out.n_top = event.top.size();
  return out;
}

rz_event end_event(const Generation &generation, uint32_t request) {
  rz_event out{};
  out.type = RZ_EVENT_END;
  out.request = request;
  out.token = -1;
  out.text = generation.tail().c_str();
  out.text_len = generation.tail().size();
  out.finish = static_cast<int32_t>(generation.finish());
  return out;
}

rz_stats to_stats(const Generation &generation) {
  const GenerationStats stats = generation.stats();
  rz_stats out{};
  out.finish = static_cast<int32_t>(stats.finish);
  out.prompt_tokens = stats.prompt_tokens;
  out.cached_tokens = stats.cached_tokens;
  out.generated_tokens = stats.generated_tokens;
  out.queued_us = microseconds(stats.queued);
  out.first_token_us = microseconds(stats.first_token);
  out.prefill_us = microseconds(stats.prefill);
  out.decode_us = microseconds(stats.decode);
  out.total_us = microseconds(stats.total);
  return out;
}

}  // namespace rz::api
