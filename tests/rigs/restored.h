/* A compiled module put in bytes and taken out again, for rigs that run what came back. */
#ifndef TESTS_RESTORED_H
#define TESTS_RESTORED_H
#include "stack/module/module.h"

/*
 * *m becomes what module_restore makes of its bytes, in `a`; the test fails where it cannot, or
 * where saved again it is not the same bytes.
 */
void restore_module(struct module *m, const struct module_settings *s, struct arena *a);
#endif
