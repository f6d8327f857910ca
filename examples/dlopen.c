/* A host that finds the library at run time: one symbol, rz_get_api, gives all functions in a table.
 *
 *   dlopen [librz.so.1 [model.gguf [prompt]]]
 */
#include <dlfcn.h>
#include <rz.h>
#include <stdio.h>

static int32_t print(void *user, const rz_event *event) {
  (void)user;
  fwrite(event->text, 1, event->text_len, stdout);
  return fflush(stdout);
}

static int tell(const rz_api *rz, const char *model_path, const char *text) {
  rz_error err = RZ_INIT(rz_error);
  rz_model *model = NULL;
  rz_prompt prompt = RZ_INIT(rz_prompt);
  rz_generate_options options = RZ_INIT(rz_generate_options);
  prompt.text = text;
  prompt.text_len = RZ_ZSTR;
  options.max_tokens = 60;
  fputs(text, stdout);

  rz_status status = rz->model_load(model_path, NULL, &model, &err);
  if (status == RZ_OK) status = rz->generate_stream(model, &prompt, &options, print, NULL, NULL, &err);
  if (status != RZ_OK) fprintf(stderr, "%s: %s", rz->status_name(status), err.message);
  puts("");
  rz->model_release(model);
  return status != RZ_OK;
}

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "librz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that this one works.
   */
  const rz_api *(*get_api)(uint32_t abi_version);
  *(void **)&get_api = dlsym(library, "rz_get_api");
  const rz_api *rz = get_api ? get_api(RZ_ABI_VERSION) : NULL;
  if (!rz) {
    fprintf(stderr, "this library does not speak version %u of the interface\n", (unsigned)RZ_ABI_VERSION);
    return 1;
  }
  printf("librz %s\n", rz->version());
  const int failed =
      tell(rz, argc > 2 ? argv[2] : "examples/models/stories.gguf", argc > 3 ? argv[3] : "Once upon a time");
  dlclose(library);
  return failed;
}
