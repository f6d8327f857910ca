/* A model inside a game: no thread of its own, a few milliseconds of each frame, and the text as it comes.
 * Prints the longest frame's work at the end.
 *
 *   game_loop [model.gguf [budget_us]]
 */
#define _POSIX_C_SOURCE 200809L
#include <rz.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAME_US = 16667 }; /* 60 frames a second */

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_us(int64_t us) {
  if (us <= 0) return;
  struct timespec t = {.tv_sec = 0, .tv_nsec = (long)us * 1000};
  nanosleep(&t, NULL);
}

/* One frame's share: some work within the budget, then whatever text is ready. Returns 1 while there is more.
 */
static int think(rz_model *model, rz_generation *speech, uint32_t budget_us, rz_error *err) {
  int32_t work_left = 0;
  if (rz_model_step(model, budget_us, &work_left, err) != RZ_OK) return -1;
  rz_event event = RZ_INIT(rz_event);
  rz_status status;
  while ((status = rz_generation_next(speech, 0, &event, err)) == RZ_OK) {
    fwrite(event.text, 1, event.text_len, stdout);
    fflush(stdout);
    if (event.type == RZ_EVENT_END) return 0;
  }
  return status == RZ_E_TIMEOUT ? 1 : -1; /* nothing more is ready in this frame */
}

int main(int argc, char **argv) {
  const uint32_t budget_us = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4000;
  rz_error err = RZ_INIT(rz_error);
  rz_model *model = NULL;
  rz_generation *speech = NULL;
  rz_model_options load = RZ_INIT(rz_model_options);
  rz_prompt prompt = RZ_INIT(rz_prompt);
  rz_generate_options options = RZ_INIT(rz_generate_options);
  load.flags = RZ_MODEL_MANUAL_STEP;
  prompt.text = "Once upon a time";
  prompt.text_len = RZ_ZSTR;
  options.max_tokens = 120;
  fputs(prompt.text, stdout);

  int more = -1;
  int64_t longest_us = 0;
  int frames = 0;
  if (rz_model_load(argc > 1 ? argv[1] : "examples/models/stories.gguf", &load, &model, &err) == RZ_OK &&
      rz_generation_start(model, &prompt, &options, &speech, &err) == RZ_OK) {
    for (more = 1; more == 1; ++frames) {
      const int64_t start = now_us();
      more = think(model, speech, budget_us, &err);
      const int64_t worked_us = now_us() - start;
      if (worked_us > longest_us) longest_us = worked_us;
      sleep_us(FRAME_US - worked_us);
    }
  }
  if (more < 0) {
    fprintf(stderr, "%s: %s\n", rz_status_name(err.code), err.message);
  } else {
    printf("\n%d frames, budget %.1f ms, longest %.1f ms\n", frames, budget_us / 1e3,
           (double)longest_us / 1e3);
  }
  rz_generation_free(speech);
  rz_model_release(model);
  return more < 0;
}
