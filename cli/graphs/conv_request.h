/*
 * A convolution as sizes and options tell it (systole conv, systole check shapes), and its graph.
 */
#ifndef CLI_CONV_REQUEST_H
#define CLI_CONV_REQUEST_H
#include "cli/common/options.h"
#include "stack/hlo/graph.h"

/* STEP: with bias and relu as in a layer, and the gradients by input, kernel and bias */
enum conv_way { CONV_FORWARD, CONV_BY_INPUT, CONV_BY_KERNEL, CONV_STEP, CONV_WAYS };

struct conv_request {
    int shape_count;                    /* that were told: the input, then the kernel */
    int64_t input[GRAPH_RANK_MAX];      /* batch, height, width, features */
    int64_t kernel[GRAPH_RANK_MAX];     /* height, width, features of a group, output features */
    int64_t stride[2], pad[2], dilation[2], groups;
    bool is_same, is_f32, is_row_major;
    enum conv_way way;
};
#define CONV_REQUEST_DEFAULT {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1}

extern const struct cli_options conv_request_options;   /* of a struct conv_request */
int conv_request_take_shape(struct conv_request *r, const char *text, struct err *e);

/* -1: sizes that do not go together */
int conv_request_graph(const struct conv_request *r, struct graph *g, struct err *e);
#endif
