/* rz, the command-line tool: finds the command and hands it its arguments. */
#include <string.h>

#include "cli.h"

static const command *const commands[] = {&run_command,      &bench_command,      &info_command,
                                          &tokenize_command, &perplexity_command, &quantize_command};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; ++i) {
    if (!strcmp(commands[i]->name, name)) return commands[i];
  }
  fprintf(stderr, "rz: no command '%s'; there are:", name);
  for (int i = 0; i < COMMANDS; ++i) fprintf(stderr, " %s", commands[i]->name);
  fputs(" help version\n", stderr);
  return NULL;
}

static int help(const char *about) {
  static char ask[] = "--help";
  char *argv[] = {ask};
  if (about) {
    const command *found = find_command(about);
    return found ? found->run(found, 1, argv) : 2;
  }
  puts("rz runs language models in GGUF files.\n\nusage: rz COMMAND ...\n");
  for (int i = 0; i < COMMANDS; ++i) printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
  puts("  help         the options of a command: rz help run\n  version      the library's version");
  puts(
      "\nTry:\n  rz run -p \"Once upon a time\"\n  rz run model.gguf -p \"The capital of France is\" -n 32 "
      "--temp 0\n"
      "  rz bench model.gguf -p 512 -n 32 -o csv");
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    help(NULL);
    return 2;
  }
  const char *name = argv[1];
  if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
    return help(argc > 2 ? argv[2] : NULL);
  if (!strcmp(name, "version") || !strcmp(name, "--version")) {
    printf("rz %s\n", rz_version());
    return 0;
  }
  const command *found = find_command(name);
  return found ? found->run(found, argc - 2, argv + 2) : 2;
}
