/* Reads whole files into memory. */
#ifndef ISA_FILE_H
#define ISA_FILE_H
#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

#define ISA_FILE_MAX (1L << 30)

/* The bytes of `path`, followed by a NUL that *size does not count, in `a`. */
int isa_file_read(const char *path, struct arena *a, uint8_t **bytes, size_t *size,
                  struct err *e);
#endif
