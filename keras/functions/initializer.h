/*
 * What variables begin with: Keras's initialisers.
 *
 * Values depend on the seed, the variable's number in its set and the element's place alone,
 * drawn on the host (base/rng.h), the same for all replicas.
 */
#ifndef KERAS_INITIALIZER_H
#define KERAS_INITIALIZER_H
#include "base/err.h"
#include "stack/hlo/graph.h"

#include <jansson.h>

enum initializer_kind {
#define INITIALIZER(id, name, a, b, meaning) INITIALIZER_##id,
#include "keras/functions/initializers.def"
    INITIALIZER_COUNT
};

/* which fan a VarianceScaling divides by, and what it draws from */
enum initializer_mode { FAN_IN, FAN_OUT, FAN_AVERAGE };
enum initializer_distribution { DRAW_TRUNCATED_NORMAL, DRAW_NORMAL, DRAW_UNIFORM };

struct initializer {
    enum initializer_kind kind;
    double a, b;                        /* what initializers.def says of its kind */
    enum initializer_mode mode;                 /* of VARIANCE_SCALING */
    enum initializer_distribution distribution;
};

/* of that kind with Keras's own a and b */
struct initializer initializer_standard(enum initializer_kind kind);
/* -1 with the nearest name; "glorot_uniform" and "GlorotUniform" are the same */
int initializer_find(const char *name, enum initializer_kind *kind, struct err *e);

/* a name, or {"class_name": "Constant", "config": {"value": 2}}; seeds are read over */
int initializer_from_json(struct initializer *i, const json_t *v, struct err *e);
/* -1: it is not for variables of this shape */
int initializer_check(const struct initializer *i, const struct shape *s, const char *name,
                      struct err *e);

/* Fans as Keras counts them: rank 1 n and n, rank 2 rows and columns, more: the last two times
 * all others */
void initializer_fans(const struct shape *s, double *in, double *out);

/* `shape`'s elements, dense row-major, 4 bytes each: float, or int32_t of integer types;
 * INITIALIZER_IDENTITY is of matrices (asserted) */
void initializer_fill(const struct initializer *i, const struct shape *shape, uint64_t seed,
                      uint64_t stream, void *to);
#endif
