/*
 * One operation as a graph, from its name and sizes on the command line:
 * systole op and systole conv.
 */
#ifndef CLI_OP_GRAPH_H
#define CLI_OP_GRAPH_H
#include "cli/common/options.h"
#include "stack/hlo/graph.h"

#define OP_SHAPES_MAX 4

struct op_request {
    const char *name;
    struct shape shape[OP_SHAPES_MAX];  /* of the operands, or as the operation's usage tells */
    int shape_count;
    enum graph_dtype dtype, to;         /* to: of convert */
    int dims[GRAPH_RANK_MAX], dim_count;        /* --dims */
    int64_t window[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];
    int window_count, stride_count;
    bool is_same;                       /* pooling: zeros beside the image, one window per stride */
    int64_t k;                          /* of top-k */
};
#define OP_REQUEST_DEFAULT {.dtype = DTYPE_BF16, .to = DTYPE_F32}

extern const struct cli_options op_request_options;     /* of a struct op_request */
int op_request_take_shape(struct op_request *r, const char *text, struct err *e);

/*
 * The graph of a request, its memory being `a`'s. -1 with what is wrong: a name
 * (with the nearest known), a number of shapes, sizes that do not go together.
 */
int op_graph(const struct op_request *r, struct arena *a, struct graph **out, struct err *e);

/* "softmax  SHAPE  over the last dimension", one name a line */
void op_graph_list(FILE *to);

/* "8x128x256" to sizes; their number, or -1 */
int op_parse_sizes(const char *text, int64_t *to);
#endif
