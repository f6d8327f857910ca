/* rz perplexity: how surprised a model is by a text, exp of the mean of -log p(token). The text is cut into
 * windows; in each, only tokens with enough text before them count. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { DEFAULT_WINDOW = 512, LOGIT_ROWS = 32 /* asked for at a time: at 152,000 tokens, 19 MB */ };

typedef struct perplexity_arguments {
  model_arguments model;
  int32_t window; /* tokens, 0 = the smaller of DEFAULT_WINDOW and the context */
  int32_t skip;   /* tokens of each window that do not count; -1 = half */
  bool json;
} perplexity_arguments;

typedef struct score {
  double sum, sum_of_squares; /* of -log p */
  size_t count;
} score;

/* -log softmax(logits)[token] */
static double surprise(const float *logits, int32_t n, int32_t token) {
  float top = logits[0];
  for (int32_t i = 1; i < n; ++i) top = logits[i] > top ? logits[i] : top;
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += exp((double)(logits[i] - top));
  return log(sum) - (double)(logits[token] - top);
}

/* Scores ids[skip, n): each is predicted from all before it in the window. `logits`: (LOGIT_ROWS,
 * vocabulary). */
static rz_status score_window(rz_session *session, const int32_t *ids, size_t n, size_t skip,
                              int32_t vocabulary, float *logits, score *out, rz_error *err) {
  rz_status status = rz_session_rewind(session, 0, err);
  if (status == RZ_OK && skip > 1) status = rz_session_eval(session, ids, skip - 1, NULL, 0, err);
  for (size_t at = skip - 1; status == RZ_OK && at + 1 < n;) {
    const size_t rows = n - 1 - at < LOGIT_ROWS ? n - 1 - at : LOGIT_ROWS;
    status = rz_session_eval(session, ids + at, rows, logits, rows, err);
    for (size_t i = 0; status == RZ_OK && i < rows; ++i) {
      const double s = surprise(logits + i * (size_t)vocabulary, vocabulary, ids[at + i + 1]);
      out->sum += s;
      out->sum_of_squares += s * s;
      ++out->count;
    }
    at += rows;
  }
  return status;
}

static void print_score(const score *s, const perplexity_arguments *a, size_t window, size_t windows) {
  const double n = (double)s->count, mean = s->sum / n;
  const double deviation = n > 1 ? sqrt(fmax(0, (s->sum_of_squares / n - mean * mean) / (n - 1))) : 0;
  const double perplexity = exp(mean);
  if (a->json) {
    printf("{\"perplexity\":%.6f,\"error\":%.6f,\"tokens\":%zu,\"window\":%zu,\"windows\":%zu}\n", perplexity,
           perplexity * deviation, s->count, window, windows);
  } else {
    printf("perplexity %.4f +- %.4f (%zu tokens, windows: %zu of %zu)\n", perplexity, perplexity * deviation,
           s->count, windows, window);
  }
}

static int score_text(rz_model *model, const perplexity_arguments *a, const token_buffer *tokens) {
  static char label[] = "reading";
  rz_error err = RZ_INIT(rz_error);
  rz_model_info info = RZ_INIT(rz_model_info);
  if (rz_model_get_info(model, &info, &err) != RZ_OK) return fail(&err);
  size_t window = a->window ? (size_t)a->window : DEFAULT_WINDOW;
  if (!a->window && info.context_length < DEFAULT_WINDOW) window = (size_t)info.context_length;
  /* A text shorter than two windows is one window, scored from its second token on. */
  const bool one = tokens->count < 2 * window;
  if (one && tokens->count < window) window = tokens->count;
  const size_t skip = a->skip >= 0 ? (size_t)a->skip : one ? 1 : window / 2;
  if (window < 2 || skip + 1 > window) return fail_text("perplexity", "the text or the window is too short");

  rz_session *session = NULL;
  float *logits = malloc((size_t)LOGIT_ROWS * (size_t)info.vocabulary * sizeof *logits);
  if (!logits) return fail_text("logits", "out of memory");
  rz_status status = rz_session_open(model, NULL, &session, &err);
  const size_t windows = tokens->count / window;
  /* A model whose texts begin with a start token sees one at the front of each window. */
  const bool starts = tokens->ids[0] == info.bos_token;
  score total = {0, 0, 0};
  for (size_t w = 0; status == RZ_OK && w < windows && !interrupted(); ++w) {
    int32_t *ids = tokens->ids + w * window; /* (window) */
    if (starts) ids[0] = info.bos_token;
    status = score_window(session, ids, window, skip ? skip : 1, info.vocabulary, logits, &total, &err);
    show_progress(label, (float)(w + 1) / (float)windows);
  }
  clear_progress();
  if (status == RZ_OK && total.count) print_score(&total, a, window, windows);
  rz_session_free(session);
  free(logits);
  return status != RZ_OK ? fail(&err) : interrupted() ? 130 : 0;
}

static int perplexity(perplexity_arguments *a, const char *file) {
  text_buffer text = {NULL, 0};
  token_buffer tokens = {NULL, 0};
  if (!read_text_file(file, &text)) return 1;
  catch_interrupts();
  rz_model *model = load_model(&a->model);
  const bool ready = model && tokenize_text(model, text.data, text.length, 0, &tokens);
  const int result = ready ? score_text(model, a, &tokens) : 1;
  rz_model_release(model);
  free(tokens.ids);
  free(text.data);
  return result;
}

static int run(const command *self, int argc, char **argv) {
  perplexity_arguments a;
  memset(&a, 0, sizeof a);
  a.skip = -1;
  model_arguments_init(&a.model);
  option model_rows[MODEL_OPTION_ROWS + 1];
  model_option_table(&a.model, model_rows);
  const option rows[] = {
      {"window", 'w', OPTION_INT, &a.window, "N", "tokens read together; default: 512, or the context", 0,
       NULL},
      {"skip", 0, OPTION_INT, &a.skip, "N", "of each window, do not count so many; default: half", 0, NULL},
      {"json", 0, OPTION_FLAG, &a.json, NULL, "as one JSON object", 0, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option *const tables[] = {rows, model_rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc < 1 || argc > 2) return usage_error(self, "expected a model and a text file");
  if (a.window < 0) return usage_error(self, "--window: expected 2 or more");
  if (argc == 2) a.model.path = argv[0];
  return perplexity(&a, argv[argc - 1]);
}

const command perplexity_command = {
    "perplexity", "[MODEL] FILE [options]", "how surprised a model is by a text",
    "exp of the mean of -log p(token) over the second half of each window, so that every token that\n"
    "counts has at least half a window before it. FILE - is standard input.",
    run};
