/*
 * Prints the computations of scalars with which reductions combine, and selects and sorts compare.
 */
#include "stack/hlo/graph_dump.h"

#include <string.h>

static const char *const reductions[] = {
    [REDUCE_ADD] = "add", [REDUCE_MAX] = "maximum", [REDUCE_MIN] = "minimum",
    [REDUCE_MUL] = "multiply", [REDUCE_AND] = "and", [REDUCE_OR] = "or",
    [REDUCE_ARGMAX] = "argmax", [REDUCE_ARGMIN] = "argmin", [REDUCE_REPLACE] = "replace"};

const char *graph_dump_reduction(enum graph_reduce kind)
{
    return reductions[kind];
}

struct needs {
    bool reduce[REDUCE_REPLACE + 1][DTYPE_COUNT];
    bool select[COMPARE_GE + 1][DTYPE_COUNT];
};

static void find_needs(const struct graph *g, struct needs *needs)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        enum graph_dtype t = n->operand_count ? g->node[n->operand[0]].shape.dtype : DTYPE_F32;

        if (graph_op_attributes(n->op) & ATTRIBUTE_REDUCE_KIND)
            needs->reduce[n->reduce_kind][t] = true;
        if (n->op == HLO_SELECT_AND_SCATTER)
            needs->select[n->direction][t] = true;
        for (int k = 0; k < GRAPH_CALLED_MAX; k++)
            if (n->called[k])
                find_needs(n->called[k], needs);
    }
}

static void print_parameters(const char *type, FILE *to)
{
    fprintf(to, "  %%a = %s[] parameter(0)\n  %%b = %s[] parameter(1)\n", type, type);
}

/* NaN wins, then the more extreme, then the lower index */
static void print_arg(enum graph_reduce kind, const char *t, FILE *to)
{
    fprintf(to, "  %%a = %s[] parameter(0)\n  %%i = s32[] parameter(1)\n"
            "  %%b = %s[] parameter(2)\n  %%j = s32[] parameter(3)\n", t, t);
    fprintf(to, "  %%beyond = pred[] compare(%%a, %%b), direction=%s\n"
            "  %%nan = pred[] compare(%%a, %%a), direction=NE\n"
            "  %%wins = pred[] or(%%beyond, %%nan)\n"
            "  %%equal = pred[] compare(%%a, %%b), direction=EQ\n"
            "  %%lower = pred[] compare(%%i, %%j), direction=LT\n"
            "  %%first = pred[] and(%%equal, %%lower)\n"
            "  %%before = pred[] or(%%wins, %%first)\n"
            "  %%value = %s[] select(%%wins, %%a, %%b)\n"
            "  %%index = s32[] select(%%before, %%i, %%j)\n"
            "  ROOT %%pair = (%s[], s32[]) tuple(%%value, %%index)\n",
            kind == REDUCE_ARGMAX ? "GT" : "LT", t, t);
}

static void print_combine(enum graph_reduce kind, enum graph_dtype dtype, FILE *to)
{
    const char *t = graph_dtype_name(dtype);

    fprintf(to, "%%combine.%s.%s {\n", reductions[kind], t);
    if (kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN)
        print_arg(kind, t, to);
    else if (kind == REDUCE_REPLACE)
        fprintf(to, "  %%a = %s[] parameter(0)\n  ROOT %%b = %s[] parameter(1)\n", t, t);
    else {
        print_parameters(t, to);
        fprintf(to, "  ROOT %%both = %s[] %s(%%a, %%b)\n", t, reductions[kind]);
    }
    fputs("}\n\n", to);
}

static void print_select(enum graph_compare direction, enum graph_dtype dtype, FILE *to)
{
    const char *t = graph_dtype_name(dtype);

    fprintf(to, "%%select.%s.%s {\n", graph_dump_direction(direction), t);
    print_parameters(t, to);
    fprintf(to, "  ROOT %%first = pred[] compare(%%a, %%b), direction=%s\n}\n\n",
            graph_dump_direction(direction));
}

void graph_dump_helpers(const struct graph *g, FILE *to)
{
    struct needs needs;

    memset(&needs, 0, sizeof(needs));
    find_needs(g, &needs);
    for (int k = 0; k <= REDUCE_REPLACE; k++)
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (needs.reduce[k][t])
                print_combine((enum graph_reduce)k, (enum graph_dtype)t, to);
    for (int c = 0; c <= COMPARE_GE; c++)
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (needs.select[c][t])
                print_select((enum graph_compare)c, (enum graph_dtype)t, to);
}

void graph_dump_comparator(const struct graph_dump *d, const struct graph_node *n)
{
    fputc('%', d->to);
    fprintf(d->to, "%s%s.comparator {\n", d->path, n->name);
    for (int i = 0; i < n->operand_count; i++) {
        const char *t = graph_dtype_name(d->g->node[n->operand[i]].shape.dtype);

        fprintf(d->to, "  %%a.%d = %s[] parameter(%d)\n  %%b.%d = %s[] parameter(%d)\n", i, t,
                2 * i, i, t, 2 * i + 1);
    }
    fprintf(d->to, "  ROOT %%before = pred[] compare(%%a.0, %%b.0), direction=%s\n}\n\n",
            graph_dump_direction(n->direction));
}
