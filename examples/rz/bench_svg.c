/* The picture, as SVG: speed against depth on the left, against batch width on the right. A series has one
 * colour: its line, its ceiling dashed, the other program's points hollow. The background is part of the
 * picture, so it reads the same on a light and on a dark page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_axis.h"

/* Pixels. */
enum {
  WIDTH = 1040,
  PANEL_WIDTH = 510,
  PLOT_LEFT = 78,
  PLOT_WIDTH = 310,
  PLOT_HEIGHT = 290,
  LINE = 17,       /* from one line of text to the next */
  LABEL_ROOM = 14, /* between labels beside the plot */
  MAX_LABELS = 3 * MAX_SERIES
};

/* Told apart by people who see few colours, and dark enough for white (Okabe and Ito's, some darkened). */
static const char *const kColours[] = {"#0072b2", "#c04d00", "#00805e", "#a6418a",
                                       "#8a6a00", "#3a87b8", "#5b3fa0", "#555555"};
enum { COLOURS = sizeof kColours / sizeof *kColours };
static const char kInk[] = "#222222", kFaint[] = "#e4e4e4", kAxis[] = "#777777", kSoft[] = "#555555";

typedef struct label {
  double y;
  const char *colour;
  bool bold;
  char text[64];
} label;

typedef struct plot {
  const bench_panel *panel;
  axis x, y;
  double left, top; /* of the plot area */
  int n_labels;
  label labels[MAX_LABELS]; /* right of the plot */
} plot;

/* ---- words ---- */

/* At most `limit` characters, as text of an XML file. */
static void xml_text(const char *text, int limit) {
  const size_t length = strlen(text);
  size_t i = 0;
  for (; i < length && limit > 0; --limit) {
    const size_t n = utf8_character(text + i, length - i);
    const char c = text[i];
    if (n == 0) {
      fputs("&#xfffd;", stdout);
    } else if (c == '&') {
      fputs("&amp;", stdout);
    } else if (c == '<') {
      fputs("&lt;", stdout);
    } else if (c == '>') {
      fputs("&gt;", stdout);
    } else if (n == 1 && (c < 0x20 || c == 0x7f)) {
      putchar(' ');
    } else {
      fwrite(text + i, 1, n, stdout);
    }
    i += n ? n : 1;
  }
  if (i < length) fputs("…", stdout);
}

static void write_at(double x, double y, const char *anchor, const char *colour, const char *extra,
                     const char *text) {
  printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\"%s>", x, y, anchor, colour, extra);
  xml_text(text, 160);
  puts("</text>");
}

static void line(double x1, double y1, double x2, double y2, const char *colour, const char *extra) {
  printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"%s/>\n", x1, y1, x2, y2, colour,
         extra);
}

/* ---- axes ---- */

static double place_x(const plot *p, double x) { return p->left + PLOT_WIDTH * axis_place(&p->x, x); }
static double place_y(const plot *p, double y) { return p->top + PLOT_HEIGHT * (1 - axis_place(&p->y, y)); }

static void include(double value, double *least, double *greatest) {
  if (value < *least) *least = value;
  if (value > *greatest) *greatest = value;
}

static void choose_axes(plot *p) {
  double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = 0;
  for (int i = 0; i < p->panel->n; ++i) {
    for (int j = 0; j < p->panel->series[i].n; ++j) {
      const bench_point *point = &p->panel->series[i].points[j];
      const bench_result *r = point->result;
      include(point->x, &low_x, &high_x);
      include(r->ours.figures[0], &low_y, &high_y);
      include(r->ours.figures[r->ours.n - 1], &low_y, &high_y);
      include(bench_ceiling_tok_s(r), &low_y, &high_y);
      if (r->theirs.n > 0) include(r->theirs.median, &low_y, &high_y);
    }
  }
  p->x = count_axis(low_x, high_x);
  p->y = speed_axis(low_y, high_y);
}

static void draw_axes(const plot *p) {
  const double bottom = p->top + PLOT_HEIGHT, right = p->left + PLOT_WIDTH;
  char number[32];
  for (int i = 0; i < p->y.n_ticks; ++i) {
    const double y = place_y(p, p->y.ticks[i]);
    line(p->left, y, right, y, kFaint, "");
    axis_number(p->y.ticks[i], number, sizeof number);
    write_at(p->left - 8, y + 4, "end", kSoft, "", number);
  }
  for (int i = 0; i < p->x.n_ticks; ++i) {
    const double x = place_x(p, p->x.ticks[i]);
    line(x, bottom, x, bottom + 5, kAxis, "");
    axis_number(p->x.ticks[i], number, sizeof number);
    write_at(x, bottom + 19, "middle", kSoft, "", number);
  }
  line(p->left, bottom, right, bottom, kAxis, "");
  line(p->left, p->top, p->left, bottom, kAxis, "");
  write_at(p->left + PLOT_WIDTH / 2.0, bottom + 38, "middle", kInk, "", p->panel->x_title);
  write_at(right, p->top - 14, "end", kSoft, "", p->y.logarithmic ? "tok/s, logarithmic" : "tok/s");
  write_at(p->left, p->top - 14, "start", kInk, " font-weight=\"600\" font-size=\"14\"", p->panel->title);
}

/* ---- series ---- */

static void add_label(plot *p, double y, const char *colour, bool bold, const char *text) {
  if (p->n_labels == MAX_LABELS) return;
  label *l = &p->labels[p->n_labels++];
  l->y = y;
  l->colour = colour;
  l->bold = bold;
  snprintf(l->text, sizeof l->text, "%s", text);
}

typedef double (*value_of)(const bench_result *result); /* 0 = none */
static double ours_of(const bench_result *r) { return r->ours.median; }
static double theirs_of(const bench_result *r) { return r->theirs.n > 0 ? r->theirs.median : 0; }

/* A single point becomes a short line, so that it is seen. */
static void draw_line(const plot *p, const bench_series *s, value_of value, const char *colour,
                      const char *style) {
  printf("<polyline fill=\"none\" stroke=\"%s\" %s points=\"", colour, style);
  for (int i = 0; i < s->n; ++i) {
    const double v = value(s->points[i].result), x = place_x(p, s->points[i].x);
    if (v <= 0) continue;
    if (s->n == 1) printf("%.1f,%.1f ", x - 16, place_y(p, v));
    printf("%.1f,%.1f ", s->n == 1 ? x + 16 : x, place_y(p, v));
  }
  puts("\"/>");
}

static void draw_points(const plot *p, const bench_series *s, const char *colour) {
  for (int i = 0; i < s->n; ++i) {
    const bench_result *r = s->points[i].result;
    const double x = place_x(p, s->points[i].x);
    line(x, place_y(p, r->ours.figures[0]), x, place_y(p, r->ours.figures[r->ours.n - 1]), colour, "");
    printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\" fill=\"%s\"/>\n", x, place_y(p, r->ours.median),
           colour);
    if (r->theirs.n == 0) continue;
    const double y = place_y(p, r->theirs.median);
    printf("<path d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\" fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
           x, y - 5, colour);
  }
}

static void draw_series(plot *p, const bench_series *s, const char *colour) {
  char number[32], text[64];
  const bench_result *last = s->points[s->n - 1].result;
  draw_line(p, s, bench_ceiling_tok_s, colour, "stroke-width=\"1.3\" stroke-dasharray=\"5 4\"");
  if (last->theirs.n > 0) draw_line(p, s, theirs_of, colour, "stroke-width=\"1\" stroke-dasharray=\"1 3\"");
  if (s->n > 1) draw_line(p, s, ours_of, colour, "stroke-width=\"2\"");
  draw_points(p, s, colour);
  axis_number(last->ours.median, number, sizeof number);
  snprintf(text, sizeof text, "%s (%.0f %%)", number, 100 * last->share);
  add_label(p, place_y(p, last->ours.median), colour, true, text);
  axis_number(bench_ceiling_tok_s(last), number, sizeof number);
  snprintf(text, sizeof text, "%s ceiling %s", last->ceiling, number);
  add_label(p, place_y(p, bench_ceiling_tok_s(last)), colour, false, text);
  if (last->theirs.n == 0) return;
  axis_number(last->theirs.median, number, sizeof number);
  snprintf(text, sizeof text, "\xE2\x97\x87 %s", number);
  add_label(p, place_y(p, last->theirs.median), colour, false, text);
}

static int by_y(const void *a, const void *b) {
  const double x = ((const label *)a)->y, y = ((const label *)b)->y;
  return x < y ? -1 : x > y;
}

/* Labels stand beside what they name, and give way to each other. */
static void draw_labels(plot *p) {
  const double right = p->left + PLOT_WIDTH + 10;
  qsort(p->labels, (size_t)p->n_labels, sizeof *p->labels, by_y);
  for (int i = 1; i < p->n_labels; ++i) {
    const double least = p->labels[i - 1].y + LABEL_ROOM;
    if (p->labels[i].y < least) p->labels[i].y = least;
  }
  double most = p->top + PLOT_HEIGHT;
  for (int i = p->n_labels; i-- > 0; most -= LABEL_ROOM) {
    if (p->labels[i].y > most) p->labels[i].y = most;
    if (p->labels[i].y < most) most = p->labels[i].y;
  }
  for (int i = 0; i < p->n_labels; ++i) {
    const label *l = &p->labels[i];
    write_at(right, l->y + 4, "start", l->colour, l->bold ? " font-weight=\"600\"" : " font-size=\"11\"",
             l->text);
  }
}

static void draw_legend(const plot *p) {
  double y = p->top + PLOT_HEIGHT + 62;
  for (int i = 0; i < p->panel->n; ++i, y += LINE) {
    const char *colour = kColours[i % COLOURS];
    line(p->left, y - 4, p->left + 24, y - 4, colour, " stroke-width=\"2\"");
    printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\" fill=\"%s\"/>\n", p->left + 12, y - 4, colour);
    write_at(p->left + 32, y, "start", kInk, "", p->panel->series[i].label);
  }
}

static void draw_panel(const bench_panel *panel, double left, double top) {
  plot p = {.panel = panel, .left = left + PLOT_LEFT, .top = top};
  if (panel->n == 0) {
    write_at(p.left, top - 14, "start", kSoft, "", "no decoding measured");
    return;
  }
  choose_axes(&p);
  draw_axes(&p);
  for (int i = 0; i < panel->n; ++i) draw_series(&p, &panel->series[i], kColours[i % COLOURS]);
  draw_labels(&p);
  draw_legend(&p);
}

/* ---- the whole ---- */

static void draw_head(const bench_report *report) {
  char text[512], parameters[16], size[16];
  const char *file = strrchr(report->path, '/');
  double y = 34;
  human_count(report->info.parameters, parameters);
  human_bytes(report->info.file_bytes, size);
  snprintf(text, sizeof text, "%.200s: %s %s, %s parameters, %s", file ? file + 1 : report->path,
           report->info.architecture, report->info.quantization, parameters, size);
  write_at(24, y, "start", kInk, " font-weight=\"600\" font-size=\"17\"", text);
  y += 22;
  snprintf(text, sizeof text, "librz %s on %s", rz_version(), report->info.device);
  write_at(24, y, "start", kSoft, "", text);
  for (int i = 0; i < report->n_ceilings; ++i) {
    y += LINE;
    bench_ceilings_text(&report->ceilings[i], text, sizeof text);
    write_at(24, y, "start", kSoft, "", text);
  }
}

static void draw_key(const bench_report *report, double y) {
  line(24, y - 4, 48, y - 4, kSoft, " stroke-width=\"2\"");
  printf("<circle cx=\"36\" cy=\"%.1f\" r=\"3.6\" fill=\"%s\"/>\n", y - 4, kSoft);
  write_at(56, y, "start", kSoft, "",
           "median and, in brackets, its share of the ceiling; bar: least to greatest");
  y += LINE;
  line(24, y - 4, 48, y - 4, kSoft, " stroke-width=\"1.3\" stroke-dasharray=\"5 4\"");
  write_at(56, y, "start", kSoft, "",
           "ceiling: a token's bytes read, or its operations done, as fast as the machine can");
  if (!report->compare) return;
  y += LINE;
  printf("<path d=\"M36 %.1fl5 5l-5 5l-5 -5z\" fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
         y - 9, kSoft);
  printf("<text x=\"56\" y=\"%.1f\" fill=\"%s\">", y, kSoft);
  xml_text(report->compare, 140);
  puts("</text>");
}

void bench_svg(const bench_report *report) {
  bench_panel *panels = malloc(2 * sizeof *panels);
  if (!panels) {
    fail_text("bench", "out of memory");
    return;
  }
  bench_by_depth(report, &panels[0]);
  bench_by_width(report, &panels[1]);
  const int lines = panels[0].n > panels[1].n ? panels[0].n : panels[1].n;
  const double plots = 34 + 22 + LINE * report->n_ceilings + 52;
  const double key = plots + PLOT_HEIGHT + 62 + LINE * lines + 16;
  const double height = key + LINE + (report->compare ? LINE : 0) + 20;
  printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
      "font-family=\"system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif\" font-size=\"12\">\n"
      "<rect width=\"%d\" height=\"%.0f\" rx=\"8\" fill=\"#ffffff\"/>\n",
      WIDTH, height, WIDTH, height, WIDTH, height);
  draw_head(report);
  draw_panel(&panels[0], 0, plots);
  draw_panel(&panels[1], PANEL_WIDTH, plots);
  draw_key(report, key);
  puts("</svg>");
  free(panels);
}
