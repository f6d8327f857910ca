/* Axes of the picture: from values to places, and the round numbers to write beside them. */
#ifndef RZ_BENCH_AXIS_H
#define RZ_BENCH_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_TICKS = 24 };
typedef struct axis {
  double low, high;
  bool logarithmic;
  int n_ticks;
  double ticks[MAX_TICKS]; /* (n_ticks), ascending */
} axis;

/* Speeds: from 0, or logarithmic where the greatest is many times the least. */
axis speed_axis(double least, double greatest);
/* Counts: with some room at both ends. */
axis count_axis(double least, double greatest);
double axis_place(const axis *a, double value); /* 0 at the low end, 1 at the high end */
/* "1,200", "35.2": three digits, or all of those before the point. */
void axis_number(double value, char *out, size_t size);

#endif
