/* Measures one case. Tokens are drawn at random from the vocabulary, the same ones for every run of the tool:
 * speed does not depend on what they say, and a mixture of experts sees all of its experts. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct bench_timelines {
  rz_model *model;
  int32_t depth, length, vocabulary;
  int n;                  /* timelines there are */
  rz_session **sessions;  /* (n), each at its depth or beyond: rewound before it is used */
  int32_t *tokens;        /* (depth + length) of the first timeline */
  float *logits;          /* (vocabulary) */
  rz_generation **active; /* (n) */
};

/* Numerical Recipes' linear congruential generator; the high bits choose. */
static void draw_tokens(uint32_t seed, int32_t vocabulary, int32_t *out, size_t n) {
  uint32_t state = seed * 2654435769u + 1;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    out[i] = (int32_t)((uint64_t)state * (uint64_t)vocabulary >> 32);
  }
}

static rz_status out_of_memory(rz_error *err) {
  err->code = RZ_E_NOMEM;
  snprintf(err->message, sizeof err->message, "bench: out of memory");
  return RZ_E_NOMEM;
}

rz_status bench_timelines_open(rz_model *model, int32_t depth, int32_t length, bench_timelines **out,
                               rz_error *err) {
  rz_model_info info = RZ_INIT(rz_model_info);
  const rz_status status = rz_model_get_info(model, &info, err);
  if (status != RZ_OK) return status;
  bench_timelines *t = calloc(1, sizeof *t);
  if (!t) return out_of_memory(err);
  t->model = model;
  t->depth = depth;
  t->length = length;
  t->vocabulary = info.vocabulary;
  t->tokens = malloc(((size_t)depth + (size_t)length) * sizeof *t->tokens);
  t->logits = malloc((size_t)info.vocabulary * sizeof *t->logits);
  if (!t->tokens || !t->logits) {
    bench_timelines_free(t);
    return out_of_memory(err);
  }
  draw_tokens(1, t->vocabulary, t->tokens, (size_t)depth + (size_t)length);
  *out = t;
  return RZ_OK;
}

void bench_timelines_free(bench_timelines *t) {
  if (!t) return;
  for (int i = 0; i < t->n; ++i) rz_session_free(t->sessions[i]);
  free(t->sessions);
  free(t->active);
  free(t->tokens);
  free(t->logits);
  free(t);
}

/* Timeline i, with tokens of its own: equal ones would share what the caches hold. */
static rz_status add_timeline(bench_timelines *t, int i, rz_error *err) {
  int32_t *tokens = malloc(((size_t)t->depth + 1) * sizeof *tokens);
  if (!tokens) return out_of_memory(err);
  rz_status status = rz_session_open(t->model, NULL, &t->sessions[i], err);
  if (status == RZ_OK) {
    t->n = i + 1;
    draw_tokens((uint32_t)i + 1, t->vocabulary, tokens, (size_t)t->depth);
    status = rz_session_eval(t->sessions[i], tokens, (size_t)t->depth, NULL, 0, err);
  }
  free(tokens);
  return status;
}

/* The first `width` timelines, at their depth. */
static rz_status rewind_timelines(bench_timelines *t, int32_t width, rz_error *err) {
  if (width > t->n) {
    rz_session **sessions = realloc(t->sessions, (size_t)width * sizeof *sessions);
    if (sessions) t->sessions = sessions;
    rz_generation **active = realloc(t->active, (size_t)width * sizeof *active);
    if (active) t->active = active;
    if (!sessions || !active) return out_of_memory(err);
  }
  rz_status status = RZ_OK;
  while (status == RZ_OK && t->n < width && !interrupted()) status = add_timeline(t, t->n, err);
  for (int i = 0; status == RZ_OK && i < width && i < t->n; ++i) {
    status = rz_session_rewind(t->sessions[i], (size_t)t->depth, err);
  }
  return status;
}

/* ---- one run ---- */

static rz_status read_prompt(bench_timelines *t, const bench_case *what, double *seconds, rz_error *err) {
  const double start = now_seconds();
  const rz_status status =
      rz_session_eval(t->sessions[0], t->tokens + t->depth, (size_t)what->length, t->logits, 1, err);
  *seconds = now_seconds() - start;
  return status;
}

static rz_status decode_alone(bench_timelines *t, const bench_case *what, double *seconds, rz_error *err) {
  rz_status status = RZ_OK;
  const double start = now_seconds();
  for (int32_t i = 0; status == RZ_OK && i < what->length && !interrupted(); ++i) {
    status = rz_session_eval(t->sessions[0], t->tokens + t->depth + i, 1, t->logits, 1, err);
  }
  *seconds = now_seconds() - start;
  return status;
}

/* Every generation's next token: the first one that is asked for makes those of all. */
static rz_status take_tokens(bench_timelines *t, int n, rz_error *err) {
  rz_status status = RZ_OK;
  rz_event event = RZ_INIT(rz_event);
  for (int i = 0; status == RZ_OK && i < n; ++i) status = rz_generation_next(t->active[i], -1, &event, err);
  return status;
}

/* Starts to continue timeline i by a prompt of `prompt` tokens and to write `tokens`. */
static rz_status start_timeline(bench_timelines *t, int i, int32_t prompt, int32_t tokens, uint32_t flags,
                                rz_error *err) {
  rz_generate_options options = RZ_INIT(rz_generate_options);
  rz_prompt text = RZ_INIT(rz_prompt);
  options.flags = RZ_GENERATE_IGNORE_EOS | flags;
  options.max_tokens = tokens;
  options.session = t->sessions[i];
  text.n_tokens = (size_t)prompt;
  /* One token of a prompt, another one for each timeline; or the prompt of the first. */
  text.tokens = t->tokens + (prompt > 1 ? t->depth : (t->depth + i) % (t->depth + t->length));
  return rz_generation_start(t->model, &text, &options, &t->active[i], err);
}

/* All timelines: as many steps as tokens, each with all of them, the first one at their depth. */
static rz_status generate(bench_timelines *t, int32_t width, int32_t prompt, int32_t tokens, uint32_t flags,
                          double *seconds, rz_error *err) {
  rz_status status = RZ_OK;
  int n = 0;
  for (; status == RZ_OK && n < width; n += status == RZ_OK) {
    status = start_timeline(t, n, prompt, tokens, flags, err);
  }
  const double start = now_seconds();
  for (int32_t i = 0; status == RZ_OK && i < tokens && !interrupted(); ++i) status = take_tokens(t, n, err);
  *seconds = now_seconds() - start;
  for (int i = 0; i < n; ++i) rz_generation_free(t->active[i]);
  return status;
}

/* By the generation's own clock, which starts with the request. */
static rz_status first_token(bench_timelines *t, const bench_case *what, double *ms, rz_error *err) {
  rz_stats stats = RZ_INIT(rz_stats);
  rz_status status = start_timeline(t, 0, what->length, 1, 0, err);
  if (status != RZ_OK) return status;
  status = take_tokens(t, 1, err);
  if (status == RZ_OK) status = rz_generation_get_stats(t->active[0], &stats, err);
  rz_generation_free(t->active[0]);
  *ms = (double)stats.first_token_us / 1e3;
  return status;
}

/* ---- both uses of a run ---- */

/* A session's own calls where there is one timeline. Several go through generations: only those compute
 * together. */
rz_status bench_time(bench_timelines *t, const bench_case *what, double *figure, rz_error *err) {
  double seconds = 0;
  rz_status status = rewind_timelines(t, what->width, err);
  if (status != RZ_OK || interrupted()) return status;
  if (what->kind == BENCH_FIRST) return first_token(t, what, figure, err);
  if (what->kind == BENCH_PROMPT) {
    status = read_prompt(t, what, &seconds, err);
  } else if (what->width == 1) {
    status = decode_alone(t, what, &seconds, err);
  } else {
    status = generate(t, what->width, 1, what->length, 0, &seconds, err);
  }
  *figure = (double)what->length * what->width / seconds;
  return status;
}

/* Of all ops until now. */
static rz_status profiled(bench_timelines *t, double *bytes, double *operations, rz_error *err) {
  rz_profile_entry entries[64];
  size_t count = 0;
  entries[0].struct_size = sizeof *entries;
  const rz_status status = rz_model_profile(t->model, entries, sizeof entries / sizeof *entries, &count, err);
  *bytes = *operations = 0;
  for (size_t i = 0; status == RZ_OK && i < count; ++i) {
    *bytes += (double)entries[i].bytes;
    *operations += (double)entries[i].flops;
  }
  return status;
}

/* A generation is profiled, a session's call is not. One in a session at its depth does the steps of the case
 * and no others. */
rz_status bench_count(bench_timelines *t, const bench_case *what, bench_result *out, rz_error *err) {
  const bool prompt = what->kind != BENCH_DECODE;
  double bytes, operations, bytes_before, operations_before, seconds;
  rz_status status = rewind_timelines(t, what->width, err);
  if (status != RZ_OK || interrupted()) return status;
  status = profiled(t, &bytes_before, &operations_before, err);
  if (status == RZ_OK) {
    status = generate(t, what->width, prompt ? what->length : 1, prompt ? 1 : what->length,
                      RZ_GENERATE_PROFILE, &seconds, err);
  }
  if (status == RZ_OK) status = profiled(t, &bytes, &operations, err);
  if (status != RZ_OK) return status;
  const double tokens = (double)what->length * what->width;
  out->bytes_per_token = (bytes - bytes_before) / tokens;
  out->operations_per_token = (operations - operations_before) / tokens;
  return RZ_OK;
}

/* ---- samples ---- */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

double bench_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void bench_summarize(bench_samples *s) {
  if (s->n == 0) return;
  s->median = bench_median(s->figures, s->n);
  s->spread = (s->figures[s->n - 1] - s->figures[0]) / s->median;
}
