/* Writing JSON and numbers for people. */
#include <string.h>

#include "cli.h"

size_t utf8_character(const char *bytes, size_t length) {
  const unsigned char *text = (const unsigned char *)bytes;
  const unsigned char lead = text[0];
  const size_t n = lead < 0x80                   ? 1
                   : lead >= 0xC2 && lead < 0xE0 ? 2
                   : lead >= 0xE0 && lead < 0xF0 ? 3
                   : lead >= 0xF0 && lead < 0xF5 ? 4
                                                 : 0;
  if (n == 0 || n > length) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && text[1] < 0xA0) return 0; /* overlong */
  if (lead == 0xED && text[1] > 0x9F) return 0; /* surrogate */
  if (lead == 0xF0 && text[1] < 0x90) return 0; /* overlong */
  if (lead == 0xF4 && text[1] > 0x8F) return 0; /* past U+10FFFF */
  return n;
}

void json_string(FILE *out, const char *text, size_t length) {
  fputc('"', out);
  for (size_t i = 0; i < length;) {
    const size_t n = utf8_character(text + i, length - i);
    const unsigned char c = (unsigned char)text[i];
    if (n == 0) {
      fputs("\\ufffd", out);
    } else if (c == '"' || c == '\\') {
      fprintf(out, "\\%c", c);
    } else if (c == '\n') {
      fputs("\\n", out);
    } else if (c < 0x20 || c == 0x7F) {
      fprintf(out, "\\u%04x", c);
    } else {
      fwrite(text + i, 1, n, out);
    }
    i += n ? n : 1;
  }
  fputc('"', out);
}

void json_text(FILE *out, const char *text) { json_string(out, text, strlen(text)); }

const char *finish_name(int32_t finish) {
  static const char *const names[] = {"none", "stop", "length", "callback", "cancelled", "deadline", "error"};
  return finish >= 0 && finish <= RZ_FINISH_ERROR ? names[finish] : "unknown";
}

static void scaled(double value, const char *const *units, double step, char out[16]) {
  int i = 0;
  for (; value >= step && i < 4; ++i) value /= step;
  snprintf(out, 16,
           value < 10 && i > 0    ? "%.2f %s"
           : value < 100 && i > 0 ? "%.1f %s"
                                  : "%.0f %s",
           value, units[i]);
}

void human_bytes(uint64_t bytes, char out[16]) {
  static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
  scaled((double)bytes, units, 1000, out);
}

void human_count(uint64_t count, char out[16]) {
  static const char *const units[] = {"", "thousand", "million", "billion", "trillion"};
  scaled((double)count, units, 1000, out);
}

void human_operations(double operations, char out[16]) {
  static const char *const units[] = {"OP", "KOP", "MOP", "GOP", "TOP"};
  scaled(operations, units, 1000, out);
}
