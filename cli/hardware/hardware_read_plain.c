/*
 * Reads tables of few columns: products by their sizes, elementwise operations by name and shape,
 * small collectives.
 * Which they are says the heading.
 */
#include "cli/hardware/hardware_read.h"

#include "cli/graphs/hardware_graphs.h"
#include "stack/hlo/rewrite.h"
#include "stack/nn/nn.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MAX = 4 };

/* ----- elementwise */

static int above(struct graph *g, int x, int if_above, int if_not)
{
    return graph_select(g, graph_compare(g, COMPARE_GT, x, graph_splat(g, x, 0)), if_above, if_not);
}

/* of one array, or of two of one shape; NODE_NONE: not known */
static int activation(struct graph *g, const char *op, int x)
{
    static const double selu_scale = 1.0507009873554805, selu_alpha = 1.6732632423543772;

    if (strcmp(op, "relu") == 0)
        return nn_relu(g, x);
    if (strcmp(op, "sigmoid") == 0)
        return graph_unary(g, HLO_LOGISTIC, x);
    if (strcmp(op, "tanh") == 0)
        return graph_unary(g, HLO_TANH, x);
    if (strcmp(op, "binary_step") == 0) {
        int one = graph_splat(g, x, 1);

        return above(g, x, one, graph_splat(g, x, 0));
    }
    if (strcmp(op, "leaky_relu") == 0 || strcmp(op, "parametric_relu") == 0)
        return above(g, x, x, nn_scale(g, x, 0.01));
    if (strcmp(op, "elu") == 0)
        return above(g, x, x, graph_unary(g, HLO_EXPM1, x));
    if (strcmp(op, "selu") == 0)
        return nn_scale(g, above(g, x, x, nn_scale(g, graph_unary(g, HLO_EXPM1, x), selu_alpha)),
                        selu_scale);
    if (strcmp(op, "linear") == 0)
        return nn_shift(g, nn_scale(g, x, 2), 1);
    return NODE_NONE;
}

/* "(16,16,32)" */
static bool read_shape(const char *text, struct shape *to)
{
    const char *at = text + (*text == '(');
    char *end;

    *to = (struct shape){.dtype = DTYPE_F32};
    while (*at && *at != ')' && to->rank < RANK_MAX) {
        int64_t dim = strtoll(at, &end, 10);

        if (end == at || dim < 1 || dim > 1 << 30)
            return false;
        to->dim[to->rank++] = dim;
        at = end + strspn(end, ", ");
    }
    return to->rank > 0 && *at == ')';
}

static void read_elementwise(struct hardware_row *r, struct fields *f, struct arena *a)
{
    const char *op = fields_text(f, "op");
    struct graph *g = arena_alloc(a, sizeof(*g));
    struct shape shape;
    int x, y;

    r->group = op;
    r->workload = arena_printf(a, "%s %s", op, fields_text(f, "shape"));
    r->dtype = "f32 assumed";
    if (!read_shape(fields_text(f, "shape"), &shape)) {
        hardware_leave_out(r, "a shape that is not known here");
        return;
    }
    shape = hardware_in_order(&shape, hardware_compact_order(&shape).dim);
    graph_init(g, a, "elementwise");
    x = graph_parameter(g, shape, "x");
    y = strcmp(op, "add") == 0 ? nn_add(g, x, graph_parameter(g, shape, "y"))
                               : activation(g, op, x);
    if (y != NODE_NONE)
        graph_output(g, y, "z", -1);
    graph_freeze(g);
    if (y == NODE_NONE)
        hardware_leave_out(r, "an operation that is not known here");
    else
        hardware_set_graph(r, g);
}

/* ----- products */

static void read_product(struct hardware_row *r, struct fields *f, bool is_capital,
                         struct arena *a)
{
    int64_t m = fields_size(f, is_capital ? "M" : "m"), k = fields_size(f, is_capital ? "K" : "k");
    int64_t n = fields_size(f, is_capital ? "N" : "n");

    r->group = "gemm";
    r->workload = arena_printf(a, "gemm_%" PRId64 "x%" PRId64 "x%" PRId64, m, k, n);
    if (is_capital)
        r->dtype = "f16 as bf16";
    if (!f->is_bad)
        hardware_set_graph(r, hardware_gemm(m, k, n, a));
}

/* ----- collectives */

static void read_collective(struct hardware_row *r, struct fields *f, struct arena *a)
{
    struct hardware_collective *c = &r->collective;
    const char *kind = fields_text(f, "kind");

    r->group = kind;
    c->type = COLLECTIVE_BF16;
    c->group = (int)fields_size(f, "group");
    c->bytes = fields_size(f, "bytes_per_device");
    r->workload = arena_printf(a, "%s of %d, %" PRId64 " bytes", kind, c->group, c->bytes);
    r->work = WORK_COLLECTIVE;
    c->kind = strcmp(kind, "all_gather") == 0 ? COLLECTIVE_ALL_GATHER : COLLECTIVE_REDUCE_SCATTER;
    r->bytes = (double)c->bytes;
    if (strcmp(kind, "all_gather") != 0 && strcmp(kind, "reduce_scatter") != 0)
        hardware_leave_out(r, "an operation that is not known here");
    else if (!f->is_bad && (strcmp(fields_text(f, "mesh"), "d=2,t=4") != 0 ||
                            (c->group != 2 && c->group != 4)))
        hardware_leave_out(r, "a mesh that is not known here");
}

int hardware_read_plain(struct hardware_file *file, const struct csv *c, struct arena *a,
                        struct err *e)
{
    bool is_capital = csv_find(c, "M") >= 0, is_product = is_capital || csv_find(c, "m") >= 0;
    bool is_collective = csv_find(c, "kind") >= 0;
    const char *time = is_capital ? "measured_value" : is_collective ? "median_us" : "time_us";

    if (csv_column(c, time, e) < 0 ||
        (!is_product && csv_column(c, is_collective ? "mesh" : "shape", e) < 0))
        return -1;
    for (int i = 0; i < c->row_count; i++) {
        struct fields f = {.csv = c, .row = i, .e = e};
        struct hardware_row *r = hardware_add_row(file, c->row[i].line);

        r->measured_us = fields_number(&f, time);
        r->time = TIME_KERNEL;
        if (is_collective)
            read_collective(r, &f, a);
        else if (is_product)
            read_product(r, &f, is_capital, a);
        else
            read_elementwise(r, &f, a);
        if (csv_find(c, "peer_abs_pct_err") >= 0)
            r->peer_error_percent = fields_number(&f, "peer_abs_pct_err");
        if (f.is_bad)
            return -1;
    }
    return 0;
}
