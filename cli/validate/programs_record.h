/*
 * What became of each program the last time that somebody looked, so that none gets worse unnoticed:
 * a CSV with the columns path, way, outcome, right, compared, and a row for each try, where paths are
 * relative to the folder of samples.
 */
#ifndef CLI_PROGRAMS_RECORD_H
#define CLI_PROGRAMS_RECORD_H
#include "cli/validate/programs.h"

struct program_record_row {
    const char *path, *way;
    enum program_outcome outcome;
    int right, compared;                /* results */
};

struct program_record {
    struct program_record_row *item;    /* mem_free is the caller's */
    int count;
    size_t capacity;
};

/* strings live in `a` */
int program_record_read(struct program_record *r, const char *path, struct arena *a, struct err *e);
int program_record_write(const struct program_record *r, const char *path, struct err *e);
void program_record_add(struct program_record *r, const struct program_record_row *row);
/* the row of this path and way; NULL: the program was not there */
const struct program_record_row *program_record_find(const struct program_record *r,
                                                     const char *path, const char *way);
/* below 0: `now` is worse than `before`; above 0: better. Refused by name is better than wrong. */
int program_record_compare(const struct program_record_row *now,
                           const struct program_record_row *before);
const char *program_outcome_name(enum program_outcome outcome);
#endif
