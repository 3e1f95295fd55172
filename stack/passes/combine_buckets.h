/*
 * How many buckets the gradients of a model are summed in, by what the machine's closed forms
 * predict: private to pass_combine.c.
 */
#ifndef STACK_COMBINE_BUCKETS_H
#define STACK_COMBINE_BUCKETS_H
#include "stack/passes/pass.h"

struct bucket_member {                  /* a collective, in the order in which they are known */
    int node, operand;
    int64_t bytes;                      /* without padding */
};

/* Behind the last member of the bucket that begins with `first`: a small rest joins it. */
int combine_buckets_end(const struct bucket_member *m, int count, int first, int64_t bucket_bytes);

/*
 * The size of buckets, context->bucket_bytes or less, by which the step is predicted to be
 * shortest: what sums take of the core, and what of them nothing hides.
 */
int64_t combine_buckets_choose(const struct pass_context *context, const struct graph *g,
                               const struct bucket_member *m, int count);
#endif
