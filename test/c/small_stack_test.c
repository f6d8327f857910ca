/* Every kind of call works on a thread with 64 KiB of stack, errors (which unwind) included. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "work.h"

static void *on_small_stack(void *result) {
  work(result);
  return NULL;
}

int main(void) {
  work_result small, usual;
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
  CHECK(pthread_create(&thread, &attributes, on_small_stack, &small) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  pthread_attr_destroy(&attributes);
  work(&usual);
  CHECK(small.length == usual.length && !memcmp(small.text, usual.text, small.length));
  return 0;
}
