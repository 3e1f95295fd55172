/* Declares what the parts of nn.h share; private to nn*.c. */
#ifndef STACK_NN_IMPL_H
#define STACK_NN_IMPL_H
#include "stack/nn/nn.h"

int nn_subtract(struct graph *g, int a, int b);

uint32_t nn_last_dim(const struct graph *g, int x);

/* what a reduction of `like` over `reduced` left, spread over it again; in a's own type */
int nn_spread_kept(struct graph *g, int a, int like, uint32_t reduced);
#endif
