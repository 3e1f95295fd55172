/* Builders of the operations that have larger attributes. */
#include "stack/hlo/graph.h"

#include <assert.h>
#include <string.h>

static const struct graph_window *keep_windows(struct graph *g, const struct graph_window *w,
                                               int count)
{
    return count ? arena_copy(g->arena, w, (size_t)count, sizeof(*w)) : NULL;
}

int graph_convolution(struct graph *g, int input, int kernel, const struct graph_window *window,
                      const struct graph_conv *conv, enum graph_dtype dtype,
                      enum graph_precision precision)
{
    struct graph_node n = {
        .op = HLO_CONVOLUTION, .shape = shape_scalar(dtype), .precision = precision,
        .conv = arena_copy(g->arena, conv, 1, sizeof(*conv)),
        .window = keep_windows(g, window, conv->spatial_count)};

    return graph_add(g, &n, (int[]){input, kernel}, 2);
}

int graph_slice(struct graph *g, int a, const int64_t *start, const int64_t *limit,
                const int64_t *stride)
{
    struct graph_node n = {.op = HLO_SLICE};

    for (int i = 0; i < g->node[a].shape.rank; i++) {
        n.start[i] = start[i];
        n.limit[i] = limit[i];
        n.stride[i] = stride ? stride[i] : 1;
    }
    return graph_add(g, &n, &a, 1);
}

int graph_pad(struct graph *g, int a, int value, const int64_t *low, const int64_t *high,
              const int64_t *interior)
{
    struct graph_node n = {.op = HLO_PAD};

    for (int i = 0; i < g->node[a].shape.rank; i++) {
        n.low[i] = low[i];
        n.high[i] = high[i];
        n.interior[i] = interior ? interior[i] : 0;
    }
    return graph_add(g, &n, (int[]){a, value}, 2);
}

int graph_concatenate(struct graph *g, const int *operand, int count, int dim)
{
    struct graph_node n = {.op = HLO_CONCATENATE, .dim = dim};

    return graph_add(g, &n, operand, count);
}

int graph_reverse(struct graph *g, int a, const int *dims, int count)
{
    struct graph_node n = {.op = HLO_REVERSE, .dim = count};

    assert(count <= GRAPH_RANK_MAX);
    for (int i = 0; i < count; i++)
        n.dims[i] = dims[i];
    return graph_add(g, &n, &a, 1);
}

int graph_dynamic_slice(struct graph *g, int a, const int *start, const int64_t *sizes)
{
    struct graph_node n = {.op = HLO_DYNAMIC_SLICE};
    int operand[1 + GRAPH_RANK_MAX] = {a}, rank = g->node[a].shape.rank;

    for (int i = 0; i < rank; i++) {
        operand[1 + i] = start[i];
        n.sizes[i] = sizes[i];
    }
    return graph_add(g, &n, operand, 1 + rank);
}

int graph_dynamic_update_slice(struct graph *g, int a, int update, const int *start)
{
    struct graph_node n = {.op = HLO_DYNAMIC_UPDATE_SLICE};
    int operand[2 + GRAPH_RANK_MAX] = {a, update}, rank = g->node[a].shape.rank;

    for (int i = 0; i < rank; i++)
        operand[2 + i] = start[i];
    return graph_add(g, &n, operand, 2 + rank);
}

int graph_gather(struct graph *g, int a, int indices, const struct graph_gather *gather)
{
    struct graph_node n = {.op = HLO_GATHER,
                           .gather = arena_copy(g->arena, gather, 1, sizeof(*gather))};

    return graph_add(g, &n, (int[]){a, indices}, 2);
}

int graph_scatter(struct graph *g, enum graph_reduce kind, int a, int indices, int updates,
                  const struct graph_gather *scatter)
{
    struct graph_node n = {.op = HLO_SCATTER, .reduce_kind = kind,
                           .gather = arena_copy(g->arena, scatter, 1, sizeof(*scatter))};

    return graph_add(g, &n, (int[]){a, indices, updates}, 3);
}

int graph_reduce_window(struct graph *g, enum graph_reduce kind, int a,
                        const struct graph_window *window)
{
    struct graph_node n = {.op = HLO_REDUCE_WINDOW, .reduce_kind = kind,
                           .window = keep_windows(g, window, g->node[a].shape.rank)};

    return graph_add(g, &n, &a, 1);
}

int graph_select_and_scatter(struct graph *g, enum graph_compare direction, int a, int source,
                             const struct graph_window *window)
{
    struct graph_node n = {.op = HLO_SELECT_AND_SCATTER, .direction = direction,
                           .window = keep_windows(g, window, g->node[a].shape.rank)};

    return graph_add(g, &n, (int[]){a, source}, 2);
}

int graph_sort(struct graph *g, const int *operand, int count, int dim,
               enum graph_compare direction)
{
    struct graph_node n = {.op = HLO_SORT, .dim = dim, .direction = direction};

    return graph_add(g, &n, operand, count);
}

int graph_top_k(struct graph *g, int a, int64_t k)
{
    struct graph_node n = {.op = HLO_TOP_K, .count = k};

    return graph_add(g, &n, &a, 1);
}

int graph_tuple(struct graph *g, const int *operand, int count)
{
    struct graph_node n = {.op = HLO_TUPLE};

    return graph_add(g, &n, operand, count);
}

int graph_tuple_element(struct graph *g, int tuple, int index)
{
    struct graph_node n = {.op = HLO_GET_TUPLE_ELEMENT, .dim = index};

    return graph_add(g, &n, &tuple, 1);
}

int graph_while(struct graph *g, const int *operand, int count, const struct graph *body,
                int64_t trips)
{
    struct graph_node n = {.op = HLO_WHILE, .count = trips, .called = {body}};

    return graph_add(g, &n, operand, count);
}

int graph_while_condition(struct graph *g, const int *operand, int count, const struct graph *body,
                          const struct graph *condition)
{
    struct graph_node n = {.op = HLO_WHILE, .count = GRAPH_TRIPS_UNKNOWN,
                           .called = {body, condition}};

    return graph_add(g, &n, operand, count);
}

int graph_conditional(struct graph *g, int pred, const int *operand, int count,
                      const struct graph *if_true, const struct graph *if_false)
{
    struct graph_node n = {.op = HLO_CONDITIONAL, .called = {if_true, if_false}};
    int *all = mem_alloc(((size_t)count + 1) * sizeof(*all)), node;

    all[0] = pred;
    for (int i = 0; i < count; i++)
        all[1 + i] = operand[i];
    node = graph_add(g, &n, all, count + 1);
    mem_free(all);
    return node;
}

int graph_fusion(struct graph *g, const int *operand, int count, const struct graph *body)
{
    struct graph_node n = {.op = HLO_FUSION, .called = {body}};

    return graph_add(g, &n, operand, count);
}

int graph_custom_call(struct graph *g, const int *operand, int count, const struct graph *body,
                      const struct graph_attention *attention)
{
    struct graph_node n = {.op = HLO_CUSTOM_CALL, .called = {body},
                           .attention = arena_copy(g->arena, attention, 1,
                                                   sizeof(*attention))};

    return graph_add(g, &n, operand, count);
}

int graph_mosaic(struct graph *g, const int *operand, int count,
                 const struct mosaic_kernel *kernel)
{
    struct graph_node n = {.op = HLO_MOSAIC, .mosaic = kernel};

    return graph_add(g, &n, operand, count);
}

const char *graph_attention_name(enum graph_attention_form form)
{
    static const char *const names[] = {"flash_attention", "paged_attention",
                                        "ragged_paged_attention"};

    return names[form];
}
