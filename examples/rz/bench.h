/* rz bench in three parts: which cases (bench.c), measuring one (bench_measure.c), telling (bench_report.c).
 */
#ifndef RZ_BENCH_H
#define RZ_BENCH_H

#include "cli.h"

typedef enum bench_kind { BENCH_PROMPT, BENCH_DECODE } bench_kind;

/* One row of the result. Prompts are read by one timeline; decoding can be done by several together. */
typedef struct bench_case {
  bench_kind kind;
  int32_t length;  /* tokens read, or written by each timeline */
  int32_t depth;   /* tokens that each timeline holds before */
  int32_t width;   /* timelines */
  int32_t threads; /* 0 = the library's choice */
} bench_case;

enum { MAX_REPETITIONS = 100 };
typedef struct bench_result {
  bench_case what;
  int samples;
  double tok_s[MAX_REPETITIONS]; /* (samples), ascending; all timelines together */
  double median, spread;         /* spread: (greatest - least) / median */
} bench_result;

/* What was measured on: printed once. */
typedef struct bench_subject {
  const char *path;
  rz_model_info info;
} bench_subject;

/* Runs the case once untimed, then `repetitions` times. */
rz_status bench_measure(rz_model *model, const bench_case *what, int repetitions, bench_result *out,
                        rz_error *err);

typedef struct bench_writer {
  const char *name; /* "md" */
  void (*begin)(const bench_subject *subject);
  void (*row)(const bench_result *result, bool first);
  void (*end)(void);
} bench_writer;
const bench_writer *find_bench_writer(const char *name); /* md, json, csv; NULL = no such */

#endif
