/*
 * Files that are broken at random, for readers of bytes: what such a reader makes of any is
 * something, or a mistake with a message.
 */
#ifndef TESTS_RIGS_BROKEN_BYTES_H
#define TESTS_RIGS_BROKEN_BYTES_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads bytes and forgets what it made of them; 0, or -1 with the message. */
typedef int read_bytes_fn(const void *data, size_t bytes, struct err *e);

/* The file cut at every place, each part in memory of its own; is_refused: every part must be. */
void check_cut_files(read_bytes_fn *read, const char *path, bool is_refused);
/* `rounds` times one of the files, `count` of them, with up to three of its bytes changed. The seed
 * rolls, and is printed. */
void check_changed_files(read_bytes_fn *read, const char *const *path, int count, int rounds);
#endif
