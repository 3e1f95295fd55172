/*
 * One shape of systole check shapes: a convolution, or another operation, on a chip. It is
 * written as its command, "conv 32x28x28x1 3x3x1x16 --stride 2x2 --tpu v3".
 */
#ifndef CLI_SHAPE_CASE_H
#define CLI_SHAPE_CASE_H
#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"
#include "cli/graphs/conv_request.h"
#include "cli/graphs/op_graph.h"

enum shape_kind { SHAPE_CONV, SHAPE_PRODUCT, SHAPE_WINDOW, SHAPE_INDEX, SHAPE_MOVE,
                  SHAPE_SORT, SHAPE_KINDS };
extern const char *const shape_kind_names[SHAPE_KINDS];

struct shape_case {
    enum shape_kind kind;
    struct conv_request conv;           /* of SHAPE_CONV */
    struct op_request op;               /* of the others */
    const char *tpu;                    /* a chip */
};

/* -1: no such command, or one whose operation is not of these kinds */
int shape_case_parse(struct shape_case *c, const char *text, struct arena *a, struct err *e);
/* the command without "systole" in front */
const char *shape_case_print(const struct shape_case *c, struct arena *a);
/* -1: its sizes do not go together */
int shape_case_graph(const struct shape_case *c, struct arena *a, struct graph **out,
                     struct err *e);

/* A legal shape, small where its values are to be compared. */
void shape_case_draw(struct shape_case *c, enum shape_kind kind, const char *tpu, bool is_small,
                     struct rng *r);

/*
 * The `at`-th way to make a shape smaller or plainer: a size halved, or an option left out.
 * False: there are no more of them. What it gives need not be legal, nor differ.
 */
bool shape_case_reduce(struct shape_case *c, int at);
#endif
