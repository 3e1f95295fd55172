/* Evaluates operations between devices: what each has at the end, from what all have. */
#include "stack/interp/interp_ops.h"

#include <string.h>

void *interp_part(bool is_wide, const struct graph_node *tuple, void *value, int part)
{
    char *at = value;

    for (int i = 0; i < part; i++)
        at += interp_part_bytes(is_wide, &tuple->tuple[i]);
    return at;
}

/* One operand, and the group that is being worked on. */
struct gathering {
    const struct interp_devices *all;
    const struct shape *from, *to;      /* of one device */
    int operand, part, first, size;     /* the group: places first..first + size - 1 */
};

static int member(const struct gathering *x, int rank)
{
    const struct graph_groups *s = x->all->n->groups;

    return s && s->member ? s->member[x->first + rank] : x->first + rank;
}

static const void *from_of(const struct gathering *x, int rank)
{
    return x->all->value[member(x, rank)][x->operand];
}

static void *to_of(const struct gathering *x, int rank)
{
    int device = member(x, rank);

    return interp_part(x->all->is_wide, x->all->n, x->all->value[device][x->all->node], x->part);
}

/* block `rank` of the longer side along `dim`, from or to the shorter side */
static void copy_block(const struct gathering *x, const void *from, void *to, int rank,
                       const struct shape *block, bool from_whole)
{
    struct shape whole = *block;
    struct interp_copy c = {.rank = block->rank,
                            .elem_bytes = interp_elem_bytes(x->all->is_wide, block->dtype)};
    int dim = x->all->n->dim;
    int64_t stride[GRAPH_RANK_MAX], offset;

    whole.dim[dim] *= x->size;
    memcpy(c.dim, block->dim, sizeof(c.dim));
    interp_dense_strides(&whole, stride);
    offset = rank * block->dim[dim] * stride[dim];
    interp_dense_strides(block, from_whole ? c.out_stride : c.in_stride);
    memcpy(from_whole ? c.in_stride : c.out_stride, stride, sizeof(stride));
    c.in = from_whole ? offset : 0;
    c.out = from_whole ? 0 : offset;
    interp_copy(&c, from, to);
}

static void add_floats(float *sum, const float *x, int64_t count, bool is_bf16)
{
    for (int64_t i = 0; i < count; i++)
        sum[i] += x[i];
    if (is_bf16)
        interp_round_bf16(sum, count);
}

/* *sum = all members' arrays in rank order */
static void sum_up(const struct gathering *x, void *sum)
{
    enum graph_dtype type = x->from->dtype;
    enum graph_reduce kind = x->all->n->reduce_kind;
    bool wide = x->all->is_wide;
    int64_t count = shape_elems(x->from);

    memcpy(sum, from_of(x, 0), (size_t)count * interp_elem_bytes(wide, type));
    for (int r = 1; r < x->size; r++) {
        const void *one = from_of(x, r);

        if (graph_dtype_is_float(type) && !wide && kind == REDUCE_ADD) {
            add_floats(sum, one, count, type == DTYPE_BF16);
            continue;
        }
        for (int64_t i = 0; i < count; i++)
            interp_put(sum, type, wide, i,
                       interp_fold(kind, type, interp_get(sum, type, wide, i),
                                   interp_get(one, type, wide, i)));
    }
}

static void reduce_group(const struct gathering *x)
{
    size_t bytes = (size_t)shape_elems(x->from) *
                   interp_elem_bytes(x->all->is_wide, x->from->dtype);
    void *sum = mem_alloc(bytes);

    sum_up(x, sum);
    for (int r = 0; r < x->size; r++) {
        if (x->all->n->op == HLO_REDUCE_SCATTER)
            copy_block(x, sum, to_of(x, r), r, x->to, true);
        else
            memcpy(to_of(x, r), sum, bytes);
    }
    mem_free(sum);
}

static void gather_group(const struct gathering *x)
{
    for (int to = 0; to < x->size; to++)
        for (int r = 0; r < x->size; r++)
            copy_block(x, from_of(x, r), to_of(x, to), r, x->from, false);
}

/* entry r of what rank `to` gets is entry `to` of what rank r has */
static void exchange_group(const struct gathering *x)
{
    size_t bytes = (size_t)(shape_elems(x->from) / x->size) *
                   interp_elem_bytes(x->all->is_wide, x->from->dtype);

    for (int to = 0; to < x->size; to++)
        for (int r = 0; r < x->size; r++)
            memcpy((char *)to_of(x, to) + (size_t)r * bytes,
                   (const char *)from_of(x, r) + (size_t)to * bytes, bytes);
}

static void permute(const struct interp_devices *all)
{
    const struct graph_node *n = all->n;
    size_t bytes = (size_t)shape_elems(&n->shape) *
                   interp_elem_bytes(all->is_wide, n->shape.dtype);

    for (int d = 0; d < all->device_count; d++)
        memset(all->value[d][all->node], 0, bytes);
    for (int64_t i = 0; i < n->count; i++)
        memcpy(all->value[n->pair[i].target][all->node],
               all->value[n->pair[i].source][n->operand[0]], bytes);
}

void interp_collective(const struct interp_devices *all)
{
    const struct graph_node *n = all->n;
    int groups = n->groups ? n->groups->count : 1;

    if (n->op == HLO_COLLECTIVE_PERMUTE) {
        permute(all);
        return;
    }
    for (int i = 0; i < n->operand_count * groups; i++) {
        int k = i / groups;
        struct gathering x = {.all = all, .from = &all->g->node[n->operand[k]].shape,
                              .to = n->tuple_count ? &n->tuple[k] : &n->shape,
                              .operand = n->operand[k], .part = k,
                              .size = all->device_count / groups};

        x.first = i % groups * x.size;
        if (n->op == HLO_ALL_GATHER)
            gather_group(&x);
        else if (n->op == HLO_ALL_TO_ALL)
            exchange_group(&x);
        else
            reduce_group(&x);
    }
}
