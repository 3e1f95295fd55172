/*
 * Which build this code is of: the linker's hash over the program or library that holds it. What
 * one build has kept is nothing to another.
 */
#ifndef BASE_BUILD_ID_H
#define BASE_BUILD_ID_H
#include <stddef.h>

/* NULL: it was linked without --build-id */
const void *build_id(size_t *bytes);
#endif
