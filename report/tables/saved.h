/*
 * Tables of a run read back (report/view/run_folder.h): from its folder, a stats.json
 * by itself, or a .strace, whose sums tell most of it where no statistics are kept
 * in the file, because the run was cut off.
 */
#ifndef REPORT_SAVED_H
#define REPORT_SAVED_H
#include "report/tables/table.h"

struct saved {
    const char *path;
    char heading[320];                  /* what ran where */
    char note[200];                     /* what is missing, or "" */
    struct table table[TABLE_COUNT];
};

/* Texts and rows are the arena's. -1: not such a file, damaged, or of a newer systole. */
int saved_open(struct saved *s, const char *path, struct arena *a, struct err *e);

/* saved_of_ntrace.c: of a .strace without statistics */
struct ntrace;
void saved_fill_from_ntrace(struct saved *s, struct ntrace *t, struct arena *a);
#endif
