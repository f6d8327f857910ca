/* Finding and loading a model, and the options that every command with a model has. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli.h"

static bool take_kv_type(void *target, const char *text) {
  static const struct {
    const char *name;
    int32_t type;
  } types[] = {{"f16", RZ_TYPE_F16}, {"q8_0", RZ_TYPE_Q8_0}, {"f32", RZ_TYPE_F32}, {"f8", RZ_TYPE_F8}};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!strcasecmp(text, types[i].name)) {
      *(int32_t *)target = types[i].type;
      return true;
    }
  }
  return false;
}

void model_arguments_init(model_arguments *arguments) {
  const rz_model_options defaults = RZ_INIT(rz_model_options);
  arguments->path = NULL;
  arguments->options = defaults;
}

void model_option_table(model_arguments *arguments, option table[MODEL_OPTION_ROWS + 1]) {
  rz_model_options *o = &arguments->options;
  const option rows[MODEL_OPTION_ROWS + 1] = {
      {"model", 'm', OPTION_TEXT, &arguments->path, "FILE", "GGUF file; default: the story model", 0, NULL},
      {"threads", 't', OPTION_INT, &o->threads, "N", "default: one per physical core", 0, NULL},
      {"context", 'c', OPTION_INT, &o->context_length, "N", "longest timeline; default: the model's own", 0,
       NULL},
      {"device", 0, OPTION_TEXT, &o->device, "NAME", "auto, cpu, cpu:avx2, cuda; default: auto", 0, NULL},
      {"gpu-layers", 0, OPTION_INT, &o->gpu_layers, "N", "last layers on the GPU; default: as many as fit", 0,
       NULL},
      {"kv-type", 0, OPTION_INT, &o->kv_type, "TYPE", "KV cache in f16 (default) or q8_0; cuda: f8 too", 0,
       take_kv_type},
      {"max-batch", 0, OPTION_INT, &o->max_batch, "N", "rows computed in one step; default: 512", 0, NULL},
      {"no-mmap", 0, OPTION_BITS, &o->flags, NULL, "read the file instead of mapping it", RZ_MODEL_NO_MMAP,
       NULL},
      {"lock", 0, OPTION_BITS, &o->flags, NULL, "keep the weights in memory", RZ_MODEL_LOCK_MEMORY, NULL},
      {"check", 0, OPTION_BITS, &o->flags, NULL, "refuse NaN and infinity in the weights",
       RZ_MODEL_CHECK_TENSORS, NULL},
      {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, NULL}};
  memcpy(table, rows, sizeof rows);
}

/* The story model: in the source tree, seen from the program in .build/NAME or from the working directory, or
 * installed in ../share/rz. */
static const char *story_model(void) {
  static char path[4096];
  static const char *const places[] = {"../../examples/models/", "../share/rz/", ""};
  char program[2048];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) {
    program[length] = 0;
    *(strrchr(program, '/') + 1) = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
      snprintf(path, sizeof path, "%s%sstories.gguf", program, places[i]);
      if (!access(path, R_OK)) return path;
    }
  }
  snprintf(path, sizeof path, "examples/models/stories.gguf");
  return access(path, R_OK) ? NULL : path;
}

const char *model_path(const model_arguments *arguments) {
  const char *path = arguments->path ? arguments->path : story_model();
  if (!path) fail_text("model", "none given, and the story model (examples/models/stories.gguf) is not here");
  return path;
}

rz_model *load_model(const model_arguments *arguments) {
  const char *path = model_path(arguments);
  if (!path) return NULL;
  static char label[] = "loading";
  rz_error err = RZ_INIT(rz_error);
  rz_model *model = NULL;
  rz_model_options options = arguments->options;
  options.on_progress = show_progress;
  options.progress_user = label;
  const rz_status status = rz_model_load(path, &options, &model, &err);
  clear_progress();
  if (status == RZ_OK) return model;
  fail(&err);
  return NULL;
}

bool is_model_path(const char *word) {
  const size_t length = strlen(word);
  return length > 5 && !strcasecmp(word + length - 5, ".gguf");
}
