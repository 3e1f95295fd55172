/*
 * Activations: functions of one array, of each element by itself or along the last dimension.
 *
 * A result has its operand's type; softmaxes are computed in f32 whatever it is.
 */
#ifndef KERAS_ACTIVATION_H
#define KERAS_ACTIVATION_H
#include "base/err.h"
#include "stack/hlo/graph.h"

enum activation_kind {
#define ACTIVATION(id, name, other, alpha, meaning) ACTIVATION_##id,
#include "keras/functions/activations.def"
    ACTIVATION_COUNT
};

struct activation {
    enum activation_kind kind;
    double alpha;                       /* what activations.def says of its kind */
};

/* of that kind with Keras's own alpha */
struct activation activation_standard(enum activation_kind kind);
/* -1 with the nearest name and all names */
int activation_find(const char *name, enum activation_kind *kind, struct err *e);
const char *activation_title(enum activation_kind kind);

/* a node of x's shape and type; x is f32 or bf16 */
int activation_apply(struct graph *g, const struct activation *a, int x);
/* max(x, 0) + ln(1 + e^-|x|), whose slope is right at 0 too */
int activation_softplus(struct graph *g, int x);
#endif
