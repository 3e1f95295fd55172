/*
 * Attention along some of a sample's dimensions (Keras's attention_axes): places that differ in
 * others do not see each other. Of samples with one dimension of positions there is nothing to do.
 */
#ifndef KERAS_ATTENTION_AXES_H
#define KERAS_ATTENTION_AXES_H
#include "keras/layers/layer_impl.h"

/* -1 unless the axes are some of the query's and the other input has the rest of them alike */
int attention_check_axes(const struct layer *l, const struct shape *query, const struct shape *other,
                         struct err *e);
/* [batch, .., width] as [places that do not see each other, positions, width] */
int attention_gather_axes(struct layer_call *c, int x);
/* and back, `as` being the query's shape but for the width */
int attention_spread_axes(struct layer_call *c, int x, const struct shape *as);
#endif
