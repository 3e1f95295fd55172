/*
 * Fusion: gives every value a form and groups elementwise operations of one
 * iteration space into loop kernels.
 *
 * Nodes are visited in dependence order, everything that needs no all-reduce
 * first, so that all gradients of one level share one exchange. A node joins
 * the first loop kernel of its iteration space that comes no earlier than the
 * kernels of its operands; otherwise it opens a new one.
 */
#include "base/units.h"
#include "stack/plan.h"

#include <string.h>

static bool is_elementwise(const struct graph_node *n)
{
    enum graph_op_kind kind = graph_op_kind(n->op);

    return kind == KIND_UNARY || kind == KIND_BINARY || kind == KIND_OTHER;
}

static bool is_inline_op(const struct graph_node *n)
{
    return n->op == HLO_CONSTANT || n->op == HLO_IOTA || n->op == HLO_BROADCAST ||
           n->op == HLO_RESHAPE;
}

static void set_extent(struct value *v, int64_t rows, int64_t columns)
{
    v->rows = rows;
    v->columns = columns;
    v->tile_rows = div_up(rows, TILE_ROWS);
    v->tile_columns = div_up(columns, TILE_COLUMNS);
}

/* the extent that follows from shape and form; a SPLAT of rank 1 counts as a row */
static void set_form(struct value *v, const struct shape *s, enum form form)
{
    v->form = form;
    if (s->rank == 0)
        set_extent(v, 1, 1);
    else if (s->rank == 2)
        set_extent(v, s->dim[0], s->dim[1]);
    else if (form == FORM_COLUMN)
        set_extent(v, s->dim[0], 1);
    else
        set_extent(v, 1, s->dim[0]);
}

static enum form default_form(const struct shape *s)
{
    return s->rank == 0 ? FORM_SCALAR : s->rank == 1 ? FORM_ROW : FORM_MATRIX;
}

static int no_kernel(const struct graph_node *n, const char *why, struct err *e)
{
    char shape[96];

    return err_set(e, "%s (%s of shape %s, from %s) has no kernel yet: %s", n->name,
                   graph_op_name(n->op), shape_print(&n->shape, shape, sizeof(shape)), n->source,
                   why);
}

/* those that lower_elementwise knows */
static bool is_known_elementwise(enum graph_op op)
{
    switch (op) {
    case HLO_CONVERT: case HLO_NEGATE: case HLO_ABS: case HLO_EXP: case HLO_LOG: case HLO_SQRT:
    case HLO_RSQRT: case HLO_TANH: case HLO_LOGISTIC: case HLO_NOT: case HLO_ADD:
    case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_DIVIDE: case HLO_MAXIMUM: case HLO_MINIMUM:
    case HLO_AND: case HLO_OR: case HLO_COMPARE: case HLO_SELECT:
        return true;
    default:
        return false;
    }
}

/* what the vector unit has no operation for */
static const char *missing_operation(const struct plan *p, const struct graph_node *n)
{
    enum graph_dtype operand = p->graph->node[n->operand[0]].shape.dtype;
    bool is_integer = n->shape.dtype == DTYPE_S32;

    if (!is_known_elementwise(n->op))
        return "unknown to the vector code";
    if (is_integer && (n->op == HLO_NOT || n->op == HLO_AND || n->op == HLO_OR))
        return "only of predicates";
    if (n->op == HLO_SELECT && p->graph->node[n->operand[0]].shape.rank != n->shape.rank)
        return "one predicate for all elements";
    if (n->op == HLO_SELECT && n->shape.dtype == DTYPE_PRED)
        return "selection between predicates";
    if (n->op == HLO_CONVERT && n->shape.dtype == DTYPE_PRED && operand != DTYPE_PRED)
        return "conversion to predicates";
    if (n->op == HLO_COMPARE && operand == DTYPE_PRED)
        return "comparison of predicates";
    if (is_integer && (n->op == HLO_DIVIDE || (graph_op_kind(n->op) == KIND_UNARY &&
                                               n->op != HLO_CONVERT && n->op != HLO_NEGATE &&
                                               n->op != HLO_ABS)))
        return "not for integers";
    return NULL;
}

static int elementwise_form(const struct plan *p, const struct graph_node *n, enum form *form,
                            struct err *e)
{
    const char *missing = missing_operation(p, n);

    if (missing)
        return no_kernel(n, missing, e);
    *form = FORM_SPLAT;
    for (int i = 0; i < n->operand_count; i++) {
        enum form operand = p->value[n->operand[i]].form;

        if (operand == FORM_SPLAT || (operand == FORM_SCALAR && *form != FORM_SPLAT))
            continue;
        if (*form != FORM_SPLAT && *form != FORM_SCALAR && *form != operand)
            return no_kernel(n, "operands lie along rows and along columns", e);
        *form = operand;
    }
    if (*form == FORM_SPLAT || n->shape.rank == 2)
        *form = default_form(&n->shape);
    return 0;
}

static int reduce_form(const struct plan *p, const struct graph_node *n, enum form *form,
                       struct err *e)
{
    const struct value *a = &p->value[n->operand[0]];
    int operand_rank = p->graph->node[n->operand[0]].shape.rank;

    if (n->shape.dtype != DTYPE_F32 && n->shape.dtype != DTYPE_BF16)
        return no_kernel(n, "only floating-point reductions", e);
    if (a->form == FORM_SPLAT || operand_rank == 0)
        return no_kernel(n, "reduction of a constant", e);
    if (n->reduce_mask == 0)
        return no_kernel(n, "reduction over no dimension", e);
    if (n->reduce_kind > REDUCE_MIN)
        return no_kernel(n, "only sums, maxima and minima", e);
    *form = n->shape.rank == 0 ? FORM_SCALAR
            : n->reduce_mask == 2 ? FORM_COLUMN
                                  : FORM_ROW;
    return 0;
}

static int broadcast_form(const struct plan *p, const struct graph_node *n, enum form *form,
                          struct err *e)
{
    const struct value *a = &p->value[n->operand[0]];
    int rank = p->graph->node[n->operand[0]].shape.rank;

    if (rank == n->shape.rank) {
        *form = a->form;
        return 0;
    }
    if (rank == 0) {
        *form = FORM_SPLAT;
        return 0;
    }
    *form = FORM_MATRIX;
    if (a->form == FORM_SPLAT || a->form == FORM_SCALAR)
        return 0;
    if ((n->dims[0] == 0) != (a->form == FORM_COLUMN))
        return no_kernel(n, "the vector lies across the dimension it is spread along", e);
    return 0;
}

/* [R,1] -> [R], [1,C] -> [C], one element to any rank, and back */
static int reshape_form(const struct plan *p, const struct graph_node *n, enum form *form,
                        struct err *e)
{
    const struct value *a = &p->value[n->operand[0]];
    const struct shape *from = &p->graph->node[n->operand[0]].shape, *to = &n->shape;

    *form = a->form;
    if (a->form == FORM_SPLAT || shape_same_dims(from, to))
        return 0;
    if (shape_elems(from) == 1) {
        *form = to->rank == 2 ? FORM_MATRIX : FORM_SCALAR;
        return 0;
    }
    if (from->rank == 2 && to->rank == 1 && from->dim[1] == 1)
        *form = FORM_COLUMN;
    else if (from->rank == 2 && to->rank == 1 && from->dim[0] == 1)
        *form = FORM_ROW;
    else if (from->rank == 1 && to->rank == 2 &&
             ((a->form == FORM_COLUMN && to->dim[1] == 1) ||
              (a->form == FORM_ROW && to->dim[0] == 1)))
        *form = FORM_MATRIX;
    else
        return no_kernel(n, "only reshapes that add or drop a dimension of 1", e);
    return 0;
}

/* of sources and products: what the IR has beyond the kernels here */
static const char *missing_kind(const struct graph_node *n)
{
    enum graph_dtype t = n->shape.dtype;

    if (t != DTYPE_F32 && t != DTYPE_BF16 && t != DTYPE_S32 && t != DTYPE_PRED)
        return "an element type without vector code";
    if (n->op == HLO_CONSTANT && n->literal)
        return "a constant of many values";
    if (n->op == HLO_IOTA && t == DTYPE_BF16)
        return "indices only in 32 bits";
    if (n->op == HLO_DOT && (n->dot.batch_count > 0 || n->dot.contract_count != 1))
        return "only products of two matrices";
    if (n->op == HLO_DOT && t != DTYPE_F32)
        return "only products summed in f32";
    if (n->op == HLO_ALL_REDUCE && n->reduce_kind != REDUCE_ADD)
        return "only sums over replicas";
    return NULL;
}

static bool reads_memory(enum graph_op op)
{
    return op == HLO_DOT || op == HLO_TRANSPOSE || op == HLO_ALL_REDUCE;
}

/*
 * A dot, a transpose, an all-reduce or an output reads memory: what would be
 * recomputed in place is there a member of a loop kernel, for all its users.
 */
static bool *find_materialised(struct plan *p)
{
    const struct graph *g = p->graph;
    bool *is_materialised = arena_array(p->arena, (size_t)g->node_count + 1, sizeof(bool));

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count && reads_memory(g->node[i].op); k++)
            is_materialised[g->node[i].operand[k]] = true;
    for (int i = 0; i < g->output_count; i++)
        is_materialised[g->output[i].node] = true;
    return is_materialised;
}

static int find_form(struct plan *p, int node, bool is_materialised, struct err *e)
{
    const struct graph_node *n = &p->graph->node[node];
    struct value *v = &p->value[node];
    enum form form = default_form(&n->shape);
    int status = 0;

    v->kernel = -1;
    v->buffer = -1;
    if (n->shape.rank > 2)
        return no_kernel(n, "more than two dimensions", e);
    if (missing_kind(n))
        return no_kernel(n, missing_kind(n), e);
    if (is_elementwise(n))
        status = elementwise_form(p, n, &form, e);
    else if (n->op == HLO_REDUCE)
        status = reduce_form(p, n, &form, e);
    else if (n->op == HLO_BROADCAST)
        status = broadcast_form(p, n, &form, e);
    else if (n->op == HLO_RESHAPE)
        status = reshape_form(p, n, &form, e);
    else if (n->op == HLO_CONSTANT)
        form = FORM_SPLAT;
    else if (n->op == HLO_ALL_REDUCE)
        form = p->value[n->operand[0]].form;
    if (is_materialised && form == FORM_SPLAT)
        form = default_form(&n->shape);
    set_form(v, &n->shape, form);
    v->is_inline = is_inline_op(n) && !is_materialised;
    return status;
}

static int new_kernel(struct plan *p, enum kernel_kind kind, const struct value *space,
                      const char *note)
{
    struct kernel *k;

    p->kernel = mem_grow(p->kernel, &p->kernel_capacity, (size_t)p->kernel_count + 1,
                         sizeof(*p->kernel));
    k = &p->kernel[p->kernel_count];
    memset(k, 0, sizeof(*k));
    k->kind = kind;
    k->rows = space->rows;
    k->columns = space->columns;
    k->tile_rows = space->tile_rows;
    k->tile_columns = space->tile_columns;
    k->note = note;
    for (size_t i = 0; i < COUNT_OF(k->scratch_buffer); i++)
        k->scratch_buffer[i] = -1;
    return p->kernel_count++;
}

static void add_member(struct plan *p, int kernel, int node)
{
    struct kernel *k = &p->kernel[kernel];

    k->node = mem_grow(k->node, &k->node_capacity, (size_t)k->node_count + 1, sizeof(*k->node));
    k->node[k->node_count++] = node;
    p->value[node].kernel = kernel;
}

/* the first kernel that may compute something from `node`, through inline values */
static int ready_after(const struct plan *p, int node)
{
    const struct graph_node *n = &p->graph->node[node];
    const struct value *v = &p->value[node];
    int latest = -1;

    if (!v->is_inline)
        return v->kernel < 0 ? -1 : v->is_late ? v->kernel + 1 : v->kernel;
    for (int i = 0; i < n->operand_count; i++) {
        int kernel = ready_after(p, n->operand[i]);

        latest = kernel > latest ? kernel : latest;
    }
    return latest;
}

static bool same_space(const struct kernel *k, const struct value *space)
{
    if (k->kind != KERNEL_LOOP || k->rows != space->rows ||
        k->tile_columns != space->tile_columns)
        return false;
    return k->tile_columns == 1 || k->columns == space->columns;
}

/* the iteration space of an elementwise node or reduction: its widest operand */
static struct value iteration_space(const struct plan *p, int node)
{
    const struct graph_node *n = &p->graph->node[node];

    return n->op == HLO_REDUCE ? p->value[n->operand[0]] : p->value[node];
}

static bool is_late_reduction(const struct plan *p, const struct graph_node *n)
{
    const struct value *a = &p->value[n->operand[0]];

    return !(p->value[n - p->graph->node].form == FORM_COLUMN && a->tile_columns == 1);
}

static void join_loop(struct plan *p, int node)
{
    const struct graph_node *n = &p->graph->node[node];
    struct value space = iteration_space(p, node);
    int first = 0, kernel;

    for (int i = 0; i < n->operand_count; i++) {
        int ready = ready_after(p, n->operand[i]);

        first = ready > first ? ready : first;
    }
    for (kernel = first; kernel < p->kernel_count; kernel++)
        if (same_space(&p->kernel[kernel], &space))
            break;
    if (kernel == p->kernel_count)
        kernel = new_kernel(p, KERNEL_LOOP, &space, n->source);
    add_member(p, kernel, node);
    p->value[node].is_late = n->op == HLO_REDUCE && is_late_reduction(p, n);
}

static int place_node(struct plan *p, int node, struct err *e)
{
    const struct graph_node *n = &p->graph->node[node];

    if (n->op == HLO_PARAMETER || p->value[node].is_inline)
        return 0;
    if (n->op == HLO_DOT || n->op == HLO_TRANSPOSE) {
        enum kernel_kind kind = n->op == HLO_DOT ? KERNEL_DOT : KERNEL_TRANSPOSE;

        if (n->op == HLO_TRANSPOSE && (n->shape.rank != 2 || n->dims[0] != 1))
            return no_kernel(n, "only the transpose of a matrix", e);
        add_member(p, new_kernel(p, kind, &p->value[node], n->source), node);
        p->value[node].is_late = true;
        return 0;
    }
    if (!is_elementwise(n) && !is_inline_op(n) && n->op != HLO_REDUCE)
        return no_kernel(n, "unknown to the fusion pass", e);
    join_loop(p, node);
    return 0;
}

/* how many all-reduces lie on the longest way to each node */
static int *all_reduce_depths(struct plan *p)
{
    const struct graph *g = p->graph;
    int *depth = arena_array(p->arena, (size_t)g->node_count + 1, sizeof(*depth));

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; k < n->operand_count; k++) {
            int through = depth[n->operand[k]] +
                          (g->node[n->operand[k]].op == HLO_ALL_REDUCE);

            depth[i] = through > depth[i] ? through : depth[i];
        }
    }
    return depth;
}

/* the exchange works in place: nothing else may want the sum of one replica */
static bool has_other_user(const struct graph *g, int node, int user)
{
    for (int i = node + 1; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            if (g->node[i].operand[k] == node && i != user)
                return true;
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return true;
    return g->node[node].op == HLO_PARAMETER;
}

static int place_all_reduces(struct plan *p, const int *depth, int level, struct err *e)
{
    int kernel = -1;

    for (int i = 0; i < p->graph->node_count; i++) {
        const struct graph_node *n = &p->graph->node[i];

        if (n->op != HLO_ALL_REDUCE || depth[i] != level)
            continue;
        if (n->shape.dtype != DTYPE_F32)
            return no_kernel(n, "only f32 is added over replicas", e);
        if (p->graph->node[n->operand[0]].op == HLO_ALL_REDUCE)
            return no_kernel(n, "its operand is an all-reduce itself", e);
        if (has_other_user(p->graph, n->operand[0], i))
            return no_kernel(n, "its operand is used elsewhere too", e);
        if (kernel < 0)
            kernel = new_kernel(p, KERNEL_ALL_REDUCE, &p->value[i], "all-reduce");
        add_member(p, kernel, i);
        p->value[i].is_late = true;
    }
    return 0;
}

/* marks what must be in VMEM: operands read by a later kernel, a dot, an output */
static void mark_stored(struct plan *p, int node, int user_kernel, bool always)
{
    const struct graph_node *n = &p->graph->node[node];
    struct value *v = &p->value[node];

    if (v->is_inline) {
        for (int i = 0; i < n->operand_count; i++)
            mark_stored(p, n->operand[i], user_kernel, always);
        return;
    }
    if (always || v->kernel != user_kernel || v->is_late || n->op == HLO_PARAMETER)
        v->is_stored = true;
}

static void mark_uses(struct plan *p)
{
    const struct graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (p->value[i].is_inline || p->value[i].kernel < 0)
            continue;
        for (int k = 0; k < n->operand_count; k++)
            mark_stored(p, n->operand[k], p->value[i].kernel, n->op == HLO_ALL_REDUCE);
    }
    for (int i = 0; i < g->output_count; i++)
        mark_stored(p, g->output[i].node, -1, true);
}

static void hand_zero_padding_on(struct plan *p)
{
    const struct graph *g = p->graph;

    for (int i = g->node_count - 1; i >= 0; i--)
        if ((g->node[i].op == HLO_TRANSPOSE || g->node[i].op == HLO_ALL_REDUCE) &&
            p->value[i].needs_zero_pad)
            p->value[g->node[i].operand[0]].needs_zero_pad = true;
}

/*
 * Dots read padding. What moves tiles as they are hands the demand on to its
 * operand, a parameter to the output that becomes its next value.
 */
static void mark_zero_padded(struct plan *p)
{
    const struct graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == HLO_DOT)
            for (int k = 0; k < 2; k++)
                p->value[g->node[i].operand[k]].needs_zero_pad = true;
    hand_zero_padding_on(p);
    for (int i = 0; i < g->output_count; i++) {
        int parameter = g->output[i].alias_parameter;

        if (parameter >= 0 && p->value[g->parameter[parameter]].needs_zero_pad)
            p->value[g->output[i].node].needs_zero_pad = true;
    }
    hand_zero_padding_on(p);
}

int pass_fuse(struct plan *p, struct err *e)
{
    const struct graph *g = p->graph;
    int *depth = all_reduce_depths(p);
    bool *is_materialised = find_materialised(p);
    int levels = 0;

    p->value = arena_array(p->arena, (size_t)g->node_count + 1, sizeof(*p->value));
    for (int i = 0; i < g->node_count; i++) {
        if (find_form(p, i, is_materialised[i], e))
            return -1;
        levels = depth[i] > levels ? depth[i] : levels;
    }
    for (int level = 0; level <= levels; level++) {
        for (int i = 0; i < g->node_count; i++) {
            const struct graph_node *n = &g->node[i];

            if (depth[i] == level && n->op != HLO_ALL_REDUCE && place_node(p, i, e))
                return -1;
        }
        if (place_all_reduces(p, depth, level, e))
            return -1;
    }
    mark_uses(p);
    mark_zero_padded(p);
    return 0;
}
