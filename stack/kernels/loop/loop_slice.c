/*
 * Loop fusions: slices of operands. A slice that leaves out whole tiles is no work of its own:
 * it is a window that begins further on. Steps between outer dimensions may be longer, too.
 */
#include "stack/kernels/loop/loop_plan.h"

#include "base/units.h"

static int tile_rows(enum graph_dtype t)
{
    return 8 * (4 / array_element_bytes(t));
}

bool loop_can_fuse_slice(const struct shape *from, const struct graph_node *slice)
{
    int rank = from->rank;

    if (rank == 0 || slice->stride[rank - 1] != 1 || slice->start[rank - 1] % ARRAY_LANES)
        return false;
    return rank == 1 || (slice->stride[rank - 2] == 1
                         && slice->start[rank - 2] % tile_rows(from->dtype) == 0);
}

/* ----- which of them there are */

static bool is_read_whole(const struct graph *g, int node)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return true;
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count && g->node[i].op != HLO_SLICE; k++)
            if (g->node[i].operand[k] == node)
                return true;
    return false;
}

int loop_list_operands(struct loop_plan *p, struct err *e)
{
    const struct graph *g = p->job->body;

    p->view_of = arena_array(p->arena, (size_t)g->node_count + 1, sizeof(*p->view_of));
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        const struct graph_node *parameter = n->op == HLO_SLICE ? &g->node[n->operand[0]] : n;

        p->view_of[i] = -1;
        if (parameter->op != HLO_PARAMETER || (n == parameter && !is_read_whole(g, i)))
            continue;
        if (p->array_count == LOOP_ARRAY_MAX)
            return err_set(e, "more than %d operands, slices and results", LOOP_ARRAY_MAX);
        p->view_of[i] = p->array_count;
        p->array[p->array_count++] = (struct loop_array){
            .array = p->job->operand[parameter->parameter_index], .shape = n->shape,
            .slice = n == parameter ? -1 : i};
    }
    p->operand_count = p->array_count;
    return 0;
}

/* ----- where they begin */

static int place_vector(struct loop_array *a, int64_t start, struct err *e)
{
    int64_t tile = ARRAY_LANES * a->array->tile_rows;

    if (!a->is_tiled)
        a->first_element = start;
    else if (start % tile == 0)
        a->first = start / tile;
    else
        return err_set(e, "a slice of %s begins inside a tile", a->array->name);
    return 0;
}

int loop_place_slice(const struct loop_plan *p, struct loop_array *a, struct err *e)
{
    const struct array *m = a->array;
    const struct graph_node *n = a->slice < 0 ? NULL : &p->job->body->node[a->slice];

    if (!n)
        return 0;
    if (m->is_linear)
        return place_vector(a, n->start[0], e);
    if (!a->is_tiled || n->stride[m->lane_dim] != 1 || n->stride[m->row_dim] != 1
        || n->start[m->lane_dim] % ARRAY_LANES || n->start[m->row_dim] % m->tile_rows)
        return err_set(e, "a slice of %s begins inside a tile, or is spread", m->name);
    a->first = n->start[m->row_dim] / m->tile_rows * m->tiles_across
               + n->start[m->lane_dim] / ARRAY_LANES;
    for (int i = 0; i < m->outer_count; i++) {
        int d = m->outer_dim[i];

        a->first += n->start[d] * array_outer_stride(m, d);
    }
    return 0;
}
