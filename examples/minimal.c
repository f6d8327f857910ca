/* The smallest useful program: load a model and print what it writes after a prompt.
 *
 *   cc minimal.c -lrz && ./a.out model.gguf "Once upon a time"
 */
#include <rz.h>
#include <stdio.h>

static int32_t print(void *user, const rz_event *event) {
  (void)user;
  fwrite(event->text, 1, event->text_len, stdout);
  return fflush(stdout); /* anything but 0 stops the generation */
}

int main(int argc, char **argv) {
  rz_error err = RZ_INIT(rz_error);
  rz_model *model = NULL;
  rz_prompt prompt = RZ_INIT(rz_prompt);
  rz_generate_options options = RZ_INIT(rz_generate_options); /* all zero: greedy */
  prompt.text = argc > 2 ? argv[2] : "Once upon a time";
  prompt.text_len = RZ_ZSTR;
  options.max_tokens = 100;
  fputs(prompt.text, stdout);

  rz_status status = rz_model_load(argc > 1 ? argv[1] : "examples/models/stories.gguf", NULL, &model, &err);
  if (status == RZ_OK) status = rz_generate_stream(model, &prompt, &options, print, NULL, NULL, &err);
  if (status != RZ_OK) fprintf(stderr, "%s: %s", rz_status_name(status), err.message);
  puts("");
  rz_model_release(model);
  return status != RZ_OK;
}
