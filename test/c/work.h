/* The everyday work for hosts that link the library: every kind of call once, errors included. */
#ifndef RZ_TEST_WORK_H
#define RZ_TEST_WORK_H

#include <unistd.h>

#include "check.h"

/* A session is evaluated, saved, loaded and gives the same logits again. */
static void work_with_sessions(rz_model *model, const char *file, const int32_t *ids, size_t n) {
  rz_error err = RZ_INIT(rz_error);
  rz_model_info info = RZ_INIT(rz_model_info);
  rz_session *session = NULL, *again = NULL;
  CHECK_OK(rz_model_get_info(model, &info, &err));
  const size_t row = (size_t)info.vocabulary;
  float *logits = malloc(2 * row * sizeof *logits); /* (2, vocabulary) */
  CHECK(logits != NULL);
  CHECK_OK(rz_session_open(model, NULL, &session, &err));
  CHECK_OK(rz_session_eval(session, ids, n, NULL, 0, &err));
  CHECK_OK(rz_session_save(session, file, &err));
  CHECK_OK(rz_session_load(model, file, &again, &err));
  CHECK_OK(rz_session_eval(session, ids, 1, logits, 1, &err));
  CHECK_OK(rz_session_eval(again, ids, 1, logits + row, 1, &err));
  CHECK(!memcmp(logits, logits + row, row * sizeof *logits));
  rz_session_free(session);
  rz_session_free(again);
  free(logits);
}

static void work(work_result *out) {
  rz_error err = RZ_INIT(rz_error);
  const rz_api *rz = rz_get_api(RZ_ABI_VERSION);
  CHECK(rz != NULL);
  char file[64];
  int32_t ids[64];
  size_t count = 0;
  rz_model *none = NULL;
  CHECK(rz_model_load("no such file.gguf", NULL, &none, &err) == RZ_E_IO);
  CHECK(none == NULL && err.message[0] != 0);
  CHECK(rz_model_load("README.md", NULL, &none, &err) == RZ_E_FORMAT);

  rz_model *model = load_with(rz);
  CHECK_OK(rz_tokenize(model, "The cat's 3 caf\xC3\xA9s.", RZ_ZSTR, 0, ids, 64, &count, &err));
  CHECK(count > 0);
  generate_with(rz, model, out);
  snprintf(file, sizeof file, "/tmp/rz-test-c-%ld.session", (long)getpid());
  work_with_sessions(model, file, ids, count);
  unlink(file);
  rz_model_release(model);
}

#endif
