/*
 * The arguments of losses and metrics, by one table (arguments.def), their names and defaults, and
 * how they are read from what a Python call or a file says.
 */
#ifndef KERAS_ARGUMENTS_H
#define KERAS_ARGUMENTS_H
#include "base/arena.h"
#include "base/err.h"

#include <math.h>
#include <stdbool.h>

#include <jansson.h>

struct number_list {
    int count;                          /* 0: None */
    const double *value;
};

/*
 * NAN: None; INFINITY: needed, and not said yet. What a kind does not take is 0, or None where it
 * is a whole number.
 */
struct loss_arguments {
#define ARGUMENT(id, name, kind, low, high, words) double name;
#define LIST(id, name, kind, low, high) struct number_list name;
#include "keras/loss/arguments.def"
};
enum argument {
#define ARGUMENT(id, name, kind, low, high, words) ARGUMENT_##id,
#define LIST(id, name, kind, low, high) ARGUMENT_##id,
#include "keras/loss/arguments.def"
    ARGUMENT_COUNT
};
#define ARGUMENT_NONE NAN
#define ARGUMENT_NEEDED INFINITY

enum reduction {
    REDUCTION_SUM_OVER_BATCH_SIZE, REDUCTION_MEAN, REDUCTION_SUM, REDUCTION_MEAN_WITH_WEIGHTS,
    REDUCTION_AUTO                      /* Keras 2's name of the first */
};
enum curve { CURVE_ROC, CURVE_PR, CURVE_PRGAIN };
enum summation { SUMMATION_INTERPOLATION, SUMMATION_MAJORING, SUMMATION_MINORING };
enum average { AVERAGE_MICRO, AVERAGE_MACRO, AVERAGE_WEIGHTED };
enum aggregation { AGGREGATE_UNIFORM, AGGREGATE_BY_VARIANCE };

/* who takes what, in the order of Keras's arguments, rows of one kind one behind the other */
struct taken { int kind; enum argument argument; double value; };
struct taken_list { const struct taken *row; int count; };

/* a table of kinds whose rows begin with these, and other names of theirs */
struct kind_names { const char *name, *class; };
struct kind_alias { const char *name; int kind; };
struct kind_table {
    const char *what;                   /* "loss" */
    const struct kind_names *first;
    size_t stride, count;
    const struct kind_alias *alias;
    size_t alias_count;
};
/* by name, class or alias; -1 with the nearest of them */
int kind_find(const struct kind_table *t, const char *name, struct err *e);

/* the kind's defaults */
void arguments_standard(struct loss_arguments *with, struct taken_list t, int kind);
/* -1: out of range, or not there; `owner` says whose they are */
int arguments_check(const struct loss_arguments *with, struct taken_list t, int kind, const char *owner,
                    struct err *e);
/*
 * What {"class_name", "args", "config"} says beside the defaults, checked; lists are of `a`. *name:
 * the object's own, NULL if none was said.
 */
int arguments_read(struct loss_arguments *with, struct taken_list t, int kind, json_t *call,
                   const char **name, struct arena *a, struct err *e);
#endif
