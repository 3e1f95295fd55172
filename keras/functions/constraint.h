/*
 * Constraints: what an update's new value of a variable is made to fit.
 *
 * Norms are over `axis`, divided by with 1e-7 more, as Keras has it.
 */
#ifndef KERAS_CONSTRAINT_H
#define KERAS_CONSTRAINT_H
#include "stack/hlo/graph.h"

#include <jansson.h>

enum constraint_kind {
    CONSTRAINT_NONE,
#define CONSTRAINT(id, class, name, meaning) CONSTRAINT_##id,
#include "keras/functions/constraints.def"
    CONSTRAINT_COUNT
};

struct constraint {
    enum constraint_kind kind;
    double min_value, max_value, rate;
    int axis_count, axis[GRAPH_RANK_MAX];       /* counted from behind where negative */
};

/* {"class_name", "config", "args"}, or a name; -1 with the nearest name */
int constraint_from_json(struct constraint *c, const json_t *v, struct err *e);
/* -1: a variable of this shape has no such axis */
int constraint_check(const struct constraint *c, const struct shape *s, const char *name,
                     struct err *e);
/* f32, of the variable's shape; `c` must not be none */
int constraint_apply(struct graph *g, const struct constraint *c, int w);
#endif
