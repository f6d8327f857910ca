/* A host with its own xxHash, mimalloc, PCRE2 and utf8proc, in other versions than the library's: here they
 * end the program when called. Linked with -rdynamic, so that nothing but the library's own linking keeps it
 * off them. Its static form would not even link, were the names inside librz.a still visible. */
#include "work.h"

#define HOST_OWN(name)                                        \
  void name(void);                                            \
  void name(void) {                                           \
    fprintf(stderr, "the host's own %s was called\n", #name); \
    abort();                                                  \
  }

HOST_OWN(XXH64)
HOST_OWN(XXH3_64bits)
HOST_OWN(XXH3_64bits_withSeed)
HOST_OWN(XXH3_64bits_update)
HOST_OWN(XXH3_64bits_digest)
HOST_OWN(XXH3_128bits)
HOST_OWN(XXH3_128bits_withSeed)
HOST_OWN(XXH3_128bits_update)
HOST_OWN(XXH3_128bits_digest)
HOST_OWN(XXH3_createState)
HOST_OWN(mi_malloc)
HOST_OWN(mi_malloc_aligned)
HOST_OWN(mi_free)
HOST_OWN(mi_heap_malloc)
HOST_OWN(mi_heap_malloc_aligned)
HOST_OWN(mi_heap_malloc_small)
HOST_OWN(mi_heap_get_default)
HOST_OWN(mi_process_init)
HOST_OWN(mi_thread_init)
HOST_OWN(mi_usable_size)
HOST_OWN(pcre2_compile_8)
HOST_OWN(pcre2_match_8)
HOST_OWN(pcre2_jit_compile_8)
HOST_OWN(pcre2_jit_match_8)
HOST_OWN(pcre2_code_free_8)
HOST_OWN(pcre2_match_data_create_8)
HOST_OWN(pcre2_match_data_create_from_pattern_8)
HOST_OWN(pcre2_get_ovector_pointer_8)
HOST_OWN(utf8proc_iterate)
HOST_OWN(utf8proc_category)
HOST_OWN(utf8proc_decompose)
HOST_OWN(utf8proc_get_property)
HOST_OWN(utf8proc_tolower)

int main(void) {
  work_result result;
  work(&result);
  return 0;
}
