/* Finds the dimensions that carry a move best, and makes its steps. */
#include "stack/passes/moves/move_steps.h"

#include <string.h>

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/move/kernel_move.h"
#include "stack/kernels/move/move_map.h"

#define DIMS_MAX MOVE_INDEX_DIMS_MAX
#define CARRIERS_MAX 4                  /* tried on each side: those that fill lanes best */
#define OPERANDS_MAX MOVE_SOURCES_MAX
#define FLAGS (2 * OPERANDS_MAX + 2)    /* a window for each array: more than a pipeline takes */
#define LEAST_CARRIED 8                 /* elements along lanes; fewer are mostly padding */

/* an array by the index dimensions that each of its dimensions is made of, outermost first */
struct arrangement {
    int rank;
    int count[GRAPH_RANK_MAX], part[GRAPH_RANK_MAX][DIMS_MAX];
};

struct search {
    const struct move_source *s;
    enum graph_dtype dtype;
    struct shape first, last;           /* of the whole move */
    struct arrangement from, to;
    const struct move_machine *context;
    struct arena *arena;
};

/* some index dimensions in an order */
struct carrier {
    int count, part[DIMS_MAX];
    int64_t lanes, padded;              /* product of their counts; and in whole vectors */
};

/* the arrays in HBM */
static int64_t cycles_of(const struct graph *body, const struct move_machine *c, bool is_streamed)
{
    struct array array[OPERANDS_MAX], result;
    const struct array *operand[OPERANDS_MAX], *results[] = {&result};
    struct kernel_job job = {
        .chip = c->chip, .codegen = c->codegen, .name = "move", .source = "", .body = body,
        .operand_count = body->parameter_count, .result_count = 1, .operand = operand,
        .result = results, .vmem_rows = c->vmem_rows, .flag_count = FLAGS, .core_count = 1};
    struct tiling t;

    if (body->parameter_count > OPERANDS_MAX)
        return INT64_MAX;
    for (int i = 0; i < body->parameter_count; i++) {
        array_init(&array[i], "", &body->node[body->parameter[i]].shape, NULL);
        operand[i] = &array[i];
    }
    array_init(&result, "", &body->node[body->output[0].node].shape, NULL);
    if (is_streamed)
        return move_stream.cost(&job);
    return kernel_move.tilings(&job, &t, 1) ? t.predicted_cycles : INT64_MAX;
}

int64_t move_cycles(const struct graph *body, const struct move_machine *c)
{
    return cycles_of(body, c, false);
}

int64_t move_streamed_cycles(const struct graph *body, const struct move_machine *c)
{
    return cycles_of(body, c, true);
}

/* false unless the index dimensions along each dimension give each of its indices once */
static bool arrange(const struct move_source *s, const struct shape *shape, bool is_result,
                    struct arrangement *out)
{
    *out = (struct arrangement){.rank = shape->rank};
    for (int d = 0; d < shape->rank; d++) {
        int64_t below = 1;

        for (bool is_found = true; is_found && below < shape->dim[d];) {
            is_found = false;
            for (int k = 0; k < s->index_dim_count && !is_found; k++) {
                const struct move_index_dim *x = &s->index_dim[k];

                if ((is_result ? x->to_dim : x->from_dim) != d ||
                    (is_result ? x->to_scale : x->from_scale) != below)
                    continue;
                memmove(&out->part[d][1], &out->part[d][0], (size_t)out->count[d] * sizeof(int));
                out->part[d][0] = k;
                out->count[d]++;
                below *= x->count;
                is_found = true;
            }
        }
        if (below != shape->dim[d])
            return false;
    }
    return true;
}

static bool has_part(const struct arrangement *a, int dim, int k)
{
    return dim >= 0 && graph_dims_have(a->part[dim], a->count[dim], k);
}

/* all index dimensions of an array, outermost first */
static int in_order(const struct arrangement *a, int *list)
{
    int count = 0;

    for (int d = 0; d < a->rank; d++)
        for (int i = 0; i < a->count[d]; i++)
            list[count++] = a->part[d][i];
    return count;
}

static struct shape shape_of(const struct search *x, const struct arrangement *a)
{
    struct shape s = {.dtype = x->dtype, .rank = a->rank};

    for (int d = 0; d < a->rank; d++) {
        s.dim[d] = 1;
        for (int i = 0; i < a->count[d]; i++)
            s.dim[d] *= x->s->index_dim[a->part[d][i]].count;
    }
    return s;
}

/*
 * An array with the carrier along lanes and the parts of dimension `row` of `a` along rows; other
 * parts lie outside, in the order of `a`. False: they are too many.
 */
static bool carried(const struct arrangement *a, int row, const struct carrier *c,
                    struct arrangement *out)
{
    int list[DIMS_MAX], count = in_order(a, list);

    *out = (struct arrangement){0};
    for (int i = 0; i < count; i++) {
        if (has_part(a, row, list[i]) || graph_dims_have(c->part, c->count, list[i]))
            continue;
        if (out->rank + 2 >= GRAPH_RANK_MAX)
            return false;
        out->part[out->rank][out->count[out->rank]++] = list[i];
        out->rank++;
    }
    out->count[out->rank] = a->count[row];
    memcpy(out->part[out->rank++], a->part[row], sizeof(a->part[row]));
    out->count[out->rank] = c->count;
    memcpy(out->part[out->rank++], c->part, sizeof(c->part));
    return true;
}

/* one step as a graph: to all index dimensions apart, another order, and together again */
static struct graph *step_body(const struct search *x, const struct arrangement *from,
                               const struct shape *first, const struct arrangement *to,
                               const struct shape *last)
{
    struct graph *body = arena_alloc(x->arena, sizeof(*body));
    int list[DIMS_MAX], wanted[DIMS_MAX], order[DIMS_MAX], count = in_order(from, list), node;
    struct shape apart = {.dtype = x->dtype, .rank = count};

    in_order(to, wanted);
    for (int i = 0; i < count; i++) {
        apart.dim[i] = x->s->index_dim[list[i]].count;
        for (int k = 0; k < count; k++)
            if (list[k] == wanted[i])
                order[i] = k;
    }
    graph_init(body, x->arena, "move");
    node = graph_parameter(body, *first, "operand");
    node = graph_transpose(body, graph_reshape(body, node, apart), order);
    graph_output(body, graph_reshape(body, node, *last), "result", -1);
    graph_freeze(body);
    return body;
}

/* cycles of the steps by way of these arrays; INT64_MAX: one of them cannot be made */
static int64_t try_by_way(struct search *x, const struct arrangement *way, int way_count,
                          struct move_steps *best)
{
    struct move_steps steps = {.count = way_count + 1};

    for (int i = 0; i < steps.count; i++) {
        bool is_last = i == way_count;
        struct shape first = i ? shape_of(x, &way[i - 1]) : x->first;
        struct shape last = is_last ? x->last : shape_of(x, &way[i]);
        int64_t cycles;

        steps.body[i] = step_body(x, i ? &way[i - 1] : &x->from, &first,
                                  is_last ? &x->to : &way[i], &last);
        cycles = move_streamed_cycles(steps.body[i], x->context);
        if (cycles == INT64_MAX || steps.cycles + cycles >= best->cycles)
            return INT64_MAX;
        steps.cycles += cycles;
    }
    *best = steps;
    return steps.cycles;
}

/* the lanes' dimension; -1: there is none */
static int lanes_of(const struct arrangement *a)
{
    return a->rank - 1;
}

/* by way of an array that `first` carries, of one that `second` does, of both */
static void try_carriers(struct search *x, const struct carrier *first,
                         const struct carrier *second, struct move_steps *best)
{
    struct arrangement way[2];

    if (!carried(&x->from, lanes_of(&x->from), first, &way[0]) ||
        !carried(&x->to, lanes_of(&x->to), second, &way[1]))
        return;
    try_by_way(x, &way[1], 1, best);
    try_by_way(x, &way[0], 1, best);
    try_by_way(x, way, 2, best);
}

/* keeps those that waste the least of a vector, best first */
static void add_carrier(struct carrier *list, int *count, const struct carrier *c)
{
    int at = *count;

    for (int i = 0; i < *count; i++)
        if (list[i].count == c->count &&
            !memcmp(list[i].part, c->part, (size_t)c->count * sizeof(int)))
            return;
    while (at > 0 && c->lanes * list[at - 1].padded > list[at - 1].lanes * c->padded)
        at--;
    if (at == CARRIERS_MAX)
        return;
    if (*count < CARRIERS_MAX)
        ++*count;
    memmove(&list[at + 1], &list[at], (size_t)(*count - 1 - at) * sizeof(*list));
    list[at] = *c;
}

/* neighbours in the order of `a` that do not run along the lanes of `side` */
static void add_carriers(const struct search *x, const struct arrangement *a,
                         const struct arrangement *side, struct carrier *list, int *count)
{
    int all[DIMS_MAX], free[DIMS_MAX], total = in_order(a, all), free_count = 0;

    for (int i = 0; i < total; i++)
        if (!has_part(side, lanes_of(side), all[i]))
            free[free_count++] = all[i];
    for (int first = 0; first < free_count; first++) {
        struct carrier c = {.lanes = 1};

        for (int i = first; i < free_count; i++) {
            c.part[c.count++] = free[i];
            c.lanes *= x->s->index_dim[free[i]].count;
            c.padded = (c.lanes + ARRAY_LANES - 1) / ARRAY_LANES * ARRAY_LANES;
            if (c.lanes >= LEAST_CARRIED)
                add_carrier(list, count, &c);
        }
    }
}

static int carriers_of(const struct search *x, const struct arrangement *side, struct carrier *list)
{
    int count = 0;

    add_carriers(x, &x->to, side, list, &count);
    add_carriers(x, &x->from, side, list, &count);
    return count;
}

static bool find(struct search *x, struct move_steps *out)
{
    struct carrier first[CARRIERS_MAX], second[CARRIERS_MAX];
    int first_count = carriers_of(x, &x->from, first);
    int second_count = carriers_of(x, &x->to, second);

    *out = (struct move_steps){.cycles = INT64_MAX};
    for (int i = 0; i < first_count; i++)
        for (int k = 0; k < second_count; k++)
            try_carriers(x, &first[i], &second[k], out);
    return out->count > 0;
}

bool move_steps_find(const struct graph *whole, const struct move_machine *c, struct arena *a,
                     struct move_steps *out)
{
    struct move_map *map = mem_alloc(sizeof(*map));
    struct search x = {.s = &map->source[0], .context = c, .arena = a,
                       .first = whole->node[whole->parameter[0]].shape,
                       .last = whole->node[whole->output[0].node].shape};
    bool is_found = false;

    x.dtype = x.first.dtype;
    if (move_map_make(whole, map) == 0 && map->source_count == 1 && !map->has_fill &&
        !x.s->is_converted && x.s->index_dim_count <= GRAPH_RANK_MAX &&
        arrange(x.s, &x.first, false, &x.from) && arrange(x.s, &x.last, true, &x.to) &&
        x.from.rank > 0 && x.to.rank > 0)
        is_found = find(&x, out);
    mem_free(map);
    return is_found;
}
