/*
 * A convolution by itself, as it would be inside a network: its input and result lie in memory
 * as its kernel wants them.
 */
#ifndef CLI_CONV_GRAPH_H
#define CLI_CONV_GRAPH_H
#include "base/err.h"
#include "stack/hlo/graph.h"

struct conv_graph {
    enum graph_dtype type;              /* of operands and result */
    int64_t in[4], kernel[4];           /* batch, height, width, features; height, width, in, out */
    struct graph_window window[2];
    int64_t groups;
    bool is_row_major;                  /* batch first, features last, as a program has them */
    bool is_training;                   /* the network has gradients by kernel, too */
};

/* adds parameters "input" and "kernel", *x and *k, and the convolution *y; -1: no gradient */
int conv_graph_add(struct graph *g, const struct conv_graph *c, int *x, int *k, int *y,
                   struct err *e);
#endif
