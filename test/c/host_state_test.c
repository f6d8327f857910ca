/* The library leaves its host as it was: locale, signals, floating-point mode, environment, working directory
 * and streams; and a host with an unusual floating-point mode gets the same text. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "work.h"

extern char **environ;
enum { SIGNALS = 32 };

typedef struct host_state {
  char locale[256], folder[1024];
  struct sigaction actions[SIGNALS];
  sigset_t mask;
  char **environment;
  size_t variables;
  mode_t umask;
  int rounding;
  unsigned float_mode; /* MXCSR */
} host_state;

static unsigned float_mode(void) {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu; /* without the exception flags, which any arithmetic raises */
#else
  return 0;
#endif
}

static void look(host_state *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->locale, sizeof out->locale, "%s", setlocale(LC_ALL, NULL));
  CHECK(getcwd(out->folder, sizeof out->folder) != NULL);
  for (int i = 1; i < SIGNALS; ++i) {
    if (i != SIGKILL && i != SIGSTOP) CHECK(sigaction(i, NULL, &out->actions[i]) == 0);
  }
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &out->mask) == 0);
  out->environment = environ;
  while (environ[out->variables]) ++out->variables;
  out->umask = umask(0);
  umask(out->umask);
  out->rounding = fegetround();
  out->float_mode = float_mode();
}

static void check_same(const host_state *a, const host_state *b) {
  CHECK(!strcmp(a->locale, b->locale));
  CHECK(!strcmp(a->folder, b->folder));
  for (int i = 1; i < SIGNALS; ++i) {
    CHECK(a->actions[i].sa_handler == b->actions[i].sa_handler);
    CHECK(a->actions[i].sa_flags == b->actions[i].sa_flags);
    CHECK(sigismember(&a->mask, i) == sigismember(&b->mask, i));
  }
  CHECK(a->environment == b->environment && a->variables == b->variables);
  CHECK(a->umask == b->umask);
  CHECK(a->rounding == b->rounding);
  CHECK(a->float_mode == b->float_mode);
}

static void work_unseen(work_result *out) {
  host_state before, after;
  look(&before);
  work(out);
  look(&after);
  check_same(&before, &after);
}

/* Does the work with stdout and stderr turned into a file, which must stay empty. */
static void work_silently(work_result *out) {
  char path[] = "/tmp/rz-test-c-silent-XXXXXX";
  const int file = mkstemp(path);
  const int kept_out = dup(1), kept_err = dup(2);
  CHECK(file >= 0 && kept_out >= 0 && kept_err >= 0);
  fflush(stdout);
  dup2(file, 1);
  dup2(file, 2);
  work(out);
  fflush(stdout);
  dup2(kept_out, 1);
  dup2(kept_err, 2);
  struct stat status;
  CHECK(fstat(file, &status) == 0);
  CHECK(status.st_size == 0);
  close(file);
  close(kept_out);
  close(kept_err);
  unlink(path);
}

int main(void) {
  work_result usual, other;
  work_unseen(&usual);
  work_silently(&other);
  CHECK(usual.length == other.length && !memcmp(usual.text, other.text, usual.length));

  /* A decimal comma must not reach the numbers that the library reads or writes. */
  if (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "C.UTF-8")) work_unseen(&other);
  CHECK(usual.length == other.length && !memcmp(usual.text, other.text, usual.length));

#if defined(__x86_64__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _mm_setcsr(_mm_getcsr() | 0x40u); /* denormals are zero */
#endif
  CHECK(fesetround(FE_TOWARDZERO) == 0);
  work_unseen(&other);
  CHECK(fesetround(FE_TONEAREST) == 0);
  CHECK(usual.length == other.length && !memcmp(usual.text, other.text, usual.length));
  return 0;
}
