/* Measures one case. Tokens are drawn at random from the vocabulary, the same ones for every run of the tool:
 * speed does not depend on what they say, and a mixture of experts sees all of its experts. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Numerical Recipes' linear congruential generator; the high bits choose. */
static void draw_tokens(uint32_t seed, int32_t vocabulary, int32_t *out, size_t n) {
  uint32_t state = seed * 2654435769u + 1;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    out[i] = (int32_t)((uint64_t)state * (uint64_t)vocabulary >> 32);
  }
}

typedef struct bench_run {
  rz_model *model;
  const bench_case *what;
  int32_t vocabulary;
  int32_t *tokens; /* width x (depth + length + 1) */
  float *logits;   /* (vocabulary) */
} bench_run;

/* ---- one timeline: a session at its depth ---- */

static rz_status read_prompt(bench_run *run, rz_session *session, double *seconds, rz_error *err) {
  const bench_case *what = run->what;
  const double start = now_seconds();
  const rz_status status =
      rz_session_eval(session, run->tokens + what->depth, (size_t)what->length, run->logits, 1, err);
  *seconds = now_seconds() - start;
  return status;
}

static rz_status decode_alone(bench_run *run, rz_session *session, double *seconds, rz_error *err) {
  const bench_case *what = run->what;
  rz_status status = RZ_OK;
  const double start = now_seconds();
  for (int32_t i = 0; status == RZ_OK && i < what->length && !interrupted(); ++i) {
    status = rz_session_eval(session, run->tokens + what->depth + i, 1, run->logits, 1, err);
  }
  *seconds = now_seconds() - start;
  return status;
}

static rz_status measure_session(bench_run *run, int repetitions, bench_result *out, rz_error *err) {
  const bench_case *what = run->what;
  rz_session *session = NULL;
  rz_status status = rz_session_open(run->model, NULL, &session, err);
  if (status == RZ_OK && what->depth > 0) {
    status = rz_session_eval(session, run->tokens, (size_t)what->depth, NULL, 0, err);
  }
  for (int i = -1; status == RZ_OK && i < repetitions && !interrupted(); ++i) {
    double seconds = 0;
    status = rz_session_rewind(session, (size_t)what->depth, err);
    if (status != RZ_OK) break;
    status = what->kind == BENCH_PROMPT ? read_prompt(run, session, &seconds, err)
                                        : decode_alone(run, session, &seconds, err);
    if (status == RZ_OK && i >= 0 && !interrupted()) out->tok_s[out->samples++] = what->length / seconds;
  }
  rz_session_free(session);
  return status;
}

/* ---- several timelines: a batch of generations ---- */

/* The clock runs from when the last timeline has written its first token: until then, prompts are being read.
 */
typedef struct batch_clock {
  int32_t width, started;
  double start, last;
  uint64_t counted; /* tokens since start */
} batch_clock;

static int32_t on_event(void *user, const rz_event *event) {
  batch_clock *clock = user;
  if (event->type != RZ_EVENT_TOKEN) return interrupted();
  if (event->index == 0 && ++clock->started == clock->width) {
    clock->start = now_seconds();
  } else if (clock->started == clock->width) {
    ++clock->counted;
    clock->last = now_seconds();
  }
  return interrupted();
}

static rz_status measure_batch(bench_run *run, int repetitions, bench_result *out, rz_error *err) {
  const bench_case *what = run->what;
  const size_t width = (size_t)what->width, prompt_length = (size_t)what->depth + 1;
  rz_prompt *prompts = calloc(width, sizeof *prompts);
  if (!prompts) return RZ_E_NOMEM;
  for (size_t i = 0; i < width; ++i) {
    prompts[i].struct_size = sizeof *prompts;
    prompts[i].tokens = run->tokens + i * prompt_length;
    prompts[i].n_tokens = prompt_length;
  }
  rz_generate_options options = RZ_INIT(rz_generate_options);
  options.flags = RZ_GENERATE_IGNORE_EOS;
  options.max_tokens = what->length + 1;
  rz_status status = RZ_OK;
  for (int i = -1; status == RZ_OK && i < repetitions && !interrupted(); ++i) {
    batch_clock clock = {.width = what->width};
    status = rz_generate_batch(run->model, prompts, width, &options, on_event, &clock, NULL, err);
    if (status == RZ_OK && i >= 0 && clock.counted && !interrupted()) {
      out->tok_s[out->samples++] = (double)clock.counted / (clock.last - clock.start);
    }
  }
  free(prompts);
  return status;
}

/* ---- both ---- */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void summarize(bench_result *out) {
  const int n = out->samples;
  if (n == 0) return;
  qsort(out->tok_s, (size_t)n, sizeof *out->tok_s, by_value);
  out->median = (out->tok_s[(n - 1) / 2] + out->tok_s[n / 2]) / 2;
  out->spread = (out->tok_s[n - 1] - out->tok_s[0]) / out->median;
}

rz_status bench_measure(rz_model *model, const bench_case *what, int repetitions, bench_result *out,
                        rz_error *err) {
  rz_model_info info = RZ_INIT(rz_model_info);
  rz_status status = rz_model_get_info(model, &info, err);
  if (status != RZ_OK) return status;
  const size_t n_tokens = (size_t)what->width * ((size_t)what->depth + (size_t)what->length + 1);
  bench_run run = {.model = model,
                   .what = what,
                   .vocabulary = info.vocabulary,
                   .tokens = malloc(n_tokens * sizeof(int32_t)),
                   .logits = malloc((size_t)info.vocabulary * sizeof(float))};
  memset(out, 0, sizeof *out);
  out->what = *what;
  status = RZ_E_NOMEM;
  if (run.tokens && run.logits) {
    draw_tokens(1, info.vocabulary, run.tokens, n_tokens);
    status = what->width == 1 ? measure_session(&run, repetitions, out, err)
                              : measure_batch(&run, repetitions, out, err);
  }
  free(run.tokens);
  free(run.logits);
  summarize(out);
  return status;
}
