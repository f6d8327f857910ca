/* rz bench: every combination of what was asked for, measured through rz.h as a program would use it. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench_arguments {
  model_arguments model;
  int_list prompts, decodes, firsts, depths, widths, threads;
  int32_t repetitions;
  const char *format, *compare;
} bench_arguments;

static int32_t greatest(const int_list *list) {
  int32_t result = 0;
  for (int i = 0; i < list->count; ++i) result = list->values[i] > result ? list->values[i] : result;
  return result;
}

/* The most that a case adds to a timeline: with the token that a profiled prompt goes on to write. */
static int32_t longest_case(const bench_arguments *a) {
  const int32_t prompt = greatest(&a->prompts), decode = greatest(&a->decodes), first = greatest(&a->firsts);
  const int32_t longer = prompt > decode ? prompt : decode;
  return (longer > first ? longer : first) + 2;
}

/* A model whose context and KV pool hold the deepest and widest case. */
static rz_model *load_for(const bench_arguments *a, int32_t threads) {
  model_arguments arguments = a->model;
  rz_model_options *options = &arguments.options;
  options->threads = threads;
  /* A prompt read again is to be computed again; and whoever measures does the steps. */
  options->flags |= RZ_MODEL_PREFIX_CACHE_OFF | RZ_MODEL_MANUAL_STEP;
  const int32_t width = greatest(&a->widths), timeline = greatest(&a->depths) + longest_case(a);
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
  bench_report report;
  rz_model *model;
  bench_timelines *timelines;
} bench_run;

/* Our repetitions, each between two measurements of the ceilings, and the other program's in turn. Theirs
 * start anew and warm up; ours do so by a run that does not count, for theirs has filled the caches. */
static int repeat(bench_run *run, bench_result *result) {
  const bench_arguments *a = run->arguments;
  bool theirs = a->compare != NULL;
  rz_error err = RZ_INIT(rz_error);
  if (bench_measure_ceilings(a->model.options.device, result, &err) != RZ_OK) return fail(&err);
  for (int i = 0; i < a->repetitions; ++i) {
    double figure;
    rz_status status = RZ_OK;
    if (theirs && i > 0) status = bench_time(run->timelines, &result->what, &figure, &err);
    if (status == RZ_OK) status = bench_time(run->timelines, &result->what, &figure, &err);
    if (interrupted()) return 130;
    if (status != RZ_OK) return fail(&err);
    result->ours.figures[result->ours.n++] = figure;
    if (bench_measure_ceilings(a->model.options.device, result, &err) != RZ_OK) return fail(&err);
    if (!theirs) continue;
    const bool done = bench_compare(a->compare, a->model.path, &result->what, &figure);
    if (interrupted()) return 130;
    if (!done) return 1;
    theirs = figure > 0;
    if (theirs) result->theirs.figures[result->theirs.n++] = figure;
  }
  return 0;
}

static bench_result *add_result(bench_report *report, const bench_case *what) {
  bench_result *grown = realloc(report->results, ((size_t)report->n_results + 1) * sizeof *grown);
  if (!grown) return NULL;
  report->results = grown;
  memset(&grown[report->n_results], 0, sizeof *grown);
  grown[report->n_results].what = *what;
  return &grown[report->n_results];
}

static int measure(bench_run *run, bench_case what) {
  if (what.length == 0) return 0;
  static const char *const names[] = {[BENCH_PROMPT] = "pp", [BENCH_DECODE] = "tg", [BENCH_FIRST] = "ft"};
  rz_error err = RZ_INIT(rz_error);
  snprintf(what.name, sizeof what.name, "%s%d", names[what.kind], (int)what.length);
  bench_result *result = add_result(&run->report, &what);
  if (!result) return fail_text("bench", "out of memory");
  const rz_status status = bench_count(run->timelines, &what, result, &err);
  if (interrupted()) return 130;
  if (status != RZ_OK) return fail(&err);
  const int failed = repeat(run, result);
  if (failed) return failed;
  bench_judge(&run->report, result);
  bench_summarize(&result->ours);
  bench_summarize(&result->theirs);
  ++run->report.n_results;
  run->writer->row(&run->report, result);
  fflush(stdout);
  return 0;
}

static int measure_depth(bench_run *run, int32_t depth, int32_t threads) {
  const bench_arguments *a = run->arguments;
  int result = 0;
  for (int p = 0; p < a->prompts.count && !result; ++p) {
    const bench_case what = {BENCH_PROMPT, a->prompts.values[p], depth, 1, threads, ""};
    result = measure(run, what);
  }
  for (int f = 0; f < a->firsts.count && !result; ++f) {
    const bench_case what = {BENCH_FIRST, a->firsts.values[f], depth, 1, threads, ""};
    result = measure(run, what);
  }
  for (int w = 0; w < a->widths.count && !result; ++w) {
    for (int n = 0; n < a->decodes.count && !result; ++n) {
      const bench_case what = {BENCH_DECODE, a->decodes.values[n], depth, a->widths.values[w], threads, ""};
      result = measure(run, what);
    }
  }
  return result;
}

static int measure_all(bench_run *run, int32_t threads) {
  const bench_arguments *a = run->arguments;
  int result = 0;
  for (int d = 0; d < a->depths.count && !result; ++d) {
    rz_error err = RZ_INIT(rz_error);
    const int32_t depth = a->depths.values[d];
    if (bench_timelines_open(run->model, depth, longest_case(a), &run->timelines, &err) != RZ_OK)
      return fail(&err);
    result = measure_depth(run, depth, threads);
    bench_timelines_free(run->timelines);
  }
  return result;
}

/* What the machine can do with each number of threads, before a model takes part of it. */
static int measure_ceilings(const bench_arguments *a, bench_report *report) {
  rz_error err = RZ_INIT(rz_error);
  for (int t = 0; t < a->threads.count && !interrupted(); ++t) {
    rz_ceilings *ceilings = &report->ceilings[report->n_ceilings++];
    ceilings->struct_size = sizeof *ceilings;
    if (rz_device_ceilings(a->model.options.device, a->threads.values[t], ceilings, &err) != RZ_OK)
      return fail(&err);
  }
  return interrupted() ? 130 : 0;
}

static int bench(const bench_arguments *a, const bench_writer *writer) {
  bench_run run = {.arguments = a, .writer = writer};
  bench_report *report = &run.report;
  report->path = a->model.path;
  report->compare = a->compare;
  catch_interrupts();
  int result = measure_ceilings(a, report);
  bool begun = false;
  for (int t = 0; t < a->threads.count && !result; ++t) {
    const int32_t threads = report->ceilings[t].threads;
    rz_error err = RZ_INIT(rz_error);
    run.model = load_for(a, threads);
    if (!run.model) {
      result = 1;
      break;
    }
    report->info.struct_size = sizeof report->info;
    if (!begun && rz_model_get_info(run.model, &report->info, &err) != RZ_OK) result = fail(&err);
    if (!begun && !result) writer->begin(report);
    begun = begun || !result;
    if (!result) result = measure_all(&run, threads);
    rz_model_release(run.model);
  }
  if (begun) writer->end(report);
  free(report->results);
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
                       .firsts = {{0}, 1},
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
      {"first", 'f', OPTION_LIST, &a.firsts, "N,...", "prompts whose first token is timed; default: 0 = none",
       0, NULL},
      {"depth", 'd', OPTION_LIST, &a.depths, "N,...", "tokens in the context before; default: 0", 0, NULL},
      {"batch", 'b', OPTION_LIST, &a.widths, "N,...", "timelines decoding together; default: 1", 0, NULL},
      {"threads", 't', OPTION_LIST, &a.threads, "N,...", "0 = the library's choice (default)", 0, NULL},
      {"repetitions", 'r', OPTION_INT, &a.repetitions, "N", "after one untimed; default: 3", 0, NULL},
      {"compare", 0, OPTION_TEXT, &a.compare, "COMMAND", "another program, run in turn with ours; see above",
       0, NULL},
      {"output", 'o', OPTION_TEXT, &a.format, "FORMAT", "md (default), json, csv or svg", 0, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  option model_rows[MODEL_OPTION_ROWS + 1];
  model_option_table(&a.model, model_rows);
  const option *const tables[] = {rows, model_rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc > 1) return usage_error(self, "expected at most one model");
  if (argc == 1) a.model.path = argv[0];
  const bench_writer *writer = find_bench_writer(a.format);
  if (!writer) return usage_error(self, "--output: expected md, json, csv or svg");
  if (!sane(&a)) return usage_error(self, "expected widths of 1 or more, and 1 to 100 repetitions");
  a.model.path = model_path(&a.model);
  return a.model.path ? bench(&a, writer) : 1;
}

/* clang-format off */
static const char details[] =
    "Every combination of the lists is a row. ppN: a prompt of N random tokens is read by one timeline. tgN: N tokens\n"
    "are decoded by each timeline, tok/s of all together. ftN: milliseconds, in place of tok/s, from a request with a\n"
    "prompt of N tokens to its first token. tok/s is the median of the repetitions, spread is (greatest - least) /\n"
    "median. The tool's own thread does the steps (RZ_MODEL_MANUAL_STEP).\n\n"
    "read/tok and ops/tok: weights and KV cache read, and operations done (2 per multiply-accumulate), per token; the\n"
    "weights that a step reads are shared by its tokens. share: how much of the machine's nearest ceiling that uses,\n"
    "and which one: memory reads (GB/s), or multiplies: in 8 bits (GOP/s) where weights are quantized and the device\n"
    "multiplies them so, else of floats (GFLOP/s), as a GPU does with all of them. The ceilings are measured with the\n"
    "same kernels before and after each repetition, about a second each time: memory, above all a virtual machine's,\n"
    "is not equally fast at all times. A model that fits into the caches is not limited by memory and may show more\n"
    "than 100 % of it.\n\n"
    "--compare: COMMAND is run by sh after each of our repetitions, with {model} {threads} {prompt} {decode} {depth}\n"
    "{batch} and {test} filled in: 512 and 0 for pp512, 0 and 32 for tg32, 128 and 1 for ft128. It prints the test's\n"
    "name and a figure, as in 'pp512,353.2', 'pp512 353.2 t/s' or '| pp512 | 353.2 |'; the last one counts. A case\n"
    "that it does not have is one for which it prints nothing and succeeds. It is run once a repetition, and should\n"
    "warm up first: ours are run untimed before each. ratio: how many times as fast as theirs. For example:\n"
    "  --compare 'llama-bench -m {model} -t {threads} -p {prompt} -n {decode} -d {depth} -r 1'\n"
    "  --compare 'other/rz bench {model} -t {threads} -p {prompt} -n {decode} -d {depth} -b {batch} -r 1 -o csv'\n"
    "  --compare '[ {prompt} = 0 ] || echo {test},$(my-prompt-speed {model} {prompt})'\n\n"
    "csv rows: test,tok/s,spread,depth,width,threads,repetitions,bytes/token,operations/token,ceiling (read, int8 or\n"
    "float),its bytes or operations/s,share,their tok/s,ratio; the last two are empty without a comparison. Of ftN\n"
    "tok/s are milliseconds. share and spread: 0.5 = 50 %.\n"
    "json: one object; ceilings: threads, read_bytes_per_s, int8_ops_per_s, float_ops_per_s; results: test, tok_s (of\n"
    "ftN first_token_ms), spread, depth, width, threads, samples (of the same), bytes_per_token,\n"
    "operations_per_token, ceiling (as in csv), ceiling_per_s, share, and where there is a comparison compare: tok_s\n"
    "or first_token_ms, spread, ratio, samples.\n"
    "svg: a picture of speed against depth and against width, with the ceilings; without ftN.";
/* clang-format on */

const command bench_command = {"bench", "[MODEL] [options]",
                               "prompt and decode speed, and how near the machine's ceilings it is", details,
                               run};
