/* All that module_compile looks at, as a string of bytes: what has the same key compiles the same. */
#ifndef STACK_MODULE_KEY_H
#define STACK_MODULE_KEY_H
#include "base/archive.h"
#include "stack/module/module.h"

/*
 * Appends to `key`. False, and `key` means nothing: the graph has no key (stack/hlo/graph_key.h),
 * or the settings ask for more than a program: a plan, dumps, tilings of a file, what was kept.
 */
bool module_key(const struct graph *g, const struct module_settings *s, struct bytes *key);
#endif
