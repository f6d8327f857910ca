/* Options of a command: one table says their names, where their values go and what the help says about them.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const option *find_option(const option *const *tables, const char *name, size_t length, char letter) {
  for (; *tables; ++tables) {
    for (const option *row = *tables; row->name; ++row) {
      if (letter ? row->letter == letter : strlen(row->name) == length && !strncmp(row->name, name, length)) {
        return row;
      }
    }
  }
  return NULL;
}

static void print_row(const option *row) {
  char left[40];
  char letter[5] = "    ";
  if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
  snprintf(left, sizeof left, "%s--%s %s", letter, row->name, row->argument ? row->argument : "");
  printf("  %-28s %s\n", left, row->help);
}

static void print_help(const command *self, const option *const *tables) {
  printf("rz %s: %s\n\nusage: rz %s %s\n", self->name, self->summary, self->name, self->arguments);
  if (self->details) printf("\n%s\n", self->details);
  for (const option *const *table = tables; *table; ++table) {
    puts("");
    for (const option *row = *table; row->name; ++row) {
      /* The first of two tables that know a name is the one that counts. */
      if (find_option(tables, row->name, strlen(row->name), 0) == row) print_row(row);
    }
  }
}

int usage_error(const command *self, const char *message) {
  fprintf(stderr, "rz %s: %s\nusage: rz %s %s   (rz help %s)\n", self->name, message, self->name,
          self->arguments, self->name);
  return 2;
}

static bool read_integer(const char *text, long long low, long long high, long long *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  return end != text && !*end && !errno && *out >= low && *out <= high;
}

static bool read_list(const char *text, int_list *out) {
  out->count = 0;
  while (out->count < LIST_CAPACITY) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || errno || value < 0 || value > INT32_MAX) return false;
    out->values[out->count++] = (int32_t)value;
    if (!*end) return true;
    if (*end != ',') return false;
    text = end + 1;
  }
  return false;
}

static bool store_number(const option *row, const char *text) {
  long long integer;
  char *end;
  errno = 0;
  switch (row->kind) {
    case OPTION_INT:
      if (!read_integer(text, INT32_MIN, INT32_MAX, &integer)) return false;
      *(int32_t *)row->target = (int32_t)integer;
      return true;
    case OPTION_U32:
      if (!read_integer(text, 0, UINT32_MAX, &integer)) return false;
      *(uint32_t *)row->target = (uint32_t)integer;
      return true;
    case OPTION_U64:
      *(uint64_t *)row->target = strtoull(text, &end, 10);
      return end != text && !*end && !errno && *text != '-';
    default:
      *(float *)row->target = strtof(text, &end);
      return end != text && !*end;
  }
}

static bool store(const option *row, const char *text) {
  if (row->take) return row->take(row->target, text);
  switch (row->kind) {
    case OPTION_FLAG:
      *(bool *)row->target = true;
      return true;
    case OPTION_BITS:
      *(uint32_t *)row->target |= row->bits;
      return true;
    case OPTION_TEXT:
      *(const char **)row->target = text;
      return true;
    case OPTION_LIST:
      return read_list(text, row->target);
    default:
      return store_number(row, text);
  }
}

/* Takes argv[*i], an option, and its value. NULL, or what is wrong with it. */
static const char *take_option(const option *const *tables, int argc, char **argv, int *i) {
  const char *word = argv[*i];
  const bool is_long = word[1] == '-';
  const char *name = word + (is_long ? 2 : 1);
  const char *value = is_long ? strchr(name, '=') : name[1] ? name + 1 : NULL;
  const option *row = find_option(tables, name, value && is_long ? (size_t)(value - name) : strlen(name),
                                  is_long ? 0 : *name);
  if (!row) return "no such option";
  const bool alone = row->kind == OPTION_FLAG || row->kind == OPTION_BITS;
  if (alone && value) return "takes no value";
  if (!alone) {
    if (value && is_long) ++value;
    if (!value && *i + 1 < argc) value = argv[++*i];
    if (!value) return "expects a value";
  }
  return store(row, value) ? NULL : "value not understood";
}

parse_result parse_options(const command *self, const option *const *tables, int *argc, char **argv) {
  const int n = *argc;
  *argc = 0;
  bool only_words = false;
  for (int i = 0; i < n; ++i) {
    char *word = argv[i];
    if (only_words || word[0] != '-' || !word[1]) {
      argv[(*argc)++] = word;
    } else if (!strcmp(word, "--")) {
      only_words = true;
    } else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
      print_help(self, tables);
      return PARSE_HELP;
    } else {
      const char *wrong = take_option(tables, n, argv, &i);
      if (wrong) {
        char message[256];
        snprintf(message, sizeof message, "%s: %s", word, wrong);
        usage_error(self, message);
        return PARSE_ERROR;
      }
    }
  }
  return PARSE_OK;
}
