/*
 * Compares the attributes of two nodes, and finds one that a node has without its operation taking
 * it.
 */
#include "stack/hlo/graph_attributes.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(struct graph_node, name), sizeof(((struct graph_node *)0)->name), #name

/* TYPE and SHAPE are not here: a node of any operation has them. */
static const struct {
    enum graph_attribute attribute;
    size_t at, bytes;
    const char *name;
    bool points_to;                     /* what counts is there, not where that is */
} fields[] = {
    {ATTRIBUTE_PARAMETER_INDEX, FIELD(parameter_index), false},
    {ATTRIBUTE_VALUE, FIELD(value), false},
    {ATTRIBUTE_LITERAL, FIELD(literal), true},
    {ATTRIBUTE_DIM, FIELD(dim), false},
    {ATTRIBUTE_DIMS, FIELD(dims), false},
    {ATTRIBUTE_PRODUCT, FIELD(dot), false},
    {ATTRIBUTE_PRECISION, FIELD(precision), false},
    {ATTRIBUTE_DIRECTION, FIELD(direction), false},
    {ATTRIBUTE_REDUCE_KIND, FIELD(reduce_kind), false},
    {ATTRIBUTE_REDUCE_MASK, FIELD(reduce_mask), false},
    {ATTRIBUTE_LIMITS, FIELD(start), false},
    {ATTRIBUTE_LIMITS, FIELD(limit), false},
    {ATTRIBUTE_LIMITS, FIELD(stride), false},
    {ATTRIBUTE_PADDING, FIELD(low), false},
    {ATTRIBUTE_PADDING, FIELD(high), false},
    {ATTRIBUTE_PADDING, FIELD(interior), false},
    {ATTRIBUTE_SIZES, FIELD(sizes), false},
    {ATTRIBUTE_TRIPS, FIELD(trips), true},
    {ATTRIBUTE_WINDOW, FIELD(window), true},
    {ATTRIBUTE_LABELS, FIELD(conv), true},
    {ATTRIBUTE_WHERE, FIELD(gather), true},
    {ATTRIBUTE_GROUPS, FIELD(groups), false},
    {ATTRIBUTE_PAIRS, FIELD(pair), false},
    {ATTRIBUTE_MESSAGE, FIELD(message), false},
    {ATTRIBUTE_COUNT, FIELD(count), false},
    {ATTRIBUTE_CALLED, FIELD(called), false},
    {ATTRIBUTE_ATTENTION, FIELD(attention), true},
    {ATTRIBUTE_MOSAIC, FIELD(mosaic), false},
    {ATTRIBUTE_EDGE, FIELD(edge), false},
};

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    if (!a || !b)
        return a == b;
    return a == b || memcmp(a, b, bytes) == 0;
}

static bool same_window(const struct graph_window *a, const struct graph_window *b, int count)
{
    if (!a || !b)
        return a == b;
    for (int i = 0; i < count; i++)
        if (a[i].size != b[i].size || a[i].stride != b[i].stride ||
            a[i].pad_low != b[i].pad_low || a[i].pad_high != b[i].pad_high ||
            a[i].base_dilation != b[i].base_dilation ||
            a[i].window_dilation != b[i].window_dilation || a[i].is_reversed != b[i].is_reversed)
            return false;
    return true;
}

/* without the hole in the middle of the struct */
static bool same_gather(const struct graph_gather *a, const struct graph_gather *b)
{
    if (!a || !b)
        return a == b;
    return memcmp(a, b, offsetof(struct graph_gather, index_vector_dim)) == 0 &&
           a->index_vector_dim == b->index_vector_dim &&
           memcmp(a->slice_sizes, b->slice_sizes, sizeof(a->slice_sizes)) == 0;
}

/* the attributes that lie elsewhere */
static bool same_details(const struct graph *g, const struct graph_node *a,
                         const struct graph_node *b)
{
    int rank = a->conv ? a->conv->spatial_count
               : a->window ? g->node[a->operand[0]].shape.rank : 0;

    return same_bytes(a->literal, b->literal, (size_t)shape_elems(&a->shape) * 4) &&
           same_bytes(a->conv, b->conv, sizeof(*a->conv)) &&
           same_bytes(a->trips, b->trips, sizeof(*a->trips)) &&
           same_bytes(a->attention, b->attention, sizeof(*a->attention)) &&
           same_gather(a->gather, b->gather) && same_window(a->window, b->window, rank);
}

bool graph_same_attributes(const struct graph *g, const struct graph_node *a,
                           const struct graph_node *b)
{
    unsigned attributes = graph_op_attributes(a->op);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if ((attributes & fields[i].attribute) && !fields[i].points_to &&
            memcmp((const char *)a + fields[i].at, (const char *)b + fields[i].at,
                   fields[i].bytes) != 0)
            return false;
    return same_details(g, a, b);
}

const char *graph_stray_attribute(const struct graph_node *n)
{
    static const char zeros[sizeof(struct graph_node)];
    unsigned attributes = graph_op_attributes(n->op);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (!(attributes & fields[i].attribute) &&
            memcmp((const char *)n + fields[i].at, zeros, fields[i].bytes) != 0)
            return fields[i].name;
    return NULL;
}
