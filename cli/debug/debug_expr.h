/*
 * Expressions over the state of a machine, for conditions, assertions, print
 * and watch: `s3 == 4 && f32(v2[0,5]) < 1.5`.
 *
 * Values are 64-bit integers and doubles; registers and memory words read as
 * signed 32 bits, f32() and bf16() take bits as floats. An expression has no
 * effect. docs/debug.md lists what it may name.
 */
#ifndef CLI_DEBUG_EXPR_H
#define CLI_DEBUG_EXPR_H
#include "base/err.h"
#include "sim/observe/inspect.h"

struct debug_value {
    bool is_float;
    int64_t i;
    double f;
};

/* all of `text`, with names that are the core's; `cycle` is what that name means */
int debug_evaluate(struct machine *m, int core, cycle_t cycle, const char *text,
                   struct debug_value *value, struct err *e);
bool debug_is_true(const struct debug_value *value);
bool debug_is_same(const struct debug_value *a, const struct debug_value *b);
/* "7", "1.5", "nan"; returns buf */
char *debug_value_text(const struct debug_value *value, char *buf, size_t buf_bytes);
#endif
