#include "bench_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double kRound[] = {1, 2, 5};

/* The greatest of ... 1, 2, 5, 10, 20 ... that is at most `value`. */
static double round_down(double value) {
  const double decade = pow(10, floor(log10(value)));
  double result = decade;
  for (int i = 0; i < 3; ++i) {
    if (kRound[i] * decade <= value * (1 + 1e-9)) result = kRound[i] * decade;
  }
  return result;
}

static double round_up(double value) {
  const double below = round_down(value);
  if (below >= value * (1 - 1e-9)) return below;
  const double decade = pow(10, floor(log10(below) + 1e-9));
  const double first = below / decade;
  return first < 1.5 ? 2 * decade : first < 3 ? 5 * decade : 10 * decade;
}

static void add_tick(axis *a, double value) {
  if (a->n_ticks < MAX_TICKS) a->ticks[a->n_ticks++] = value;
}

static void linear_ticks(axis *a, double step, double from, double to) {
  for (int k = 0; from + k * step <= to + 1e-9 * step; ++k) add_tick(a, from + k * step);
}

static void log_ticks(axis *a) {
  const bool decades = a->high / a->low > 2e3; /* 2 and 5 would stand too close */
  double decade = pow(10, floor(log10(a->low) + 1e-9));
  for (; decade <= a->high * 1.001; decade *= 10) {
    for (int i = 0; i < (decades ? 1 : 3); ++i) {
      const double value = kRound[i] * decade;
      if (value >= a->low * 0.999 && value <= a->high * 1.001) add_tick(a, value);
    }
  }
}

axis speed_axis(double least, double greatest) {
  axis a = {0};
  a.logarithmic = greatest > 6 * least;
  if (a.logarithmic) {
    a.low = round_down(least * 0.9);
    a.high = round_up(greatest * 1.1);
    log_ticks(&a);
  } else {
    const double step = round_up(greatest / 6);
    a.high = step * ceil(greatest * 1.05 / step);
    linear_ticks(&a, step, 0, a.high);
  }
  return a;
}

axis count_axis(double least, double greatest) {
  axis a = {0};
  if (greatest <= least) {
    a.low = least - 1;
    a.high = least + 1;
    add_tick(&a, least);
    return a;
  }
  const double room = 0.04 * (greatest - least), wanted = round_up((greatest - least) / 6);
  const double step = wanted < 1 ? 1 : wanted, first = step * ceil(least / step);
  a.low = least - room;
  a.high = greatest + room;
  if (first - least >= 0.4 * step) add_tick(&a, least); /* one timeline, though ticks are at 2, 4, ... */
  linear_ticks(&a, step, first, greatest);
  return a;
}

double axis_place(const axis *a, double value) {
  if (a->logarithmic) return log(value / a->low) / log(a->high / a->low);
  return (value - a->low) / (a->high - a->low);
}

void axis_number(double value, char *out, size_t size) {
  char digits[40];
  if (value < 100) {
    snprintf(out, size, "%.3g", value);
    return;
  }
  snprintf(digits, sizeof digits, "%.0f", value);
  const size_t n = strlen(digits);
  size_t at = 0;
  for (size_t i = 0; i < n && at + 2 < size; ++i) {
    if (i > 0 && (n - i) % 3 == 0) out[at++] = ',';
    out[at++] = digits[i];
  }
  out[at] = 0;
}
