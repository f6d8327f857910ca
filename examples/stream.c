/* Text pulled without a callback, as a binding or an event loop would: each event brings whole characters,
 * never a part of a stop string. Ends at the second sentence, at a token limit or after two seconds, and says
 * which.
 *
 *   stream [model.gguf [prompt]]
 */
#include <rz.h>
#include <stdio.h>

static const char *const finishes[] = {"none",      "stop",     "length", "callback",
                                       "cancelled", "deadline", "error"};

static rz_status pull(rz_generation *generation, rz_error *err) {
  int sentences = 0;
  for (;;) {
    rz_event event = RZ_INIT(rz_event);
    const rz_status status = rz_generation_next(generation, -1, &event, err);
    if (status != RZ_OK) return status;
    fwrite(event.text, 1, event.text_len, stdout);
    fflush(stdout);
    for (size_t i = 0; i < event.text_len; ++i) sentences += event.text[i] == '.';
    if (sentences >= 2) rz_generation_cancel(generation); /* the END event still comes */
    if (event.type == RZ_EVENT_END) {
      printf("\n[%s]\n", finishes[event.finish]);
      return RZ_OK;
    }
  }
}

int main(int argc, char **argv) {
  rz_error err = RZ_INIT(rz_error);
  rz_model *model = NULL;
  rz_generation *generation = NULL;
  rz_prompt prompt = RZ_INIT(rz_prompt);
  rz_generate_options options = RZ_INIT(rz_generate_options);
  const rz_span stop = {.data = "The end", .len = 7};
  prompt.text = argc > 2 ? argv[2] : "One morning";
  prompt.text_len = RZ_ZSTR;
  options.temperature = 0.8f;
  options.top_p = 0.95f;
  options.seed = 7;
  options.max_tokens = 200;
  options.stop_strings = &stop;
  options.n_stop_strings = 1;
  options.deadline_ms = 2000;

  rz_status status = rz_model_load(argc > 1 ? argv[1] : "examples/models/stories.gguf", NULL, &model, &err);
  if (status == RZ_OK) status = rz_generation_start(model, &prompt, &options, &generation, &err);
  fputs(prompt.text, stdout);
  if (status == RZ_OK) status = pull(generation, &err);
  if (status == RZ_OK) {
    rz_stats stats = RZ_INIT(rz_stats);
    status = rz_generation_get_stats(generation, &stats, &err);
    printf("%u prompt tokens, %u written, first after %.1f ms\n", stats.prompt_tokens, stats.generated_tokens,
           (double)stats.first_token_us / 1e3);
  }
  if (status != RZ_OK) fprintf(stderr, "%s: %s\n", rz_status_name(status), err.message);
  rz_generation_free(generation);
  rz_model_release(model);
  return status != RZ_OK;
}
