/* Tells results as a table for people, as JSON or as CSV: one writer each, fed row by row as they are
 * measured. The picture waits for the end. */
#include <string.h>

#include "bench.h"

static bool is_first(const bench_result *r) { return r->what.kind == BENCH_FIRST; }

/* How many times as fast as theirs. */
static double ratio(const bench_result *r) {
  return is_first(r) ? r->theirs.median / r->ours.median : r->ours.median / r->theirs.median;
}

/* ---- md ---- */

static void begin_md(const bench_report *report) {
  char parameters[16], size[16], ceilings[128];
  human_count(report->info.parameters, parameters);
  human_bytes(report->info.file_bytes, size);
  printf("%s: %s %s, %s parameters, %s, on %s, librz %s\n", report->path, report->info.architecture,
         report->info.quantization, parameters, size, report->info.device, rz_version());
  for (int i = 0; i < report->n_ceilings; ++i) {
    bench_ceilings_text(&report->ceilings[i], ceilings, sizeof ceilings);
    printf("%s\n", ceilings);
  }
  if (report->compare) printf("compared with: %s\n", report->compare);
  printf("\n| test   | depth | width | threads |     tok/s | spread |   read/tok |   ops/tok | %22s |%s\n",
         "share", report->compare ? "    theirs | ratio |" : "");
  printf("|--------|------:|------:|--------:|----------:|-------:|-----------:|----------:|%.23s:|%s\n",
         "------------------------", report->compare ? "----------:|------:|" : "");
}

static void figure_text(const bench_result *r, double figure, char out[32]) {
  snprintf(out, 32, is_first(r) ? "%.2f ms" : "%.2f", figure);
}

static void row_md(const bench_report *report, const bench_result *r) {
  char bytes[16], operations[16], rate[32], ours[32], theirs[32];
  figure_text(r, r->ours.median, ours);
  figure_text(r, r->theirs.median, theirs);
  human_bytes((uint64_t)r->bytes_per_token, bytes);
  human_operations(r->operations_per_token, operations);
  bench_rate_text(r->ceiling, r->ceiling_rate, rate, sizeof rate);
  printf("| %-6s | %5d | %5d | %7d | %9s | %4.1f %% | %10s | %9s | %3.0f %% of %13s |", r->what.name,
         (int)r->what.depth, (int)r->what.width, (int)r->what.threads, ours, 100 * r->ours.spread, bytes,
         operations, 100 * r->share, rate);
  if (report->compare && r->theirs.n > 0) {
    printf(" %9s | %5.2f |", theirs, ratio(r));
  } else if (report->compare) {
    printf(" %9s | %5s |", "-", "-");
  }
  puts("");
}

static void end_nothing(const bench_report *report) { (void)report; }

/* ---- json ---- */

static void begin_json(const bench_report *report) {
  printf("{\"version\":\"%s\",\"model\":", rz_version());
  json_text(stdout, report->path);
  fputs(",\"architecture\":", stdout);
  json_text(stdout, report->info.architecture);
  fputs(",\"quantization\":", stdout);
  json_text(stdout, report->info.quantization);
  fputs(",\"device\":", stdout);
  json_text(stdout, report->info.device);
  printf(",\"parameters\":%llu,\"file_bytes\":%llu", (unsigned long long)report->info.parameters,
         (unsigned long long)report->info.file_bytes);
  if (report->compare) {
    fputs(",\"compare_command\":", stdout);
    json_text(stdout, report->compare);
  }
  fputs(",\"ceilings\":[", stdout);
  for (int i = 0; i < report->n_ceilings; ++i) {
    const rz_ceilings *c = &report->ceilings[i];
    printf("%s\n{\"threads\":%d,\"read_bytes_per_s\":%.0f,\"int8_ops_per_s\":%.0f,\"float_ops_per_s\":%.0f}",
           i ? "," : "", (int)c->threads, c->read_bytes_per_s, c->int8_ops_per_s, c->float_ops_per_s);
  }
  fputs("],\n\"results\":[", stdout);
}

static void json_samples(const bench_samples *samples) {
  fputs(",\"samples\":[", stdout);
  for (int i = 0; i < samples->n; ++i) printf("%s%.3f", i ? "," : "", samples->figures[i]);
  putchar(']');
}

static void row_json(const bench_report *report, const bench_result *r) {
  const char *figure = is_first(r) ? "first_token_ms" : "tok_s";
  printf("%s\n{\"test\":\"%s\",\"%s\":%.3f,\"spread\":%.4f,\"depth\":%d,\"width\":%d,\"threads\":%d",
         r == report->results ? "" : ",", r->what.name, figure, r->ours.median, r->ours.spread,
         (int)r->what.depth, (int)r->what.width, (int)r->what.threads);
  printf(
      ",\"bytes_per_token\":%.0f,\"operations_per_token\":%.0f,\"ceiling\":\"%s\",\"ceiling_per_s\":%.0f,"
      "\"share\":%.4f",
      r->bytes_per_token, r->operations_per_token, r->ceiling, r->ceiling_rate, r->share);
  json_samples(&r->ours);
  if (r->theirs.n > 0) {
    printf(",\"compare\":{\"%s\":%.3f,\"spread\":%.4f,\"ratio\":%.4f", figure, r->theirs.median,
           r->theirs.spread, ratio(r));
    json_samples(&r->theirs);
    putchar('}');
  }
  putchar('}');
}

static void end_json(const bench_report *report) {
  (void)report;
  puts("\n]}");
}

/* ---- csv: the columns that `rz help bench` names ---- */

static void begin_csv(const bench_report *report) { (void)report; }

static void row_csv(const bench_report *report, const bench_result *r) {
  (void)report;
  printf("%s,%.3f,%.4f,%d,%d,%d,%d,%.0f,%.0f,%s,%.0f,%.4f,", r->what.name, r->ours.median, r->ours.spread,
         (int)r->what.depth, (int)r->what.width, (int)r->what.threads, r->ours.n, r->bytes_per_token,
         r->operations_per_token, r->ceiling, r->ceiling_rate, r->share);
  if (r->theirs.n > 0) {
    printf("%.3f,%.4f\n", r->theirs.median, ratio(r));
  } else {
    puts(",");
  }
}

/* ---- svg ---- */

static void row_svg(const bench_report *report, const bench_result *r) {
  (void)report;
  (void)r;
}

const bench_writer *find_bench_writer(const char *name) {
  static const bench_writer writers[] = {{"md", begin_md, row_md, end_nothing},
                                         {"json", begin_json, row_json, end_json},
                                         {"csv", begin_csv, row_csv, end_nothing},
                                         {"svg", end_nothing, row_svg, bench_svg}};
  for (size_t i = 0; i < sizeof writers / sizeof *writers; ++i) {
    if (!strcmp(writers[i].name, name)) return &writers[i];
  }
  return NULL;
}
