/*
 * Writes a graph's nodes field by field, so that holes between fields say nothing, and behind each
 * node what its pointers lead to.
 */
#include "stack/hlo/graph_key.h"

#include "stack/hlo/graph_shape.h"
#include "stack/mosaic/mosaic_key.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const struct field shape_fields[] = {
    SAVED(shape, dtype), SAVED(shape, rank), SAVED(shape, dim)};

static const struct field dot_fields[] = {
    SAVED(graph_dot, batch_count), SAVED(graph_dot, contract_count), SAVED(graph_dot, lhs_batch),
    SAVED(graph_dot, rhs_batch), SAVED(graph_dot, lhs_contract), SAVED(graph_dot, rhs_contract),
    SAVED(graph_dot, has_order), SAVED(graph_dot, order), SAVED(graph_dot, is_alone)};

static const struct field window_fields[] = {
    SAVED(graph_window, size), SAVED(graph_window, stride), SAVED(graph_window, pad_low),
    SAVED(graph_window, pad_high), SAVED(graph_window, base_dilation),
    SAVED(graph_window, window_dilation), SAVED_BOOL(graph_window, is_reversed)};

static const struct field conv_fields[] = {
    SAVED(graph_conv, spatial_count), SAVED(graph_conv, in_batch), SAVED(graph_conv, in_feature),
    SAVED(graph_conv, in_spatial), SAVED(graph_conv, kernel_in), SAVED(graph_conv, kernel_out),
    SAVED(graph_conv, kernel_spatial), SAVED(graph_conv, out_batch), SAVED(graph_conv, out_feature),
    SAVED(graph_conv, out_spatial), SAVED(graph_conv, feature_groups),
    SAVED(graph_conv, batch_groups)};

static const struct field gather_fields[] = {
    SAVED(graph_gather, offset_count), SAVED(graph_gather, collapsed_count),
    SAVED(graph_gather, map_count), SAVED(graph_gather, batching_count),
    SAVED(graph_gather, offset_dims), SAVED(graph_gather, collapsed_dims),
    SAVED(graph_gather, start_index_map), SAVED(graph_gather, operand_batching),
    SAVED(graph_gather, indices_batching), SAVED(graph_gather, index_vector_dim),
    SAVED(graph_gather, slice_sizes)};

static const struct field trips_fields[] = {
    SAVED(graph_trips, known), SAVED(graph_trips, first), SAVED(graph_trips, step)};

static const struct field attention_fields[] = {
    SAVED(graph_attention, form), SAVED(graph_attention, is_causal),
    SAVED(graph_attention, sequences), SAVED(graph_attention, heads_q),
    SAVED(graph_attention, heads_kv), SAVED(graph_attention, depth), SAVED(graph_attention, q_len),
    SAVED(graph_attention, kv_len), SAVED(graph_attention, block_q),
    SAVED(graph_attention, block_kv), SAVED(graph_attention, page_tokens),
    SAVED(graph_attention, pages)};

static const struct field node_fields[] = {
    SAVED(graph_node, op), APART(graph_node, shape), APART(graph_node, tuple),
    SAVED(graph_node, tuple_count), SAVED(graph_node, operand_count), APART(graph_node, operand),
    APART(graph_node, name), APART(graph_node, source), SAVED(graph_node, unit),
    SAVED(graph_node, gradient_of), SAVED(graph_node, parameter_index), SAVED(graph_node, value),
    APART(graph_node, literal), SAVED(graph_node, dim), SAVED(graph_node, dims),
    APART(graph_node, dot), SAVED(graph_node, precision), SAVED(graph_node, direction),
    SAVED(graph_node, reduce_kind), SAVED(graph_node, reduce_mask), SAVED(graph_node, start),
    SAVED(graph_node, limit), SAVED(graph_node, stride), SAVED(graph_node, low),
    SAVED(graph_node, high), SAVED(graph_node, interior), SAVED(graph_node, sizes),
    APART(graph_node, trips),
    APART(graph_node, window), APART(graph_node, conv), APART(graph_node, gather),
    APART(graph_node, groups), APART(graph_node, pair), APART(graph_node, message),
    APART(graph_node, attention), APART(graph_node, mosaic), APART(graph_node, edge),
    SAVED_BOOL(graph_node, is_held),
    SAVED(graph_node, count), APART(graph_node, called)};

static const struct field graph_fields[] = {
    APART(graph, arena), APART(graph, name), APART(graph, node), SAVED(graph, node_count),
    APART(graph, node_capacity), APART(graph, parameter), SAVED(graph, parameter_count),
    APART(graph, parameter_capacity), APART(graph, output), SAVED(graph, output_count),
    APART(graph, output_capacity), APART(graph, source), APART(graph, gradient_of),
    APART(graph, unit)};

static const struct field output_fields[] = {
    SAVED(graph_output, node), APART(graph_output, name), SAVED(graph_output, alias_parameter)};

#define ADD_FIELDS(key, table, at) add_fields(key, table, COUNT_OF(table), at)

static void add_fields(struct bytes *key, const struct field *field, size_t count, const void *at)
{
    for (size_t i = 0; i < count; i++)
        if (field[i].kind != FIELD_APART)
            bytes_append(key, (const char *)at + field[i].offset, field[i].bytes);
}

/* with its end, so that two texts are not taken for one */
static void add_text(struct bytes *key, const char *text)
{
    bytes_append(key, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* whether there is something behind a pointer, which is told */
static bool is_there(struct bytes *key, const void *p)
{
    unsigned char there = p != NULL;

    bytes_append(key, &there, 1);
    return p;
}

static void add_groups(struct bytes *key, const struct graph_groups *groups)
{
    bytes_append(key, &groups->count, sizeof(groups->count));
    bytes_append(key, &groups->size, sizeof(groups->size));
    if (is_there(key, groups->member))
        bytes_append(key, groups->member,
                     (size_t)groups->count * (size_t)groups->size * sizeof(*groups->member));
}

/* elements of a constant, or a number for each device */
static size_t literal_count(const struct graph_node *n)
{
    return n->op == HLO_PARTITION_ID ? (size_t)n->count : (size_t)shape_elems(&n->shape);
}

static int window_count(const struct graph *g, const struct graph_node *n)
{
    return n->conv ? n->conv->spatial_count : g->node[n->operand[0]].shape.rank;
}

static void add_details(struct bytes *key, const struct graph *g, const struct graph_node *n)
{
    ADD_FIELDS(key, dot_fields, &n->dot);
    if (is_there(key, n->literal))
        bytes_append(key, n->literal, 4 * literal_count(n));
    if (is_there(key, n->window))
        for (int i = 0; i < window_count(g, n); i++)
            ADD_FIELDS(key, window_fields, &n->window[i]);
    if (is_there(key, n->conv))
        ADD_FIELDS(key, conv_fields, n->conv);
    if (is_there(key, n->gather))
        ADD_FIELDS(key, gather_fields, n->gather);
    if (is_there(key, n->groups))
        add_groups(key, n->groups);
    if (is_there(key, n->pair))
        bytes_append(key, n->pair, (size_t)n->count * sizeof(*n->pair));
    if (is_there(key, n->trips))
        ADD_FIELDS(key, trips_fields, n->trips);
    if (is_there(key, n->attention))
        ADD_FIELDS(key, attention_fields, n->attention);
    if (is_there(key, n->mosaic))
        mosaic_key(n->mosaic, key);
}

static bool add_node(struct bytes *key, const struct graph *g, const struct graph_node *n)
{
    if (n->message || n->edge)
        return false;
    ADD_FIELDS(key, node_fields, n);
    ADD_FIELDS(key, shape_fields, &n->shape);
    for (int i = 0; i < n->tuple_count; i++)
        ADD_FIELDS(key, shape_fields, &n->tuple[i]);
    bytes_append(key, n->operand, (size_t)n->operand_count * sizeof(*n->operand));
    add_text(key, n->name);
    add_text(key, n->source);
    add_details(key, g, n);
    for (int i = 0; i < GRAPH_CALLED_MAX; i++)
        if (is_there(key, n->called[i]) && !graph_key(n->called[i], key))
            return false;
    return true;
}

bool graph_key(const struct graph *g, struct bytes *key)
{
    ADD_FIELDS(key, graph_fields, g);
    add_text(key, g->name);
    for (int i = 0; i < g->node_count; i++)
        if (!add_node(key, g, &g->node[i]))
            return false;
    bytes_append(key, g->parameter, (size_t)g->parameter_count * sizeof(*g->parameter));
    for (int i = 0; i < g->output_count; i++) {
        ADD_FIELDS(key, output_fields, &g->output[i]);
        add_text(key, g->output[i].name);
    }
    return true;
}
