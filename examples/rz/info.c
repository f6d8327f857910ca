/* rz info: what a model file says about itself, and the memory it will need. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct info_arguments {
  model_arguments model;
  bool json, full;
} info_arguments;

enum { SHOWN_VALUE = 96 }; /* characters of a metadata value, unless all is asked for */

static void print_summary(const rz_model_info *m) {
  char parameters[16], size[16];
  human_count(m->parameters, parameters);
  human_bytes(m->file_bytes, size);
  const double bits = m->parameters ? 8.0 * (double)m->file_bytes / (double)m->parameters : 0;
  printf("%s\n  architecture   %s\n  parameters     %s\n", m->name[0] ? m->name : "(no name)",
         m->architecture, parameters);
  printf("  file           %s, %s, %.2f bits a parameter\n", size, m->quantization, bits);
  printf("  layers         %d of width %d\n", (int)m->layers, (int)m->hidden);
  printf("  attention      %d heads of %d, %d for keys and values\n", (int)m->heads, (int)m->head_dim,
         (int)m->kv_heads);
  if (m->experts) printf("  experts        %d, %d used per token\n", (int)m->experts, (int)m->experts_used);
  printf("  vocabulary     %d tokens, begin %d, end %d\n", (int)m->vocabulary, (int)m->bos_token,
         (int)m->eos_token);
  printf("  context        %d tokens\n", (int)m->context_length);
  if (m->device[0]) printf("  device         %s\n", m->device);
}

static void print_estimate(const rz_memory_estimate *e) {
  char weights[16], kv[16], compute[16], total[16];
  human_bytes(e->weights_bytes, weights);
  human_bytes(e->kv_bytes, kv);
  human_bytes(e->compute_bytes, compute);
  human_bytes(e->weights_bytes + e->kv_bytes + e->compute_bytes, total);
  printf("  memory         %s: weights %s, KV cache %s, buffers %s\n", total, weights, kv, compute);
}

/* Values of one line, cut at SHOWN_VALUE bytes on a character's start. */
static void print_value(const char *value, bool full) {
  size_t length = strlen(value), shown = length;
  if (!full && length > SHOWN_VALUE) {
    for (shown = SHOWN_VALUE; shown > 0 && ((unsigned char)value[shown] & 0xC0) == 0x80;) --shown;
  }
  for (size_t i = 0; i < shown; ++i) {
    const unsigned char c = (unsigned char)value[i];
    if (c == '\n' && !full) {
      fputs("\\n", stdout);
    } else if (c >= 0x20 || c == '\n' || c == '\t') {
      putchar(c);
    }
  }
  puts(shown < length ? " ..." : "");
}

static int print_metadata(const rz_model *model, const info_arguments *a) {
  rz_error err = RZ_INIT(rz_error);
  const size_t count = rz_model_metadata_count(model);
  puts(a->json ? ",\"metadata\":{" : "\nmetadata");
  for (size_t i = 0; i < count; ++i) {
    const char *key, *value;
    if (rz_model_metadata_at(model, i, &key, &value, &err) != RZ_OK) return fail(&err);
    if (a->json) {
      json_text(stdout, key);
      fputc(':', stdout);
      json_text(stdout, value);
      puts(i + 1 < count ? "," : "");
    } else {
      printf("  %-40s ", key);
      print_value(value, a->full);
    }
  }
  if (a->json) puts("}}");
  return 0;
}

static void print_json(const rz_model_info *m, const rz_memory_estimate *e) {
  fputs("{\"name\":", stdout);
  json_text(stdout, m->name);
  fputs(",\"architecture\":", stdout);
  json_text(stdout, m->architecture);
  fputs(",\"quantization\":", stdout);
  json_text(stdout, m->quantization);
  printf(
      ",\"parameters\":%llu,\"file_bytes\":%llu,\"layers\":%d,\"hidden\":%d,\"heads\":%d,\"kv_heads\":%d,"
      "\"head_dim\":%d,\"experts\":%d,\"experts_used\":%d,\"vocabulary\":%d,\"bos_token\":%d,\"eos_token\":%"
      "d,"
      "\"context_length\":%d",
      (unsigned long long)m->parameters, (unsigned long long)m->file_bytes, (int)m->layers, (int)m->hidden,
      (int)m->heads, (int)m->kv_heads, (int)m->head_dim, (int)m->experts, (int)m->experts_used,
      (int)m->vocabulary, (int)m->bos_token, (int)m->eos_token, (int)m->context_length);
  printf(
      ",\"memory\":{\"weights_bytes\":%llu,\"kv_bytes\":%llu,\"compute_bytes\":%llu,\"device_bytes\":%llu}",
      (unsigned long long)e->weights_bytes, (unsigned long long)e->kv_bytes,
      (unsigned long long)e->compute_bytes, (unsigned long long)e->device_bytes);
}

/* `estimated`: whether there is an estimate. */
static int print_info(const rz_model *model, const info_arguments *a, const rz_memory_estimate *estimate,
                      bool estimated) {
  rz_error err = RZ_INIT(rz_error);
  rz_model_info info = RZ_INIT(rz_model_info);
  if (rz_model_get_info(model, &info, &err) != RZ_OK) return fail(&err);
  if (a->json) {
    print_json(&info, estimate);
  } else {
    print_summary(&info);
    if (estimated) print_estimate(estimate);
  }
  return print_metadata(model, a);
}

static int run(const command *self, int argc, char **argv) {
  info_arguments a;
  memset(&a, 0, sizeof a);
  model_arguments_init(&a.model);
  option model_rows[MODEL_OPTION_ROWS + 1];
  model_option_table(&a.model, model_rows);
  const option rows[] = {{"json", 0, OPTION_FLAG, &a.json, NULL, "as one JSON object", 0, NULL},
                         {"full", 0, OPTION_FLAG, &a.full, NULL, "metadata values in full", 0, NULL},
                         {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option *const tables[] = {rows, model_rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc > 1) return usage_error(self, "expected at most one model");
  if (argc == 1) a.model.path = argv[0];
  const char *path = model_path(&a.model);
  if (!path) return 1;
  /* Before the load, which takes memory that the estimate would then find missing. */
  rz_error err = RZ_INIT(rz_error);
  rz_memory_estimate estimate = RZ_INIT(rz_memory_estimate);
  rz_source source = RZ_INIT(rz_source);
  source.kind = RZ_SOURCE_PATH;
  source.path = path;
  const bool estimated = rz_model_estimate(&source, &a.model.options, &estimate, &err) == RZ_OK;
  rz_model *model = load_model(&a.model);
  if (!model) return 1;
  const int result = print_info(model, &a, &estimate, estimated);
  rz_model_release(model);
  return estimated ? result : fail(&err);
}

const command info_command = {"info", "[MODEL] [options]", "what a model file holds and the memory it needs",
                              "The estimate is for the context given with -c, or the model's own.", run};
