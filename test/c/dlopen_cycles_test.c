/* A host that opens and closes the library a thousand times, each time from another thread and with a
 * generation in between, keeps its memory, threads, thread keys and descriptors. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { CYCLES = 1000, WARM_CYCLES = 100, GROWTH_BYTES = 4 << 20 };

typedef struct process_state {
  long resident_bytes;
  int threads, descriptors, free_keys;
} process_state;

static int entries(const char *folder) {
  DIR *dir = opendir(folder);
  CHECK(dir != NULL);
  int n = 0;
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

static int free_thread_keys(void) {
  static pthread_key_t keys[4096];
  int n = 0;
  while (n < 4096 && pthread_key_create(&keys[n], NULL) == 0) ++n;
  for (int i = 0; i < n; ++i) pthread_key_delete(keys[i]);
  return n;
}

static process_state look(void) {
  process_state state;
  long pages = 0, resident = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  CHECK(statm && fscanf(statm, "%ld %ld", &pages, &resident) == 2);
  fclose(statm);
  state.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  state.threads = entries("/proc/self/task");
  state.descriptors = entries("/proc/self/fd");
  state.free_keys = free_thread_keys();
  return state;
}

static void *cycle(void *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  const rz_api *(*get_api)(uint32_t);
  *(void **)&get_api = dlsym(library, "rz_get_api");
  CHECK(get_api != NULL);
  const rz_api *rz = get_api(RZ_ABI_VERSION);
  CHECK(rz != NULL);
  rz_model *model = load_with(rz);
  work_result result;
  generate_with(rz, model, &result);
  rz->model_release(model);
  CHECK(dlclose(library) == 0);
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  char path[4096];
  snprintf(path, sizeof path, "%s/librz.so.1", argv[1]);
  process_state before = {0, 0, 0, 0};
  for (int i = 0; i < CYCLES; ++i) {
    if (i == WARM_CYCLES) before = look();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, cycle, path) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  const process_state after = look();
  printf("resident %ld -> %ld bytes, threads %d -> %d, descriptors %d -> %d, free keys %d -> %d\n",
         before.resident_bytes, after.resident_bytes, before.threads, after.threads, before.descriptors,
         after.descriptors, before.free_keys, after.free_keys);
  CHECK(after.resident_bytes < before.resident_bytes + GROWTH_BYTES);
  CHECK(after.threads == before.threads);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.free_keys == before.free_keys);
  return 0;
}
