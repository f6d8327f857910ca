/* How near a speed comes to what the machine allows. A token costs bytes and operations; the ceiling that it
 * uses up the most of is the one that limits it. */
#include <string.h>

#include "bench.h"

static const rz_ceilings *ceilings_of(const bench_report *report, int32_t threads) {
  for (int i = 0; i < report->n_ceilings; ++i) {
    if (report->ceilings[i].threads == threads) return &report->ceilings[i];
  }
  return &report->ceilings[0];
}

/* Weights in blocks are multiplied in 8 bits, those in floating point as they are. */
static bool float_weights(const char *quantization) {
  return !strcmp(quantization, "F32") || !strcmp(quantization, "F16") || !strcmp(quantization, "BF16");
}

void bench_judge(const bench_report *report, bench_result *result) {
  const rz_ceilings *c = ceilings_of(report, result->what.threads);
  const bool in_float = float_weights(report->info.quantization);
  const double speed = result->ours.median;
  const double read = result->bytes_per_token * speed / c->read_bytes_per_s;
  const double arithmetic =
      result->operations_per_token * speed / (in_float ? c->float_ops_per_s : c->int8_ops_per_s);
  result->ceiling = read >= arithmetic ? "read" : in_float ? "float" : "int8";
  result->share = read >= arithmetic ? read : arithmetic;
}

double bench_ceiling_tok_s(const bench_result *result) { return result->ours.median / result->share; }

void bench_ceilings_text(const rz_ceilings *c, char *out, size_t size) {
  snprintf(out, size, "ceilings with %d thread%s: read %.1f GB/s, int8 %.4g GOP/s, float %.4g GFLOP/s",
           (int)c->threads, c->threads == 1 ? "" : "s", c->read_bytes_per_s / 1e9, c->int8_ops_per_s / 1e9,
           c->float_ops_per_s / 1e9);
}
