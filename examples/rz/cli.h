/* What the parts of the rz tool share: commands and their options, models, the terminal, texts and JSON. The
 * tool knows the library through rz.h alone. */
#ifndef RZ_CLI_H
#define RZ_CLI_H

#include <rz.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- commands and options (options.c) ---- */

typedef struct command {
  const char *name;
  const char *arguments;                                         /* "[MODEL] [options]" */
  const char *summary;                                           /* one line, for the list of commands */
  const char *details;                                           /* paragraphs before the options, or NULL */
  int (*run)(const struct command *self, int argc, char **argv); /* argv after the command's name */
} command;

extern const command run_command, bench_command, info_command, tokenize_command, quantize_command,
    perplexity_command;

typedef enum option_kind {
  OPTION_FLAG,  /* bool *       set to true */
  OPTION_BITS,  /* uint32_t *   `bits` are set */
  OPTION_INT,   /* int32_t * */
  OPTION_U32,   /* uint32_t * */
  OPTION_U64,   /* uint64_t * */
  OPTION_FLOAT, /* float * */
  OPTION_TEXT,  /* const char ** */
  OPTION_LIST   /* int_list *   replaced by the comma-separated numbers */
} option_kind;

enum { LIST_CAPACITY = 32 };
typedef struct int_list {
  int32_t values[LIST_CAPACITY];
  int count;
} int_list;

typedef struct option {
  const char *name; /* long name without dashes; NULL ends a table */
  char letter;      /* 0 = none */
  option_kind kind;
  void *target;
  const char *argument; /* what the help calls the value: "N" */
  const char *help;
  uint32_t bits;
  /* Called in place of storing, where a value needs more than its kind says. False: not understood. */
  bool (*take)(void *target, const char *text);
} option;

/* PARSE_HELP: the help was asked for and has been printed; PARSE_ERROR: a message has been. Both are exit
 * statuses. */
typedef enum parse_result { PARSE_OK = -1, PARSE_HELP = 0, PARSE_ERROR = 2 } parse_result;
/* Reads options into their targets; what is no option moves to the front of argv, *argc becomes its number.
 * The list of tables ends with NULL. */
parse_result parse_options(const command *self, const option *const *tables, int *argc, char **argv);
int usage_error(const command *self, const char *message); /* prints it with the usage; returns 2 */

/* ---- models (model.c) ---- */

typedef struct model_arguments {
  const char *path; /* NULL = the story model that comes with the library */
  rz_model_options options;
} model_arguments;

enum { MODEL_OPTION_ROWS = 10 };
void model_arguments_init(model_arguments *arguments);
/* The options that every command with a model has, for its help and for parsing. */
void model_option_table(model_arguments *arguments, option table[MODEL_OPTION_ROWS + 1]);
/* The path given, or that of the story model; NULL, after a message, where neither is to be found. */
const char *model_path(const model_arguments *arguments);
/* Loads with a progress bar; NULL after a message. */
rz_model *load_model(const model_arguments *arguments);
bool is_model_path(const char *word); /* whether it names a file that may be a model */

/* ---- the terminal (terminal.c) ---- */

void catch_interrupts(void); /* Ctrl-C sets a flag; the second one ends the program */
bool interrupted(void);
double now_seconds(void); /* steady clock */
/* Draws `label` and a bar on stderr where it is a terminal and the work is not done at once. For
 * rz_progress_fn: `label` as user. Nonzero when Ctrl-C was pressed. */
int32_t show_progress(void *label, float fraction);
void clear_progress(void);
int fail(const rz_error *err);                    /* prints the error; returns 1 */
int fail_text(const char *what, const char *why); /* "rz: what: why"; returns 1 */

/* ---- texts and tokens (text.c) ---- */

typedef struct text_buffer {
  char *data; /* not NUL-terminated; free() */
  size_t length;
} text_buffer;
bool read_text_file(const char *path, text_buffer *out); /* "-" = standard input; false after a message */

typedef struct token_buffer {
  int32_t *ids; /* (count); free() */
  size_t count;
} token_buffer;
bool tokenize_text(const rz_model *model, const char *text, size_t length, uint32_t flags, token_buffer *out);

/* ---- JSON (json.c) ---- */

/* Bytes of the valid UTF-8 character that text[0, length) begins with, or 0. */
size_t utf8_character(const char *text, size_t length);
void json_string(FILE *out, const char *text, size_t length); /* quoted; invalid UTF-8 becomes U+FFFD */
void json_text(FILE *out, const char *text);                  /* the same up to the NUL */

const char *finish_name(int32_t finish);                /* RZ_FINISH_*: "stop", "length", ... */
void human_bytes(uint64_t bytes, char out[16]);         /* "1.2 GB" */
void human_count(uint64_t count, char out[16]);         /* "596 M" */
void human_operations(double operations, char out[16]); /* "1.2 GOP" */

#endif
