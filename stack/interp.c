#include "stack/interp.h"

#include "stack/interp_ops.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

/*
 * Values of nodes live in slots that are used again once their last reader has
 * run: fresh memory is slow to touch the first time.
 */
struct slot {
    void *data;
    size_t bytes;
    bool is_free;
};

struct interp {
    const struct graph *g;
    enum interp_dot dot;
    void **value;                       /* by node */
    int *slot_of;                       /* by node; -1: a parameter's */
    int *last_use;                      /* by node: the last reader, or node_count for outputs */
    struct slot *slot;
    size_t slot_count, slot_capacity;
};

static int take_slot(struct interp *in, size_t bytes)
{
    int best = -1;

    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slot[i].is_free && in->slot[i].bytes >= bytes &&
            (best < 0 || in->slot[i].bytes < in->slot[best].bytes))
            best = (int)i;
    if (best < 0) {
        in->slot = mem_grow(in->slot, &in->slot_capacity, in->slot_count + 1, sizeof(*in->slot));
        best = (int)in->slot_count++;
        in->slot[best] = (struct slot){.data = mem_alloc(bytes), .bytes = bytes};
    }
    in->slot[best].is_free = false;
    return best;
}

static void find_last_uses(struct interp *in)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->node_count; i++) {
        in->last_use[i] = i;
        for (int k = 0; k < g->node[i].operand_count; k++)
            in->last_use[g->node[i].operand[k]] = i;
    }
    for (int i = 0; i < g->output_count; i++)
        in->last_use[g->output[i].node] = g->node_count;
}

static void release(struct interp *in, int node, int reader)
{
    if (in->last_use[node] == reader && in->slot_of[node] >= 0)
        in->slot[in->slot_of[node]].is_free = true;
}

/* the operand itself, or a rounded copy in a slot (number in *slot, -1: none) */
static const float *dot_operand(struct interp *in, int node, bool is_rounded, int *slot)
{
    int64_t elems = shape_elems(&in->g->node[node].shape);

    *slot = -1;
    if (!is_rounded)
        return in->value[node];
    *slot = take_slot(in, (size_t)elems * 4);
    memcpy(in->slot[*slot].data, in->value[node], (size_t)elems * 4);
    interp_round_bf16(in->slot[*slot].data, elems);
    return in->slot[*slot].data;
}

static int run_dot(struct interp *in, const struct graph_node *n, float *to, struct err *e)
{
    const struct shape *a = &in->g->node[n->operand[0]].shape;
    const struct shape *b = &in->g->node[n->operand[1]].shape;
    bool is_rounded = in->dot == INTERP_DOT_BF16 && n->precision == PRECISION_DEFAULT &&
                      a->dtype == DTYPE_F32;
    const float *lhs, *rhs;
    int slots[2];

    if (a->dim[0] > INT_MAX || a->dim[1] > INT_MAX || b->dim[0] > INT_MAX || b->dim[1] > INT_MAX)
        return err_set(e, "%s: the reference interpreter multiplies matrices of up to %d rows "
                       "and columns", n->name, INT_MAX);
    lhs = dot_operand(in, n->operand[0], is_rounded, &slots[0]);
    rhs = dot_operand(in, n->operand[1], is_rounded, &slots[1]);
    cblas_sgemm(CblasRowMajor, n->dot.lhs_contract[0] == 1 ? CblasNoTrans : CblasTrans,
                n->dot.rhs_contract[0] == 0 ? CblasNoTrans : CblasTrans, (int)n->shape.dim[0],
                (int)n->shape.dim[1], (int)a->dim[n->dot.lhs_contract[0]], 1.0f, lhs, (int)a->dim[1],
                rhs, (int)b->dim[1], 0.0f, to, (int)n->shape.dim[1]);
    for (int i = 0; i < 2; i++)
        if (slots[i] >= 0)
            in->slot[slots[i]].is_free = true;
    return 0;
}

static void run_reduce(struct interp *in, const struct graph_node *n, void *to)
{
    int sums = take_slot(in, (size_t)shape_elems(&n->shape) * sizeof(double));

    interp_reduce(n, &in->g->node[n->operand[0]].shape, in->value[n->operand[0]],
                  in->slot[sums].data, to);
    in->slot[sums].is_free = true;
}

static int run_node(struct interp *in, const struct graph_node *n, void *to, struct err *e)
{
    int64_t elems = shape_elems(&n->shape);
    const struct shape *shape = NULL;
    const void *a = NULL, *b = NULL;

    if (n->operand_count > 0) {
        shape = &in->g->node[n->operand[0]].shape;
        a = in->value[n->operand[0]];
    }
    if (n->operand_count > 1)
        b = in->value[n->operand[1]];
    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE:
        interp_source(n, to);
        break;
    case KIND_UNARY:
        interp_unary(n, shape->dtype, a, to, elems);
        break;
    case KIND_BINARY:
        interp_binary(n, shape->dtype, a, b, to, elems);
        break;
    case KIND_OTHER:
        interp_select(a, b, in->value[n->operand[2]], to, elems);
        break;
    case KIND_SHAPE:
        if (n->op == HLO_RESHAPE)
            memcpy(to, a, (size_t)elems * 4);
        else
            interp_move(n, shape, a, to);
        break;
    case KIND_DOT:
        return run_dot(in, n, to, e);
    case KIND_REDUCE:
        run_reduce(in, n, to);
        break;
    case KIND_COLLECTIVE:               /* one replica has it all */
        memcpy(to, a, (size_t)elems * 4);
        break;
    default:
        return err_set(e, "%s: the reference interpreter does not know %s", n->name,
                       graph_op_name(n->op));
    }
    return 0;
}

static int run_all(struct interp *in, const struct interp_value *input, struct err *e)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        in->slot_of[i] = -1;
        if (n->op == HLO_PARAMETER) {
            in->value[i] = input[n->parameter_index].data;
            continue;
        }
        in->slot_of[i] = take_slot(in, (size_t)shape_elems(&n->shape) * 4);
        in->value[i] = in->slot[in->slot_of[i]].data;
        if (run_node(in, n, in->value[i], e) != 0)
            return -1;
        release(in, i, i);              /* nobody reads it */
        for (int k = 0; k < n->operand_count; k++)
            release(in, n->operand[k], i);
    }
    return 0;
}

static void copy_outputs(const struct interp *in, struct interp_value *output, struct arena *a)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->output_count; i++) {
        int node = g->output[i].node;
        size_t bytes = (size_t)shape_elems(&g->node[node].shape) * 4;

        output[i].data = arena_alloc(a, bytes);
        memcpy(output[i].data, in->value[node], bytes);
    }
}

int interp_run(const struct graph *g, enum interp_dot dot, const struct interp_value *input,
               struct interp_value *output, struct arena *a, struct err *e)
{
    size_t count = (size_t)g->node_count;
    struct interp in = {.g = g, .dot = dot};
    int result;

    openblas_set_num_threads(1);        /* the same bits on every run */
    in.value = mem_alloc(count * sizeof(*in.value));
    in.slot_of = mem_alloc(count * sizeof(*in.slot_of));
    in.last_use = mem_alloc(count * sizeof(*in.last_use));
    find_last_uses(&in);
    result = run_all(&in, input, e);
    if (result == 0)
        copy_outputs(&in, output, a);
    for (size_t i = 0; i < in.slot_count; i++)
        mem_free(in.slot[i].data);
    mem_free(in.slot);
    mem_free(in.value);
    mem_free(in.slot_of);
    mem_free(in.last_use);
    return result;
}
