/* What the picture shows: results that differ in one thing alone, in the order of that thing. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef bool (*same_series)(const bench_case *a, const bench_case *b);

static bool same_but_depth(const bench_case *a, const bench_case *b) {
  return a->kind == b->kind && a->length == b->length && a->width == b->width && a->threads == b->threads;
}

static bool same_but_width(const bench_case *a, const bench_case *b) {
  return a->kind == b->kind && a->length == b->length && a->depth == b->depth && a->threads == b->threads;
}

static bench_series *series_of(bench_panel *panel, const bench_case *what, same_series same) {
  for (int i = 0; i < panel->n; ++i) {
    if (same(&panel->series[i].points[0].result->what, what)) return &panel->series[i];
  }
  return panel->n < MAX_SERIES ? &panel->series[panel->n++] : NULL;
}

static void add_point(bench_panel *panel, const bench_result *result, double x, same_series same) {
  bench_series *series = series_of(panel, &result->what, same);
  if (!series || series->n == LIST_CAPACITY) return;
  int at = series->n++;
  for (; at > 0 && series->points[at - 1].x > x; --at) series->points[at] = series->points[at - 1];
  series->points[at].x = x;
  series->points[at].result = result;
}

static const char *plural(int32_t n) { return n == 1 ? "" : "s"; }

static void name_threads(const bench_report *report, bench_series *series) {
  const int32_t threads = series->points[0].result->what.threads;
  const size_t length = strlen(series->label);
  if (report->n_ceilings > 1) {
    snprintf(series->label + length, sizeof series->label - length, ", %d thread%s", (int)threads,
             plural(threads));
  }
}

void bench_by_depth(const bench_report *report, bench_panel *out) {
  memset(out, 0, sizeof *out);
  out->title = "Speed by depth";
  out->x_title = "tokens in the context before";
  for (int i = 0; i < report->n_results; ++i) {
    const bench_result *r = &report->results[i];
    if (r->what.kind != BENCH_FIRST) add_point(out, r, r->what.depth, same_but_depth);
  }
  for (int i = 0; i < out->n; ++i) {
    bench_series *s = &out->series[i];
    const bench_case *what = &s->points[0].result->what;
    if (what->kind == BENCH_PROMPT) {
      snprintf(s->label, sizeof s->label, "prompt of %d", (int)what->length);
    } else {
      snprintf(s->label, sizeof s->label, "decoding %d, %d timeline%s", (int)what->length, (int)what->width,
               plural(what->width));
    }
    name_threads(report, s);
  }
}

void bench_by_width(const bench_report *report, bench_panel *out) {
  memset(out, 0, sizeof *out);
  out->title = "Decoding by batch width";
  out->x_title = "timelines decoding together";
  for (int i = 0; i < report->n_results; ++i) {
    const bench_result *r = &report->results[i];
    if (r->what.kind == BENCH_DECODE) add_point(out, r, r->what.width, same_but_width);
  }
  for (int i = 0; i < out->n; ++i) {
    bench_series *s = &out->series[i];
    const bench_case *what = &s->points[0].result->what;
    snprintf(s->label, sizeof s->label, "decoding %d at depth %d", (int)what->length, (int)what->depth);
    name_threads(report, s);
  }
}
