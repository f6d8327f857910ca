/* rz quantize: writes a model file anew in another block format. */
#include <sys/stat.h>

#include "cli.h"

static uint64_t size_of(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int quantize(const char *in, const char *out, const char *scheme, int32_t threads) {
  static char label[] = "quantizing";
  rz_error err = RZ_INIT(rz_error);
  rz_source source = RZ_INIT(rz_source);
  source.kind = RZ_SOURCE_PATH;
  source.path = in;
  catch_interrupts();
  const double start = now_seconds();
  const rz_status status = rz_quantize(&source, out, scheme, threads, show_progress, label, &err);
  clear_progress();
  if (status == RZ_E_CANCELLED) return 130;
  if (status != RZ_OK) return fail(&err);
  char before[16], after[16];
  human_bytes(size_of(in), before);
  human_bytes(size_of(out), after);
  printf("%s: %s, %s from %s, %.1f s\n", out, scheme, after, before, now_seconds() - start);
  return 0;
}

static int run(const command *self, int argc, char **argv) {
  int32_t threads = 0;
  const option rows[] = {
      {"threads", 't', OPTION_INT, &threads, "N", "default: one per physical core", 0, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  const option *const tables[] = {rows, NULL};
  const parse_result parsed = parse_options(self, tables, &argc, argv);
  if (parsed != PARSE_OK) return (int)parsed;
  if (argc != 3) return usage_error(self, "expected an input file, an output file and a scheme");
  return quantize(argv[0], argv[1], argv[2], threads);
}

const command quantize_command = {
    "quantize", "IN.gguf OUT.gguf SCHEME [options]", "write a model file in another block format",
    "SCHEME: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_K_S, Q4_0, Q3_K_M or Q2_K. OUT appears only when it is whole.",
    run};
