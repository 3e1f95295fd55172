/*
 * A compiled module as bytes: what it takes to load, run and report it in another process.
 *
 * Not saved: the optimised graph (its name, parameters and outputs alone), the link's items, and
 * of kernels' segments everything but their size and cost; such a module cannot be dumped. What a
 * kernel is made of stays as the sources of its body's nodes, without operands.
 */
#ifndef STACK_MODULE_ARCHIVE_H
#define STACK_MODULE_ARCHIVE_H
#include "base/archive.h"
#include "stack/module/module.h"

/* `s` are the settings that it was compiled with. */
void module_save(const struct module *m, const struct module_settings *s, struct bytes *to);

/*
 * `a` and the bytes hold all of the result and must live as long. -1: the bytes are not what
 * module_save made of a module with such settings.
 */
int module_restore(const void *data, size_t bytes, const struct module_settings *s,
                   struct arena *a, struct module *out, struct err *e);
#endif
