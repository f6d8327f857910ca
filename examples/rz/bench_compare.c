/* Another program beside ours: a shell command that prints a speed for a case. Runs of the two alternate, so
 * that a machine whose speed wanders does so for both. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bench.h"

/* ---- the command ---- */

typedef struct text {
  char *data;
  size_t length, capacity;
  bool failed;
} text;

static void append(text *t, const char *data, size_t length) {
  if (t->length + length + 1 > t->capacity) {
    const size_t capacity = 2 * (t->length + length + 1);
    char *grown = realloc(t->data, capacity);
    t->failed = t->failed || !grown;
    if (!grown) return;
    t->data = grown;
    t->capacity = capacity;
  }
  memcpy(t->data + t->length, data, length);
  t->length += length;
  t->data[t->length] = 0;
}

/* As one word of the shell. Most paths are one as they are, and then may stand inside quotes too. */
static void append_path(text *t, const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:@%,";
  if (path[strspn(path, plain)] == 0) {
    append(t, path, strlen(path));
    return;
  }
  append(t, "'", 1);
  for (; *path; ++path) {
    if (*path == '\'') {
      append(t, "'\\''", 4);
    } else {
      append(t, path, 1);
    }
  }
  append(t, "'", 1);
}

/* The command with {placeholders} filled in; braces around other words stay, shells and awk have their own.
 */
static char *fill_in(const char *command, const char *model_path, const bench_case *what) {
  /* A first token is a prompt and one token decoded. */
  const int32_t prompt = what->kind == BENCH_DECODE ? 0 : what->length;
  const int32_t decode = what->kind == BENCH_PROMPT ? 0 : what->kind == BENCH_FIRST ? 1 : what->length;
  const struct {
    const char *name;
    int32_t value;
  } numbers[] = {{"{threads}", what->threads},
                 {"{prompt}", prompt},
                 {"{decode}", decode},
                 {"{depth}", what->depth},
                 {"{batch}", what->width}};
  static const char model[] = "{model}", test[] = "{test}";
  text result = {NULL, 0, 0, false};
  while (*command) {
    size_t taken = 0;
    char number[16];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !taken; ++i) {
      if (strncmp(command, numbers[i].name, strlen(numbers[i].name)) != 0) continue;
      taken = strlen(numbers[i].name);
      snprintf(number, sizeof number, "%d", (int)numbers[i].value);
      append(&result, number, strlen(number));
    }
    if (!taken && !strncmp(command, model, sizeof model - 1)) {
      taken = sizeof model - 1;
      append_path(&result, model_path);
    } else if (!taken && !strncmp(command, test, sizeof test - 1)) {
      taken = sizeof test - 1;
      append(&result, what->name, strlen(what->name));
    } else if (!taken) {
      taken = 1;
      append(&result, command, 1);
    }
    command += taken;
  }
  if (!result.failed) return result.data;
  free(result.data);
  return NULL;
}

/* ---- what it prints ---- */

/* The number after the case's name: "pp512,353.2" as csv, "pp512 353.20 t/s", "| pp512 @ d4096 | 353.20 |".
 * 0 = none in this line. */
static double figure_in(const char *line, const bench_case *what) {
  const size_t length = strlen(what->name);
  for (const char *at = line; (at = strstr(at, what->name)) != NULL; at += length) {
    if (at > line && isalnum((unsigned char)at[-1])) continue;
    const char *after = at + length;
    if (isalnum((unsigned char)*after)) continue;
    after += strspn(after, " \t");
    if (after[0] == '@') {
      char *end;
      after += 1 + strspn(after + 1, " \t");
      if (*after != 'd' || strtol(after + 1, &end, 10) != what->depth) continue;
      after = end;
    }
    after += strspn(after, " \t,;|:=\"");
    char *end;
    const double value = strtod(after, &end);
    if (end != after && value > 0 && value < 1e12) return value;
  }
  return 0;
}

typedef struct output {
  char first_line[160]; /* cut */
  bool any;
  double figure; /* the last figure: earlier ones may be warming up */
} output;

static void read_output(FILE *pipe, const bench_case *what, output *out) {
  char line[8192];
  while (fgets(line, sizeof line, pipe)) {
    line[strcspn(line, "\r\n")] = 0;
    if (!out->any) snprintf(out->first_line, sizeof out->first_line, "%.150s", line);
    out->any = true;
    const double figure = figure_in(line, what);
    if (figure > 0) out->figure = figure;
  }
}

/* Its message, where the command did not end well; NULL where it did. */
static const char *trouble(int status, char *message, size_t size) {
  if (status == -1) {
    snprintf(message, size, "its end could not be waited for");
  } else if (WIFSIGNALED(status)) {
    snprintf(message, size, "the command was ended by signal %d", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    snprintf(message, size, "the command failed: exit status %d", WEXITSTATUS(status));
  } else {
    return NULL;
  }
  return message;
}

bool bench_compare(const char *command, const char *model_path, const bench_case *what, double *figure) {
  char message[256];
  *figure = 0;
  fflush(NULL);
  char *filled = fill_in(command, model_path, what);
  FILE *pipe = filled ? popen(filled, "r") : NULL;
  if (!pipe) {
    free(filled);
    fail_text("--compare", "the command could not be started");
    return false;
  }
  output out = {"", false, 0};
  read_output(pipe, what, &out);
  const char *wrong = trouble(pclose(pipe), message, sizeof message);
  if (!wrong && out.any && out.figure == 0) {
    snprintf(message, sizeof message, "no figure for %s in what the command printed; it begins: %s",
             what->name, out.first_line);
    wrong = message;
  }
  if (wrong && !interrupted()) {
    fail_text("--compare", wrong);
    fprintf(stderr, "rz: the command was: %s\n", filled);
  }
  free(filled);
  *figure = out.figure;
  return !wrong;
}
