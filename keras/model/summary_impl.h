/* Declares the rows of a printed summary; private to keras/model/summary*.c. */
#ifndef KERAS_SUMMARY_IMPL_H
#define KERAS_SUMMARY_IMPL_H
#include "keras/model/summary.h"

struct summary_shown {
    const char *name, *class;           /* NULL: kernels that belong to no layer */
    const char *from;                   /* "a[0][0], b[0][0]", as Keras has it; "-": nothing */
    struct summary_row sum;             /* of its layers; `layer` is not set */
};

/* "compute", "copies", "start and end"; "": nothing */
const char *summary_bound_name(enum summary_bound b);
/* The rows that Keras's table has, in its order; how many there are. */
int summary_show(const struct summary *s, struct arena *a, struct summary_shown **row);
/* Keras leaves the last column out where each row takes what the one before it gives. */
bool summary_is_chain(const struct model *m);
#endif
