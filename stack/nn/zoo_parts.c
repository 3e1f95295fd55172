/*
 * Variables that replicas hold in parts, so that each updates its own with its part of the slots:
 * XLA's sharding of the weight update, which submissions with Adam and LAMB are known to use
 * (docs/accuracy.md).
 *
 * A part is as many whole tiles as another, along a dimension where there are so many; of matrices
 * that have none, for too many replicas, of the list of their tiles. Weights of bf16 are rounded
 * and then gathered, so that sums of their gradients are bf16, as a submission's are; where tiles
 * of bf16 have no equal parts, but those of f32 have, it is the other way round.
 */
#include "stack/nn/zoo_impl.h"

#include "stack/hlo/array.h"

/* rows of a tile */
static int64_t tile_rows(enum graph_dtype dtype)
{
    return 8 * (4 / array_element_bytes(dtype));
}

/* a matrix of whole tiles as the list of them */
static bool has_list(const struct shape *s, int64_t parts)
{
    return s->rank == 2 && s->dim[0] % tile_rows(s->dtype) == 0 && s->dim[1] % ARRAY_LANES == 0 &&
           s->dim[0] / tile_rows(s->dtype) * (s->dim[1] / ARRAY_LANES) % parts == 0;
}

/* [tiles, rows, 128] as the matrix again */
static int as_matrix(struct graph *g, int list, const struct shape *s)
{
    static const int order[] = {0, 2, 1, 3};
    int64_t rows = tile_rows(s->dtype);
    struct shape apart = shape_make(s->dtype, ZOO_DIMS(s->dim[0] / rows, s->dim[1] / ARRAY_LANES,
                                                       rows, ARRAY_LANES));

    return graph_reshape(g, graph_transpose(g, graph_reshape(g, list, apart), order), *s);
}

/* the dimension of the array, or of its list, along which it has equal parts; -1: none */
static int find_parts(const struct shape *s, int64_t parts, struct shape *list)
{
    int64_t rows = tile_rows(s->dtype);
    int dim = array_dim_of_parts(s, parts);

    *list = *s;
    if (dim >= 0 || !has_list(s, parts))
        return dim;
    *list = shape_make(s->dtype, ZOO_DIMS(shape_elems(s) / (rows * ARRAY_LANES), rows,
                                          ARRAY_LANES));
    return 0;
}

/* parts of such an array along a dimension of its list, f32, gathered in its own type */
static int gather(struct zoo *z, int part, int dim, const struct shape *s)
{
    const struct graph_groups all = {.count = 1, .size = z->replica_count};
    const char *source = z->g->source;
    int node;

    z->g->source = arena_printf(z->g->arena, "all-gather/%s", z->g->node[part].name);
    node = graph_convert(z->g, part, s->dtype);
    node = graph_all_gather(z->g, &node, 1, dim, &all);
    if (z->g->node[node].shape.rank != s->rank)
        node = as_matrix(z->g, node, s);
    z->g->source = source;
    return node;
}

int zoo_hold(struct zoo *z, const char *path, const struct shape *s, int *held)
{
    bool may_be_cut = z->o->is_training && z->replica_count > 1 && z->optimizer != ZOO_MOMENTUM;
    struct shape whole = *s, part = *s;
    int dim = may_be_cut ? find_parts(&whole, z->replica_count, &part) : -1, node;

    if (may_be_cut && dim < 0 && s->dtype != DTYPE_F32) {       /* in tiles of f32, then */
        whole.dtype = DTYPE_F32;
        dim = find_parts(&whole, z->replica_count, &part);
    }
    part.dtype = DTYPE_F32;
    if (dim >= 0)
        part.dim[dim] /= z->replica_count;
    *held = graph_parameter(z->g, part, path);
    node = dim >= 0 ? gather(z, *held, dim, &whole) : *held;
    return graph_convert(z->g, node, s->dtype);
}
