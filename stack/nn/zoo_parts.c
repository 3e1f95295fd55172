/*
 * Variables that replicas hold in parts, so that each updates its own with its part of the slots:
 * XLA's sharding of the weight update, which submissions with Adam and LAMB are known to use
 * (docs/accuracy.md).
 *
 * A part is as many whole tiles as another, along a dimension where there are so many; of matrices
 * that have none, for too many replicas, of the list of their tiles.
 */
#include "stack/nn/zoo_impl.h"

#include "stack/hlo/array.h"

#define TILE_ROWS 8                     /* of f32 */

/* a matrix of whole tiles as the list of them */
static bool has_list(const struct shape *s, int64_t parts)
{
    return s->rank == 2 && s->dim[0] % TILE_ROWS == 0 && s->dim[1] % ARRAY_LANES == 0 &&
           s->dim[0] / TILE_ROWS * (s->dim[1] / ARRAY_LANES) % parts == 0;
}

/* [tiles, 8, 128] as the matrix again */
static int as_matrix(struct graph *g, int list, const struct shape *s)
{
    static const int order[] = {0, 2, 1, 3};
    struct shape apart = shape_make(s->dtype, ZOO_DIMS(s->dim[0] / TILE_ROWS,
                                                       s->dim[1] / ARRAY_LANES, TILE_ROWS,
                                                       ARRAY_LANES));

    return graph_reshape(g, graph_transpose(g, graph_reshape(g, list, apart), order), *s);
}

int zoo_hold(struct zoo *z, const char *path, const struct shape *whole, int *held)
{
    bool is_cut = z->o->is_training && z->replica_count > 1 && z->optimizer != ZOO_MOMENTUM;
    const struct graph_groups all = {.count = 1, .size = z->replica_count};
    const char *source = z->g->source;
    struct shape s = *whole;
    int dim = is_cut ? array_dim_of_parts(whole, z->replica_count) : -1, node;

    is_cut = is_cut && (dim >= 0 || has_list(whole, z->replica_count));
    if (is_cut && dim < 0) {
        s = shape_make(s.dtype, ZOO_DIMS(shape_elems(whole) / (TILE_ROWS * ARRAY_LANES), TILE_ROWS,
                                         ARRAY_LANES));
        dim = 0;
    }
    if (is_cut)
        s.dim[dim] /= z->replica_count;
    *held = node = graph_parameter(z->g, s, path);
    if (is_cut) {
        z->g->source = arena_printf(z->g->arena, "all-gather/%s", path);
        node = graph_all_gather(z->g, &node, 1, dim, &all);
        node = s.rank == whole->rank ? node : as_matrix(z->g, node, whole);
        z->g->source = source;
    }
    return node;
}
