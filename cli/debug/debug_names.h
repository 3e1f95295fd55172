/*
 * What expressions may name: registers, memory words, flags, counters, labels.
 */
#ifndef CLI_DEBUG_NAMES_H
#define CLI_DEBUG_NAMES_H
#include "base/err.h"
#include "sim/observe/inspect.h"

enum debug_cast { CAST_NONE, CAST_F32, CAST_BF16, CAST_S32, CAST_U32 };

struct debug_name {
    char text[48];                      /* as written */
    const char *example;                /* of its indices */
    int core;                           /* "core1.s3": 1 */
    int kind;                           /* row of the table in debug_names.c */
    int number;                         /* of the register or label's bundle */
    int index_count;                    /* that follow in brackets */
    enum debug_cast cast;               /* it takes a value in parentheses instead */
};

/* the name at *at, which moves behind it */
int debug_name_find(const struct machine *m, int core, const char **at, struct debug_name *name,
                    struct err *e);
int debug_name_read(struct machine *m, const struct debug_name *name, cycle_t cycle,
                    const int64_t index[2], int64_t *value, struct err *e);
#endif
