/* rz run: writes on from a prompt, token by token, and says how fast. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { MAX_STOPS = 16, MAX_BIASES = 64, POLL_MS = 50 };

typedef struct run_arguments {
  model_arguments model;
  rz_generate_options options;
  const char *prompt, *prompt_file;
  bool quiet, json, no_echo, no_bos, parse_special;
  bool seeded;
  rz_span stops[MAX_STOPS];
  rz_logit_bias biases[MAX_BIASES];
} run_arguments;

static bool take_stop(void *target, const char *text) {
  run_arguments *a = target;
  if (a->options.n_stop_strings == MAX_STOPS) return false;
  const rz_span stop = {.data = text, .len = strlen(text)};
  a->stops[a->options.n_stop_strings++] = stop;
  return true;
}

/* "ID=BIAS" or "ID=-inf" */
static bool take_bias(void *target, const char *text) {
  run_arguments *a = target;
  char *end;
  if (a->options.n_logit_bias == MAX_BIASES) return false;
  const long token = strtol(text, &end, 10);
  if (end == text || *end != '=' || token < 0 || token > INT32_MAX) return false;
  const char *number = end + 1;
  const float bias = strtof(number, &end);
  if (end == number || *end || isnan(bias)) return false;
  const rz_logit_bias row = {.token = (int32_t)token, .bias = bias};
  a->biases[a->options.n_logit_bias++] = row;
  return true;
}

static bool take_seed(void *target, const char *text) {
  run_arguments *a = target;
  char *end;
  a->options.seed = strtoull(text, &end, 10);
  a->seeded = true;
  return end != text && !*end && *text != '-';
}

/* ---- what the events become ---- */

static void print_json_token(const rz_event *event) {
  printf("{\"index\":%u,\"token\":%d,\"logprob\":%.6f,\"text\":", event->index, (int)event->token,
         (double)event->logprob);
  json_string(stdout, event->text, event->text_len);
  if (event->n_top) {
    fputs(",\"top\":[", stdout);
    for (size_t i = 0; i < event->n_top; ++i) {
      printf("%s{\"token\":%d,\"logprob\":%.6f}", i ? "," : "", (int)event->top[i].token,
             (double)event->top[i].logprob);
    }
    fputc(']', stdout);
  }
  fputs("}\n", stdout);
}

static double per_second(double count, uint64_t us) { return us ? count * 1e6 / (double)us : 0; }

typedef struct speeds {
  double prompt, decode; /* tok/s */
} speeds;

/* The first token comes out of the prompt's last row, so decoding wrote one less. */
static speeds speeds_of(const rz_stats *s) {
  const uint32_t steps = s->generated_tokens ? s->generated_tokens - 1 : 0;
  const speeds result = {.prompt = per_second(s->prompt_tokens - s->cached_tokens, s->prefill_us),
                         .decode = per_second(steps, s->decode_us)};
  return result;
}

static void print_json_end(const rz_event *end, const rz_stats *s, uint64_t seed) {
  const speeds speed = speeds_of(s);
  printf("{\"finish\":\"%s\",\"text\":", finish_name(s->finish));
  json_string(stdout, end->text, end->text_len);
  printf(
      ",\"prompt_tokens\":%u,\"cached_tokens\":%u,\"generated_tokens\":%u,\"prompt_tok_s\":%.2f,"
      "\"decode_tok_s\":%.2f,\"first_token_ms\":%.2f,\"total_ms\":%.2f,\"seed\":%llu}\n",
      s->prompt_tokens, s->cached_tokens, s->generated_tokens, speed.prompt, speed.decode,
      (double)s->first_token_us / 1e3, (double)s->total_us / 1e3, (unsigned long long)seed);
}

static void print_last_line(const rz_stats *s, uint64_t seed) {
  const speeds speed = speeds_of(s);
  fprintf(
      stderr,
      "\n[prompt %u tokens, %.1f tok/s | written %u, %.1f tok/s | first after %.1f ms | %s | seed %llu]\n",
      s->prompt_tokens, speed.prompt, s->generated_tokens, speed.decode, (double)s->first_token_us / 1e3,
      finish_name(s->finish), (unsigned long long)seed);
}

/* Pulls events with a short wait, so that Ctrl-C is seen even while a long prompt is read. */
static int follow(rz_generation *generation, const run_arguments *a) {
  rz_error err = RZ_INIT(rz_error);
  bool cancelled = false;
  for (;;) {
    rz_event event = RZ_INIT(rz_event);
    const rz_status status = rz_generation_next(generation, POLL_MS, &event, &err);
    if (interrupted() && !cancelled) {
      rz_generation_cancel(generation);
      cancelled = true;
    }
    if (status == RZ_E_TIMEOUT) continue;
    if (status != RZ_OK) return fail(&err);
    if (!a->json) {
      fwrite(event.text, 1, event.text_len, stdout);
    } else if (event.type == RZ_EVENT_TOKEN) {
      print_json_token(&event);
    }
    if (event.type != RZ_EVENT_END) {
      fflush(stdout);
      continue;
    }
    rz_stats stats = RZ_INIT(rz_stats);
    if (rz_generation_get_stats(generation, &stats, &err) != RZ_OK) return fail(&err);
    if (a->json) print_json_end(&event, &stats, a->options.seed);
    if (!a->json) fputc('\n', stdout);
    fflush(stdout);
    if (!a->quiet && !a->json) print_last_line(&stats, a->options.seed);
    return cancelled ? 130 : 0;
  }
}

static int generate(rz_model *model, const run_arguments *a, const text_buffer *text) {
  rz_error err = RZ_INIT(rz_error);
  rz_prompt prompt = RZ_INIT(rz_prompt);
  prompt.text = text->data;
  prompt.text_len = text->length;
  if (a->no_bos) prompt.flags |= RZ_TOKENIZE_NO_BOS;
  if (a->parse_special) prompt.flags |= RZ_TOKENIZE_PARSE_SPECIAL;
  rz_generation *generation = NULL;
  if (rz_generation_start(model, &prompt, &a->options, &generation, &err) != RZ_OK) return fail(&err);
  if (!a->json && !a->no_echo) {
    fwrite(text->data, 1, text->length, stdout);
    fflush(stdout);
  }
  const int result = follow(generation, a);
  rz_generation_free(generation);
  return result;
}

static bool read_prompt(const command *self, const run_arguments *a, text_buffer *out) {
  if (a->prompt && a->prompt_file) {
    usage_error(self, "expected --prompt or --file, found both");
    return false;
  }
  if (a->prompt_file) return read_text_file(a->prompt_file, out);
  if (!a->prompt && !isatty(STDIN_FILENO)) return read_text_file("-", out);
  const char *text = a->prompt ? a->prompt : "";
  out->length = strlen(text);
  out->data = malloc(out->length + 1);
  if (out->data) memcpy(out->data, text, out->length + 1);
  return out->data != NULL;
}

/* ---- options ---- */

static parse_result parse(const command *self, run_arguments *a, int *argc, char **argv) {
  option model_rows[MODEL_OPTION_ROWS + 1];
  model_option_table(&a->model, model_rows);
  rz_generate_options *o = &a->options;
  const option text_rows[] = {
      {"prompt", 'p', OPTION_TEXT, &a->prompt, "TEXT", "default: standard input", 0, NULL},
      {"file", 'f', OPTION_TEXT, &a->prompt_file, "FILE", "prompt from a file; - is standard input", 0, NULL},
      {"tokens", 'n', OPTION_INT, &o->max_tokens, "N",
       "at most so many; 0 = until the context is full; default: 256", 0, NULL},
      {"stop", 0, OPTION_TEXT, a, "TEXT", "end before this text; may be given again", 0, take_stop},
      {"deadline", 0, OPTION_U32, &o->deadline_ms, "MS", "end after so many milliseconds", 0, NULL},
      {"ignore-eos", 0, OPTION_BITS, &o->flags, NULL, "write on past the model's stop token",
       RZ_GENERATE_IGNORE_EOS, NULL},
      {"special", 0, OPTION_BITS, &o->flags, NULL, "show control tokens as text", RZ_GENERATE_SPECIAL_TEXT,
       NULL},
      {"parse-special", 0, OPTION_FLAG, &a->parse_special, NULL,
       "control tokens named in the prompt count as such", 0, NULL},
      {"no-bos", 0, OPTION_FLAG, &a->no_bos, NULL, "no start token before the prompt", 0, NULL},
      {"no-echo", 0, OPTION_FLAG, &a->no_echo, NULL, "do not repeat the prompt", 0, NULL},
      {"json", 0, OPTION_FLAG, &a->json, NULL, "one JSON object per token, then one with the figures", 0,
       NULL},
      {"logprobs", 0, OPTION_INT, &o->logprobs, "N", "with --json: the N most probable tokens", 0, NULL},
      {"quiet", 'q', OPTION_FLAG, &a->quiet, NULL, "no last line", 0, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option sampling_rows[] = {
      {"temp", 0, OPTION_FLOAT, &o->temperature, "X", "0 = always the most probable token; default: 0.8", 0,
       NULL},
      {"top-k", 0, OPTION_INT, &o->top_k, "N", "only the N most probable; 0 = off (default)", 0, NULL},
      {"top-p", 0, OPTION_FLOAT, &o->top_p, "X", "only those that make up this probability; default: 0.95", 0,
       NULL},
      {"min-p", 0, OPTION_FLOAT, &o->min_p, "X", "only those this close to the best; 0 = off (default)", 0,
       NULL},
      {"typical-p", 0, OPTION_FLOAT, &o->typical_p, "X", "only those of typical surprise; 0 = off (default)",
       0, NULL},
      {"repeat-penalty", 0, OPTION_FLOAT, &o->repeat_penalty, "X",
       "divide what was said lately; 1 = off (default)", 0, NULL},
      {"repeat-last-n", 0, OPTION_INT, &o->repeat_last_n, "N",
       "how far back penalties look; -1 = all; default: 64", 0, NULL},
      {"presence-penalty", 0, OPTION_FLOAT, &o->presence_penalty, "X", "subtract once from what was said", 0,
       NULL},
      {"frequency-penalty", 0, OPTION_FLOAT, &o->frequency_penalty, "X", "subtract each time it was said", 0,
       NULL},
      {"dry-multiplier", 0, OPTION_FLOAT, &o->dry_multiplier, "X",
       "against repeated sequences; 0 = off (default)", 0, NULL},
      {"dry-base", 0, OPTION_FLOAT, &o->dry_base, "X", "growth with their length; default: 1.75", 0, NULL},
      {"dry-allowed-length", 0, OPTION_INT, &o->dry_allowed_length, "N", "length left alone; default: 2", 0,
       NULL},
      {"xtc-probability", 0, OPTION_FLOAT, &o->xtc_probability, "X",
       "chance to drop the top choices; 0 = off", 0, NULL},
      {"xtc-threshold", 0, OPTION_FLOAT, &o->xtc_threshold, "X", "those above it, but the last; default: 0.1",
       0, NULL},
      {"mirostat", 0, OPTION_INT, &o->mirostat, "N", "1 or 2: hold the surprise level; 0 = off (default)", 0,
       NULL},
      {"mirostat-tau", 0, OPTION_FLOAT, &o->mirostat_tau, "X", "that level; default: 5", 0, NULL},
      {"mirostat-eta", 0, OPTION_FLOAT, &o->mirostat_eta, "X", "how fast it is held; default: 0.1", 0, NULL},
      {"bias", 0, OPTION_TEXT, a, "ID=X", "add X to a token's logit; may be given again", 0, take_bias},
      {"seed", 's', OPTION_U64, a, "N", "the same seed draws the same text; default: from the clock", 0,
       take_seed},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option *const tables[] = {text_rows, sampling_rows, model_rows, NULL};
  return parse_options(self, tables, argc, argv);
}

static int run(const command *self, int argc, char **argv) {
  run_arguments a;
  memset(&a, 0, sizeof a);
  model_arguments_init(&a.model);
  const rz_generate_options defaults = RZ_INIT(rz_generate_options);
  a.options = defaults;
  a.options.max_tokens = 256;
  a.options.temperature = 0.8f;
  a.options.top_p = 0.95f;
  const parse_result parsed = parse(self, &a, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc > 1) return usage_error(self, "expected at most one model");
  if (argc == 1) a.model.path = argv[0];
  if (!a.seeded) a.options.seed = (uint64_t)time(NULL);
  a.options.stop_strings = a.stops;
  a.options.logit_bias = a.biases;

  text_buffer text = {NULL, 0};
  if (!read_prompt(self, &a, &text)) return 2;
  catch_interrupts();
  rz_model *model = load_model(&a.model);
  const int result = model ? generate(model, &a, &text) : 1;
  rz_model_release(model);
  free(text.data);
  return result;
}

const command run_command = {"run", "[MODEL] [-p TEXT] [options]", "write on from a prompt",
                             "Without MODEL, the story model that comes with librz speaks. Ctrl-C ends the "
                             "text, a second one the program.",
                             run};
