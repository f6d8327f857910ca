/* What the C tests share: a check that names its line and ends the program, and a short piece of everyday
 * work with the story model: load, tokenize, generate, a session saved and loaded, release. */
#ifndef RZ_TEST_CHECK_H
#define RZ_TEST_CHECK_H

#include <rz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

#define CHECK_OK(call)                                                                                   \
  do {                                                                                                   \
    const rz_status check_status = (call);                                                               \
    if (check_status != RZ_OK) {                                                                         \
      fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call, (int)check_status, err.message); \
      exit(1);                                                                                           \
    }                                                                                                    \
  } while (0)

#define STORY_MODEL "examples/models/stories.gguf"
enum { WORK_TOKENS = 12, WORK_TEXT = 512 };

/* What the work wrote. */
typedef struct work_result {
  char text[WORK_TEXT];
  size_t length;
  uint32_t tokens;
} work_result;

static int32_t gather(void *user, const rz_event *event) {
  work_result *out = user;
  if (event->text_len > sizeof out->text - out->length) return 1;
  memcpy(out->text + out->length, event->text, event->text_len);
  out->length += event->text_len;
  out->tokens += event->type == RZ_EVENT_TOKEN;
  return 0;
}

/* Generates from the prompt by sampling with a fixed seed. */
static void generate_with(const rz_api *rz, rz_model *model, work_result *out) {
  rz_error err = RZ_INIT(rz_error);
  rz_prompt prompt = RZ_INIT(rz_prompt);
  rz_generate_options options = RZ_INIT(rz_generate_options);
  prompt.text = "Once upon a time there was";
  prompt.text_len = RZ_ZSTR;
  options.max_tokens = WORK_TOKENS;
  options.flags = RZ_GENERATE_IGNORE_EOS;
  options.temperature = 0.9f;
  options.top_p = 0.9f;
  options.seed = 11;
  memset(out, 0, sizeof *out);
  CHECK_OK(rz->generate_stream(model, &prompt, &options, gather, out, NULL, &err));
  CHECK(out->tokens == WORK_TOKENS);
  CHECK(out->length > 0);
}

static rz_model *load_with(const rz_api *rz) {
  rz_error err = RZ_INIT(rz_error);
  rz_model_options options = RZ_INIT(rz_model_options);
  rz_model *model = NULL;
  options.threads = 2;
  options.context_length = 128;
  CHECK_OK(rz->model_load(STORY_MODEL, &options, &model, &err));
  return model;
}

#endif
