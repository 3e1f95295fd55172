/*
 * Learning rate schedules of Keras 3, in the graph of a step.
 *
 * Fractions of steps are made of whole numbers and the cosine is written as the square of a sine,
 * so that rates are right to a few ulp in every step, at the ends too (docs/optimizers.md).
 */
#ifndef KERAS_SCHEDULE_H
#define KERAS_SCHEDULE_H
#include "stack/hlo/graph.h"

#include <jansson.h>

enum schedule_number {
#define NUMBER(id, name, kind, low, high) SCHEDULE_##id,
#include "keras/optimizer/schedules.def"
    SCHEDULE_NUMBER_COUNT
};
enum schedule_kind {
    SCHEDULE_NONE,                      /* the rate is a variable */
#define SCHEDULE(id, name, meaning) SCHEDULE_##id,
#include "keras/optimizer/schedules.def"
    SCHEDULE_COUNT
};

struct lr_schedule {
    enum schedule_kind kind;
    double number[SCHEDULE_NUMBER_COUNT];   /* those that the kind takes; NAN: None */
    /* PiecewiseConstantDecay: value[i] up to boundary[i], which rise; the last value from there */
    const int32_t *boundary;
    const double *value;
    int boundary_count;
};

/* "CosineDecay" */
const char *schedule_name(enum schedule_kind kind);
/* all of them with their arguments and what they do */
void schedule_print_list(FILE *to);
/* -1 with the nearest name; case does not count */
int schedule_find(const char *name, enum schedule_kind *kind, struct err *e);
/* of that kind, with Keras's defaults; numbers that have none are NAN */
void schedule_init(struct lr_schedule *s, enum schedule_kind kind);
/* -1: a number is missing, or they do not go together */
int schedule_check(const struct lr_schedule *s, struct err *e);
/* {"class_name", "config", "args"} as call_parse makes it; lists are of `a`. Checked. */
int schedule_from_json(struct lr_schedule *s, const json_t *call, struct arena *a, struct err *e);

/* `step`: s32 scalar, from 0; f32 scalar */
int schedule_rate(struct graph *g, const struct lr_schedule *s, int step);
/* the same on the host, in doubles */
double schedule_value(const struct lr_schedule *s, int64_t step);
#endif
