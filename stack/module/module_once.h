/*
 * module_compile for programs that were compiled before, by this build, in whichever process: a
 * cache on disk (base/cache/disk_cache.h) keeps what it made under all that it looks at.
 */
#ifndef STACK_MODULE_ONCE_H
#define STACK_MODULE_ONCE_H
#include "base/cache/disk_cache.h"
#include "stack/module/module.h"

/*
 * `cache` NULL: compiles. What is found has no optimised graph (stack/module/module_archive.h), and
 * *was_found, unless NULL, says so. A cache that cannot be read or written is no error: the
 * program is compiled.
 */
int module_compile_once(const struct graph *g, const struct module_settings *s,
                        struct disk_cache *cache, struct arena *a, struct module *out,
                        bool *was_found, struct err *e);
#endif
