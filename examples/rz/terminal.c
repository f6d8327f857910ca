/* The terminal: Ctrl-C, the progress bar, and where messages go. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t stop_asked;

/* SA_RESETHAND: the first Ctrl-C asks for a clean end, the second one has its usual meaning. */
static void on_interrupt(int signal_number) {
  (void)signal_number;
  stop_asked = 1;
}

void catch_interrupts(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, NULL);
}

bool interrupted(void) { return stop_asked != 0; }

double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { BAR_WIDTH = 40 };
static const double kPatience = 0.2; /* seconds: work done sooner shows no bar */

static double progress_start;
static int drawn_cells = -1; /* of the bar on the screen; -1 = none */

int32_t show_progress(void *label, float fraction) {
  if (progress_start == 0) progress_start = now_seconds();
  const int cells = (int)(fraction * BAR_WIDTH);
  if (cells != drawn_cells && isatty(STDERR_FILENO) && now_seconds() - progress_start > kPatience) {
    static const char full[] = "########################################";
    fprintf(stderr, "\r%s [%.*s%*s] %3d %%", (const char *)label, cells, full, BAR_WIDTH - cells, "",
            (int)(fraction * 100));
    drawn_cells = cells;
  }
  return interrupted();
}

void clear_progress(void) {
  if (drawn_cells >= 0) fputs("\r\033[K", stderr);
  drawn_cells = -1;
  progress_start = 0;
}

int fail(const rz_error *err) {
  clear_progress();
  fprintf(stderr, "rz: %s (%s)\n", err->message, rz_status_name(err->code));
  return 1;
}

int fail_text(const char *what, const char *why) {
  clear_progress();
  fprintf(stderr, "rz: %s: %s\n", what, why);
  return 1;
}
