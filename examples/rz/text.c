/* Texts from files and the token ids they become. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool read_text_file(const char *path, text_buffer *out) {
  FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
  if (!file) {
    fail_text(path, strerror(errno));
    return false;
  }
  size_t capacity = 1 << 16;
  out->data = NULL;
  out->length = 0;
  bool ok = true;
  do {
    char *grown = realloc(out->data, capacity);
    if (!grown) {
      ok = false;
      break;
    }
    out->data = grown;
    out->length += fread(out->data + out->length, 1, capacity - out->length, file);
    ok = !ferror(file);
  } while (ok && out->length == capacity && (capacity *= 2));
  if (!ok) {
    fail_text(path, strerror(errno));
    free(out->data);
    out->data = NULL;
  }
  if (file != stdin) fclose(file);
  return ok;
}

bool tokenize_text(const rz_model *model, const char *text, size_t length, uint32_t flags,
                   token_buffer *out) {
  rz_error err = RZ_INIT(rz_error);
  out->ids = NULL;
  out->count = 0;
  rz_status status = rz_tokenize(model, text, length, flags, NULL, 0, &out->count, &err);
  if (status == RZ_E_BUFFER) {
    const size_t capacity = out->count;
    out->ids = malloc(capacity * sizeof *out->ids);
    if (!out->ids) {
      fail_text("tokens", "out of memory");
      return false;
    }
    status = rz_tokenize(model, text, length, flags, out->ids, capacity, &out->count, &err);
  }
  if (status == RZ_OK) return true;
  fail(&err);
  free(out->ids);
  out->ids = NULL;
  return false;
}
