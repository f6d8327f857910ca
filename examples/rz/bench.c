/* rz bench: every combination of what was asked for, measured through rz.h as a program would use it. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench_arguments {
  model_arguments model;
  int_list prompts, decodes, depths, widths, threads;
  int32_t repetitions;
  const char *format;
} bench_arguments;

static int32_t greatest(const int_list *list) {
  int32_t result = 0;
  for (int i = 0; i < list->count; ++i) result = list->values[i] > result ? list->values[i] : result;
  return result;
}

/* A model whose context and KV pool hold the deepest and widest case. */
static rz_model *load_for(const bench_arguments *a, int32_t threads) {
  model_arguments arguments = a->model;
  rz_model_options *options = &arguments.options;
  options->threads = threads;
  options->flags |= RZ_MODEL_PREFIX_CACHE_OFF; /* a prompt read again would cost nothing */
  const int32_t prompt = greatest(&a->prompts), decode = greatest(&a->decodes), width = greatest(&a->widths);
  const int32_t timeline = greatest(&a->depths) + (prompt > decode + 2 ? prompt : decode + 2);
  if (options->context_length < timeline) options->context_length = timeline;
  if (options->max_sequences < width) options->max_sequences = width;

  rz_error err = RZ_INIT(rz_error);
  rz_memory_estimate estimate = RZ_INIT(rz_memory_estimate);
  rz_source source = RZ_INIT(rz_source);
  source.kind = RZ_SOURCE_PATH;
  source.path = arguments.path;
  if (rz_model_estimate(&source, options, &estimate, &err) != RZ_OK) {
    fail(&err);
    return NULL;
  }
  options->kv_bytes = estimate.kv_bytes * (uint64_t)(width + 1);
  return load_model(&arguments);
}

typedef struct bench_run {
  const bench_arguments *arguments;
  const bench_writer *writer;
  rz_model *model;
  int rows; /* written so far */
} bench_run;

static int measure(bench_run *run, bench_case what) {
  rz_error err = RZ_INIT(rz_error);
  bench_result result;
  if (bench_measure(run->model, &what, run->arguments->repetitions, &result, &err) != RZ_OK)
    return fail(&err);
  if (result.samples == 0) return interrupted() ? 130 : fail_text("bench", "nothing measured");
  run->writer->row(&result, run->rows++ == 0);
  fflush(stdout);
  return 0;
}

static int measure_all(bench_run *run, int32_t threads) {
  const bench_arguments *a = run->arguments;
  int result = 0;
  for (int d = 0; d < a->depths.count; ++d) {
    const int32_t depth = a->depths.values[d];
    for (int p = 0; p < a->prompts.count && !result; ++p) {
      const bench_case what = {BENCH_PROMPT, a->prompts.values[p], depth, 1, threads};
      if (what.length > 0) result = measure(run, what);
    }
    for (int w = 0; w < a->widths.count; ++w) {
      for (int n = 0; n < a->decodes.count && !result; ++n) {
        const bench_case what = {BENCH_DECODE, a->decodes.values[n], depth, a->widths.values[w], threads};
        if (what.length > 0) result = measure(run, what);
      }
    }
  }
  return result;
}

static int bench(const bench_arguments *a, const bench_writer *writer) {
  bench_run run = {.arguments = a, .writer = writer};
  int result = 0;
  bool begun = false;
  catch_interrupts();
  for (int t = 0; t < a->threads.count && !result; ++t) {
    run.model = load_for(a, a->threads.values[t]);
    if (!run.model) return 1;
    if (!begun) {
      rz_error err = RZ_INIT(rz_error);
      bench_subject subject = {.path = a->model.path};
      subject.info.struct_size = sizeof subject.info;
      if (rz_model_get_info(run.model, &subject.info, &err) != RZ_OK) return fail(&err);
      writer->begin(&subject);
      begun = true;
    }
    result = measure_all(&run, a->threads.values[t]);
    rz_model_release(run.model);
  }
  writer->end();
  return result;
}

static bool sane(const bench_arguments *a) {
  for (int i = 0; i < a->widths.count; ++i) {
    if (a->widths.values[i] < 1) return false;
  }
  return a->repetitions >= 1 && a->repetitions <= MAX_REPETITIONS;
}

static int run(const command *self, int argc, char **argv) {
  bench_arguments a = {.prompts = {{512}, 1},
                       .decodes = {{32}, 1},
                       .depths = {{0}, 1},
                       .widths = {{1}, 1},
                       .threads = {{0}, 1},
                       .repetitions = 3,
                       .format = "md"};
  model_arguments_init(&a.model);
  const option rows[] = {
      {"prompt", 'p', OPTION_LIST, &a.prompts, "N,...", "prompts of so many tokens; 0 = none; default: 512",
       0, NULL},
      {"decode", 'n', OPTION_LIST, &a.decodes, "N,...", "tokens written; 0 = none; default: 32", 0, NULL},
      {"depth", 'd', OPTION_LIST, &a.depths, "N,...", "tokens in the context before; default: 0", 0, NULL},
      {"batch", 'b', OPTION_LIST, &a.widths, "N,...", "timelines decoding together; default: 1", 0, NULL},
      {"threads", 't', OPTION_LIST, &a.threads, "N,...", "0 = the library's choice (default)", 0, NULL},
      {"repetitions", 'r', OPTION_INT, &a.repetitions, "N", "after one untimed; default: 3", 0, NULL},
      {"output", 'o', OPTION_TEXT, &a.format, "FORMAT", "md (default), json or csv", 0, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  option model_rows[MODEL_OPTION_ROWS + 1];
  model_option_table(&a.model, model_rows);
  const option *const tables[] = {rows, model_rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc > 1) return usage_error(self, "expected at most one model");
  if (argc == 1) a.model.path = argv[0];
  const bench_writer *writer = find_bench_writer(a.format);
  if (!writer) return usage_error(self, "--output: expected md, json or csv");
  if (!sane(&a)) return usage_error(self, "expected widths of 1 or more, and 1 to 100 repetitions");
  a.model.path = model_path(&a.model);
  return a.model.path ? bench(&a, writer) : 1;
}

const command bench_command = {
    "bench", "[MODEL] [options]", "prompt and decode speed",
    "Medians of tok/s over the repetitions, for every combination of the lists; spread is (greatest - least) "
    "/\n"
    "median. ppN: a prompt of N random tokens is read by one timeline. tgN: N tokens are decoded by each "
    "timeline,\n"
    "tok/s of all together. csv rows: test,tok/s,spread,depth,width,threads,repetitions.",
    run};
