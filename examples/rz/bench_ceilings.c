/* How near a speed comes to what the machine allows. A token costs bytes and operations; the ceiling that it
 * uses up the most of is the one that limits it. What a machine allows wanders, that of a virtual one's
 * memory by the half: each repetition is held against the ceilings measured right before and right after it.
 */
#include <string.h>

#include "bench.h"

/* Weights in blocks are multiplied in 8 bits, those in floating point as they are. A device with one rate for
 * both has one unit for both: a GPU's tensor cores, which get the weights decoded to floats. */
static bool multiplies_floats(const bench_report *report, const rz_ceilings *ceilings) {
  const char *quantization = report->info.quantization;
  return !strcmp(quantization, "F32") || !strcmp(quantization, "F16") || !strcmp(quantization, "BF16") ||
         ceilings->int8_ops_per_s == ceilings->float_ops_per_s;
}

rz_status bench_measure_ceilings(const char *device, bench_result *result, rz_error *err) {
  rz_ceilings *out = &result->ceilings[result->ours.n];
  out->struct_size = sizeof *out;
  return rz_device_ceilings(device, result->what.threads, out, err);
}

typedef double (*rate_of)(const rz_ceilings *ceilings);
static double read_rate(const rz_ceilings *c) { return c->read_bytes_per_s; }
static double int8_rate(const rz_ceilings *c) { return c->int8_ops_per_s; }
static double float_rate(const rz_ceilings *c) { return c->float_ops_per_s; }

/* Tokens a second, whatever the case's figure is. */
static double speed_of(const bench_case *what, double figure) {
  return what->kind == BENCH_FIRST ? what->length * 1e3 / figure : figure;
}

/* Takes the ceiling into the result if it is nearer than the one that is there. */
static void consider(bench_result *result, const char *ceiling, rate_of rate, double per_token) {
  const int n = result->ours.n;
  double rates[MAX_REPETITIONS], shares[MAX_REPETITIONS];
  for (int i = 0; i < n; ++i) {
    rates[i] = (rate(&result->ceilings[i]) + rate(&result->ceilings[i + 1])) / 2;
    shares[i] = per_token * speed_of(&result->what, result->ours.figures[i]) / rates[i];
  }
  const double share = bench_median(shares, n);
  if (result->ceiling && share <= result->share) return;
  result->ceiling = ceiling;
  result->ceiling_rate = bench_median(rates, n);
  result->share = share;
}

void bench_judge(const bench_report *report, bench_result *result) {
  const bool in_float = multiplies_floats(report, &result->ceilings[0]);
  consider(result, "read", read_rate, result->bytes_per_token);
  consider(result, in_float ? "float" : "int8", in_float ? float_rate : int8_rate,
           result->operations_per_token);
}

double bench_ceiling_tok_s(const bench_result *result) { return result->ours.median / result->share; }

void bench_rate_text(const char *ceiling, double rate, char *out, size_t size) {
  if (!strcmp(ceiling, "read")) {
    snprintf(out, size, "%.1f GB/s", rate / 1e9);
  } else {
    const char *unit = !strcmp(ceiling, "float") ? "FLOP" : "OP";
    const bool tera = rate >= 1e13;
    snprintf(out, size, "%.4g %c%s/s", rate / (tera ? 1e12 : 1e9), tera ? 'T' : 'G', unit);
  }
}

void bench_ceilings_text(const rz_ceilings *c, char *out, size_t size) {
  char read[32], int8[32], floats[32];
  bench_rate_text("read", c->read_bytes_per_s, read, sizeof read);
  bench_rate_text("int8", c->int8_ops_per_s, int8, sizeof int8);
  bench_rate_text("float", c->float_ops_per_s, floats, sizeof floats);
  snprintf(out, size, "ceilings at the start with %d thread%s: read %s, int8 %s, float %s", (int)c->threads,
           c->threads == 1 ? "" : "s", read, int8, floats);
}
