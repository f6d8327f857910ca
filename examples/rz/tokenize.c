/* rz tokenize: a text as token ids and pieces, or ids as text. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct tokenize_arguments {
  model_arguments model;
  const char *file;
  uint32_t flags;
  bool ids_only, count_only, decode;
} tokenize_arguments;

static int print_tokens(const rz_model *model, const tokenize_arguments *a, const token_buffer *tokens) {
  rz_error err = RZ_INIT(rz_error);
  if (a->count_only) {
    printf("%zu\n", tokens->count);
    return 0;
  }
  for (size_t i = 0; i < tokens->count; ++i) {
    if (a->ids_only) {
      printf("%s%d", i ? " " : "", (int)tokens->ids[i]);
      continue;
    }
    const char *piece;
    size_t length;
    if (rz_token_piece(model, tokens->ids[i], &piece, &length, &err) != RZ_OK) return fail(&err);
    printf("%7d  ", (int)tokens->ids[i]);
    json_string(stdout, piece, length);
    fputc('\n', stdout);
  }
  if (a->ids_only) fputc('\n', stdout);
  return 0;
}

static int print_text(const rz_model *model, const tokenize_arguments *a, const token_buffer *tokens) {
  rz_error err = RZ_INIT(rz_error);
  const uint32_t flags = a->flags & RZ_TOKENIZE_PARSE_SPECIAL ? RZ_DETOKENIZE_SPECIAL : 0;
  size_t length = 0;
  rz_status status = rz_detokenize(model, tokens->ids, tokens->count, flags, NULL, 0, &length, &err);
  char *text = malloc(length + 1);
  if (!text) return fail_text("text", "out of memory");
  if (status == RZ_E_BUFFER) {
    status = rz_detokenize(model, tokens->ids, tokens->count, flags, text, length, &length, &err);
  }
  if (status == RZ_OK) {
    fwrite(text, 1, length, stdout);
    fputc('\n', stdout);
  }
  free(text);
  return status == RZ_OK ? 0 : fail(&err);
}

/* Ids separated by blanks or commas. */
static bool read_ids(const text_buffer *text, token_buffer *out) {
  out->count = 0;
  out->ids = malloc((text->length + 1) * sizeof *out->ids);
  char *copy = malloc(text->length + 1);
  bool ok = out->ids && copy;
  if (ok) {
    memcpy(copy, text->data, text->length);
    copy[text->length] = 0;
    for (char *word = strtok(copy, " ,\t\r\n"); ok && word; word = strtok(NULL, " ,\t\r\n")) {
      char *end;
      const long id = strtol(word, &end, 10);
      ok = !*end && id >= 0 && id <= INT32_MAX;
      if (ok) out->ids[out->count++] = (int32_t)id;
      if (!ok) fail_text(word, "expected a token id");
    }
  }
  free(copy);
  return ok;
}

static int convert(const rz_model *model, const tokenize_arguments *a, const text_buffer *text) {
  token_buffer tokens = {NULL, 0};
  int result = 1;
  if (a->decode) {
    if (read_ids(text, &tokens)) result = print_text(model, a, &tokens);
  } else if (tokenize_text(model, text->data, text->length, a->flags, &tokens)) {
    result = print_tokens(model, a, &tokens);
  }
  free(tokens.ids);
  return result;
}

/* The words of the command line with single blanks between them. */
static bool join(int n_words, char **words, text_buffer *out) {
  size_t length = 0;
  for (int i = 0; i < n_words; ++i) length += strlen(words[i]) + 1;
  out->data = malloc(length + 1);
  if (!out->data) return false;
  out->data[0] = 0;
  for (int i = 0; i < n_words; ++i) {
    if (i) strcat(out->data, " ");
    strcat(out->data, words[i]);
  }
  out->length = strlen(out->data);
  return true;
}

static int tokenize(const command *self, tokenize_arguments *a, int n_words, char **words) {
  if (n_words && !a->model.path && is_model_path(words[0])) {
    a->model.path = words[0];
    ++words;
    --n_words;
  }
  if (a->file && n_words) return usage_error(self, "expected a text or --file, found both");
  text_buffer text = {NULL, 0};
  const bool read = n_words ? join(n_words, words, &text) : read_text_file(a->file ? a->file : "-", &text);
  a->model.options.flags |= RZ_MODEL_VOCAB_ONLY;
  rz_model *model = read ? load_model(&a->model) : NULL;
  const int result = model ? convert(model, a, &text) : 1;
  rz_model_release(model);
  free(text.data);
  return result;
}

static int run(const command *self, int argc, char **argv) {
  tokenize_arguments a;
  memset(&a, 0, sizeof a);
  model_arguments_init(&a.model);
  const option rows[] = {
      {"model", 'm', OPTION_TEXT, &a.model.path, "FILE", "GGUF file; default: the story model", 0, NULL},
      {"file", 'f', OPTION_TEXT, &a.file, "FILE", "text from a file; - is standard input", 0, NULL},
      {"ids", 0, OPTION_FLAG, &a.ids_only, NULL, "the ids alone, on one line", 0, NULL},
      {"count", 0, OPTION_FLAG, &a.count_only, NULL, "their number alone", 0, NULL},
      {"decode", 'd', OPTION_FLAG, &a.decode, NULL, "the other way: ids to text", 0, NULL},
      {"no-bos", 0, OPTION_BITS, &a.flags, NULL, "no start token", RZ_TOKENIZE_NO_BOS, NULL},
      {"special", 0, OPTION_BITS, &a.flags, NULL, "control tokens named in the text count as such",
       RZ_TOKENIZE_PARSE_SPECIAL, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option *const tables[] = {rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  return parsed == PARSE_OK ? tokenize(self, &a, argc, argv) : (int)parsed;
}

const command tokenize_command = {"tokenize", "[MODEL.gguf] [TEXT] [options]",
                                  "a text as token ids and pieces",
                                  "Without TEXT and --file, the text is read from standard input.", run};
