/*
 * docs/timing.md: what the numbers of the chip files mean and where they come
 * from, as Markdown from params.def and the built-in chip files.
 */
#ifndef CLI_TIMING_DOC_H
#define CLI_TIMING_DOC_H
#include "base/err.h"

#include <stdio.h>

int timing_doc_print(FILE *to, struct err *e);
#endif
