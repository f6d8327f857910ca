/* rz bench in parts: which cases (bench.c), measuring one (bench_measure.c), what the machine allows
 * (bench_ceilings.c), another program beside ours (bench_compare.c), telling in text (bench_report.c) and as
 * a picture (bench_svg.c: what bench_series.c gathers, on the axes of bench_axis.c). */
#ifndef RZ_BENCH_H
#define RZ_BENCH_H

#include "cli.h"

/* BENCH_FIRST: from a request with a prompt to its first token, sampling included. */
typedef enum bench_kind { BENCH_PROMPT, BENCH_DECODE, BENCH_FIRST } bench_kind;

/* One row of the result. Prompts are read by one timeline; decoding can be done by several together. */
typedef struct bench_case {
  bench_kind kind;
  int32_t length;  /* tokens read, or written by each timeline */
  int32_t depth;   /* tokens that each timeline holds before */
  int32_t width;   /* timelines */
  int32_t threads; /* as many as there are: not 0 */
  char name[16];   /* "pp512", "tg32", "ft128" */
} bench_case;

enum { MAX_REPETITIONS = 100 };
typedef struct bench_samples {
  int n;
  double figures[MAX_REPETITIONS]; /* (n), ascending once summarized: tok/s of all timelines together, or
                                      milliseconds of BENCH_FIRST */
  double median, spread;           /* spread: (greatest - least) / median */
} bench_samples;
void bench_summarize(bench_samples *samples);
double bench_median(double *values, int n); /* sorts them; n >= 1 */

typedef struct bench_result {
  bench_case what;
  bench_samples ours, theirs; /* theirs: n = 0 where there is nothing to compare with */
  double bytes_per_token;     /* weights and KV cache read; a step's weights are shared by all its tokens */
  double operations_per_token;
  rz_ceilings ceilings[MAX_REPETITIONS + 1]; /* (ours.n + 1): before each repetition, and after the last */
  const char *ceiling;                       /* the one that is nearest: "read", "int8", "float" */
  double ceiling_rate;                       /* median; bytes or operations per second */
  double share;                              /* of it that our repetitions reach, median: 0.8 = 80 % */
} bench_result;

/* What was measured, and on what. */
typedef struct bench_report {
  const char *path;
  const char *compare; /* the other program's command, or NULL */
  rz_model_info info;
  rz_ceilings ceilings[LIST_CAPACITY]; /* for each number of threads, at the start */
  int n_ceilings;
  bench_result *results;
  int n_results;
} bench_report;

/* ---- measuring (bench_measure.c) ---- */

/* Timelines of random tokens, all of one depth, in a model opened with RZ_MODEL_MANUAL_STEP: the calling
 * thread does the steps, so exactly the timelines that are asked for compute together. */
typedef struct bench_timelines bench_timelines;
/* length: the longest that a case will add. */
rz_status bench_timelines_open(rz_model *model, int32_t depth, int32_t length, bench_timelines **out,
                               rz_error *err);
void bench_timelines_free(bench_timelines *timelines);
/* Runs the case untimed and counts what a token costs. Interrupted: RZ_OK, and nothing is counted. */
rz_status bench_count(bench_timelines *timelines, const bench_case *what, bench_result *out, rz_error *err);
/* Runs it once more. *figure: as in bench_samples. */
rz_status bench_time(bench_timelines *timelines, const bench_case *what, double *figure, rz_error *err);

/* ---- ceilings (bench_ceilings.c) ---- */

/* Measures what the machine can do now, beside the repetitions done so far. */
rz_status bench_measure_ceilings(const char *device, bench_result *result, rz_error *err);
/* Finds the ceiling that the result is nearest to, and its share. Before the repetitions are sorted. */
void bench_judge(const bench_report *report, bench_result *result);
double bench_ceiling_tok_s(
    const bench_result *result); /* the speed at which the share would be 1; no BENCH_FIRST */

/* "54.3 GB/s", "2150 GOP/s" */
void bench_rate_text(const char *ceiling, double rate, char *out, size_t size);
void bench_ceilings_text(const rz_ceilings *ceilings, char *out, size_t size);

/* ---- another program (bench_compare.c) ---- */

/* Runs the command for a case. *figure: 0 where it printed nothing, so has no such case. False after a
 * message. */
bool bench_compare(const char *command, const char *model_path, const bench_case *what, double *figure);

/* ---- telling (bench_report.c, bench_svg.c) ---- */

typedef struct bench_writer {
  const char *name; /* "md" */
  void (*begin)(const bench_report *report);
  void (*row)(const bench_report *report, const bench_result *result);
  void (*end)(const bench_report *report);
} bench_writer;
const bench_writer *find_bench_writer(const char *name); /* md, json, csv, svg; NULL = no such */
void bench_svg(const bench_report *report);

/* ---- what the picture shows (bench_series.c) ---- */

typedef struct bench_point {
  double x; /* depth or width */
  const bench_result *result;
} bench_point;

enum { MAX_SERIES = 16 };
typedef struct bench_series {
  char label[96];
  int n;
  bench_point points[LIST_CAPACITY]; /* (n), by x */
} bench_series;

/* Results that differ in x alone make a series. Speeds: without BENCH_FIRST. */
typedef struct bench_panel {
  const char *title, *x_title;
  int n;
  bench_series series[MAX_SERIES]; /* (n); what does not fit is left out */
} bench_panel;
void bench_by_depth(const bench_report *report, bench_panel *out);
void bench_by_width(const bench_report *report, bench_panel *out); /* decoding alone */

#endif
