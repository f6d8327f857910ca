/* Tells results as a table for people, as JSON or as CSV: one writer each, fed row by row as they are
 * measured. */
#include <string.h>

#include "bench.h"

static const char *kind_name(bench_kind kind) { return kind == BENCH_PROMPT ? "pp" : "tg"; }

/* ---- md ---- */

static void begin_md(const bench_subject *subject) {
  char parameters[16], size[16];
  human_count(subject->info.parameters, parameters);
  human_bytes(subject->info.file_bytes, size);
  printf("%s: %s %s, %s parameters, %s, on %s, librz %s\n\n", subject->path, subject->info.architecture,
         subject->info.quantization, parameters, size, subject->info.device, rz_version());
  puts("| test   | depth | width | threads |     tok/s | spread |");
  puts("|--------|------:|------:|--------:|----------:|-------:|");
}

static void row_md(const bench_result *r, bool first) {
  (void)first;
  char name[24], threads[12] = "auto";
  snprintf(name, sizeof name, "%s%d", kind_name(r->what.kind), (int)r->what.length);
  if (r->what.threads) snprintf(threads, sizeof threads, "%d", (int)r->what.threads);
  printf("| %-6s | %5d | %5d | %7s | %9.2f | %4.1f %% |\n", name, (int)r->what.depth, (int)r->what.width,
         threads, r->median, 100 * r->spread);
}

static void end_md(void) {}

/* ---- json ---- */

static void begin_json(const bench_subject *subject) {
  printf("{\"version\":\"%s\",\"model\":", rz_version());
  json_text(stdout, subject->path);
  fputs(",\"architecture\":", stdout);
  json_text(stdout, subject->info.architecture);
  fputs(",\"quantization\":", stdout);
  json_text(stdout, subject->info.quantization);
  fputs(",\"device\":", stdout);
  json_text(stdout, subject->info.device);
  printf(",\"parameters\":%llu,\"file_bytes\":%llu,\"results\":[",
         (unsigned long long)subject->info.parameters, (unsigned long long)subject->info.file_bytes);
}

static void row_json(const bench_result *r, bool first) {
  printf(
      "%s\n{\"test\":\"%s%d\",\"tok_s\":%.3f,\"spread\":%.4f,\"depth\":%d,\"width\":%d,\"threads\":%d,"
      "\"samples\":[",
      first ? "" : ",", kind_name(r->what.kind), (int)r->what.length, r->median, r->spread,
      (int)r->what.depth, (int)r->what.width, (int)r->what.threads);
  for (int i = 0; i < r->samples; ++i) printf("%s%.3f", i ? "," : "", r->tok_s[i]);
  fputs("]}", stdout);
}

static void end_json(void) { puts("\n]}"); }

/* ---- csv: test, tok/s, spread, depth, width, threads, repetitions ---- */

static void begin_csv(const bench_subject *subject) { (void)subject; }

static void row_csv(const bench_result *r, bool first) {
  (void)first;
  printf("%s%d,%.3f,%.4f,%d,%d,%d,%d\n", kind_name(r->what.kind), (int)r->what.length, r->median, r->spread,
         (int)r->what.depth, (int)r->what.width, (int)r->what.threads, r->samples);
}

static void end_csv(void) {}

const bench_writer *find_bench_writer(const char *name) {
  static const bench_writer writers[] = {{"md", begin_md, row_md, end_md},
                                         {"json", begin_json, row_json, end_json},
                                         {"csv", begin_csv, row_csv, end_csv}};
  for (size_t i = 0; i < sizeof writers / sizeof *writers; ++i) {
    if (!strcmp(writers[i].name, name)) return &writers[i];
  }
  return NULL;
}
