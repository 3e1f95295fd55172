/* Arrays of too many dimensions at computed places: dynamic slices, gathers, scatters. */
#include <string.h>

#include "import/expand/ranks_impl.h"

static struct arena *arena_of(const struct expand_site *s) { return s->b->module->arena; }

/* an index of zero, of the type that the others have */
static int nought(struct expand_site *s, int like)
{
    struct hlo_type t = *hlo_type_of(s->b, like);

    return hlo_constant_int(s->b, &t, 0);
}

/* how a slice of these sizes sees the array: what it takes all of is left alone */
static void see_slices(struct ranks_view *v, const struct hlo_type *t, const int64_t *sizes,
                       int64_t *part)
{
    int kind[RANKS_READ_MAX];

    for (int d = 0; d < t->rank; d++)
        kind[d] = sizes[d] == t->dim[d] ? 0 : RANKS_ALONE;
    ranks_group(v, t->rank, t->dim, kind);
    memcpy(part, v->dim, (size_t)v->rank * sizeof(*part));
    for (int d = 0; d < t->rank; d++)
        if (kind[d] == RANKS_ALONE)
            part[v->group[d]] = sizes[d];
}

/* where the slice starts along each dimension as it is seen */
static void see_starts(struct expand_site *s, const struct ranks_view *v, const struct hlo_type *t,
                       const int64_t *sizes, const int *start, int *seen)
{
    for (int g = 0; g < v->rank; g++)
        seen[g] = -1;
    for (int d = 0; d < t->rank; d++)
        if (sizes[d] != t->dim[d])
            seen[v->group[d]] = start[d];
    for (int g = 0; g < v->rank; g++)
        if (seen[g] < 0)
            seen[g] = nought(s, start[0]);
}

/* x, seen as before, along one dimension, behind it */
static int slice_one(struct expand_site *s, int x, const int64_t *dim, int rank, int d, int64_t size,
                     int start)
{
    int64_t seen[3] = {ranks_product(dim, 0, d), dim[d], ranks_product(dim, d + 1, rank)};
    int zero = nought(s, start);

    return hlo_dynamic_slice(s->b, ranks_see(s, x, 3, seen), (int[]){zero, start, zero},
                             (int64_t[]){seen[0], size, seen[2]});
}

int ranks_dynamic_slice(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    const int64_t *sizes = s->from->type->dim;
    int64_t part[RANKS_READ_MAX], dim[RANKS_READ_MAX];
    int start[RANKS_READ_MAX], x = s->operand[0];
    struct ranks_view v;

    see_slices(&v, from, sizes, part);
    if (v.rank <= RANKS_MAX) {
        see_starts(s, &v, from, sizes, s->operand + 1, start);
        x = hlo_dynamic_slice(s->b, ranks_see(s, x, v.rank, v.dim), start, part);
        return ranks_keep(s, x, s->from->type);
    }
    memcpy(dim, from->dim, (size_t)from->rank * sizeof(*dim));
    for (int d = 0; d < from->rank; d++) {
        if (sizes[d] == from->dim[d])
            continue;
        x = slice_one(s, x, dim, from->rank, d, sizes[d], s->operand[1 + d]);
        dim[d] = sizes[d];
    }
    return ranks_keep(s, x, s->from->type);
}

/* the slices that hold the update, each within the one before; written back the other way */
static int update_by_dimension(struct expand_site *s, const int64_t *sizes)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    int64_t dim[RANKS_READ_MAX];
    int inside[RANKS_READ_MAX + 1], x = s->operand[0], made = s->operand[1], zero;

    memcpy(dim, from->dim, (size_t)from->rank * sizeof(*dim));
    for (int d = 0; d < from->rank; d++) {
        inside[d] = x;
        if (sizes[d] != from->dim[d])
            x = slice_one(s, x, dim, from->rank, d, sizes[d], s->operand[2 + d]);
        dim[d] = sizes[d];
    }
    for (int d = from->rank - 1; d >= 0; d--) {
        int start = s->operand[2 + d];
        int64_t seen[3] = {ranks_product(dim, 0, d), from->dim[d],
                           ranks_product(dim, d + 1, from->rank)};
        int64_t part[3] = {seen[0], sizes[d], seen[2]};

        dim[d] = from->dim[d];
        if (sizes[d] == from->dim[d])
            continue;
        x = ranks_see(s, inside[d], 3, seen);
        made = ranks_see(s, made, 3, part);
        zero = nought(s, start);
        made = hlo_dynamic_update_slice(s->b, x, made, (int[]){zero, start, zero});
    }
    return ranks_keep(s, made, s->from->type);
}

int ranks_dynamic_update(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    const int64_t *sizes = expand_operand_type(s, 1)->dim;
    int64_t part[RANKS_READ_MAX];
    int start[RANKS_READ_MAX], x, update;
    struct ranks_view v;

    see_slices(&v, from, sizes, part);
    if (v.rank > RANKS_MAX)
        return update_by_dimension(s, sizes);
    see_starts(s, &v, from, sizes, s->operand + 2, start);
    x = ranks_see(s, s->operand[0], v.rank, v.dim);
    update = ranks_see(s, s->operand[1], v.rank, part);
    x = hlo_dynamic_update_slice(s->b, x, update, start);
    return ranks_keep(s, x, s->from->type);
}

/* Places of a gather or scatter: dimensions of the array that are found by index, the others rest */
struct places {
    const struct hlo_type *of;          /* the array */
    const struct hlo_gather *g;
    int64_t order[RANKS_READ_MAX];      /* found dimensions, then the rest */
    int64_t found, rest;                /* elements */
    int64_t batch[RANKS_READ_MAX];      /* dimensions of the indices but the vector's */
    int batch_rank;
    int64_t count;                      /* of places, elements of batch */
};

static int index_count(const struct places *p)
{
    return p->g->operand_batching.count + p->g->start_index_map.count;
}

/* the dimension of the array that index number k is of */
static int indexed(const struct places *p, int k)
{
    int batching = p->g->operand_batching.count;

    return (int)(k < batching ? p->g->operand_batching.item[k]
                              : p->g->start_index_map.item[k - batching]);
}

/* false: an index finds part of a dimension, or part of one is taken that no index finds */
static bool order_dimensions(struct places *p, const int64_t *sizes)
{
    bool is_found[RANKS_READ_MAX] = {false};
    int rank = 0;

    for (int k = 0; k < index_count(p); k++)
        if (sizes[indexed(p, k)] == 1) {
            is_found[indexed(p, k)] = true;
            p->found *= p->of->dim[indexed(p, k)];
            p->order[rank++] = indexed(p, k);
        }
    for (int d = 0; d < p->of->rank; d++) {
        if (is_found[d])
            continue;
        p->order[rank++] = d;
        p->rest *= p->of->dim[d];
        if (sizes[d] != p->of->dim[d])
            return false;
    }
    return true;
}

static bool find_places(struct places *p, const struct hlo_type *t, const struct hlo_type *indices,
                        const struct hlo_gather *g, const int64_t *sizes)
{
    *p = (struct places){.of = t, .g = g, .found = 1, .rest = 1, .count = 1};
    for (int d = 0; d < indices->rank; d++)
        if (d != g->index_vector_dim) {
            p->batch[p->batch_rank++] = indices->dim[d];
            p->count *= indices->dim[d];
        }
    return order_dimensions(p, sizes);
}

/* index number k of all places, s32 of the batch's dimensions */
static int index_of(struct expand_site *s, const struct places *p, int indices, int k)
{
    const struct hlo_type all = *hlo_type_of(s->b, indices);
    int vector = (int)p->g->index_vector_dim, batching = p->g->operand_batching.count;
    struct hlo_type seen = hlo_array_type(arena_of(s), ELEMENT_S32, p->batch_rank, p->batch);
    int64_t along;

    if (k < batching) {                 /* the place's own number along that dimension */
        along = p->g->indices_batching.item[k];
        return hlo_iota(s->b, &seen, (int)(along - (along > vector)));
    }
    if (vector < all.rank)
        indices = hlo_slice_dim(s->b, indices, vector, k - batching, k - batching + 1);
    return hlo_convert(s->b, ranks_see(s, indices, p->batch_rank, p->batch), ELEMENT_S32);
}

/*
 * Places as one number each, row-major over the dimensions that are found: of a gather those beyond
 * the array's end are moved to it, of a scatter they are none. What is taken whole begins at 0.
 */
static int flat_places(struct expand_site *s, const struct places *p, int indices,
                       const int64_t *sizes, bool clamps)
{
    struct hlo_type t = hlo_array_type(arena_of(s), ELEMENT_S32, p->batch_rank, p->batch);
    int place = hlo_constant_int(s->b, &t, 0), zero = place, is_there = -1;

    for (int k = 0; k < index_count(p); k++) {
        int64_t size = p->of->dim[indexed(p, k)];
        int own = index_of(s, p, indices, k), in, below;
        int last = hlo_constant_int(s->b, &t, size - sizes[indexed(p, k)]);

        if (clamps)
            own = hlo_clamp(s->b, zero, own, last);
        in = hlo_compare(s->b, HLO_GE, own, zero);
        below = hlo_compare(s->b, HLO_LE, own, last);
        in = hlo_binary(s->b, OPCODE_AND, in, below);
        is_there = is_there < 0 ? in : hlo_binary(s->b, OPCODE_AND, is_there, in);
        if (sizes[indexed(p, k)] != 1)
            continue;
        place = hlo_binary(s->b, OPCODE_MULTIPLY, place, hlo_constant_int(s->b, &t, size));
        place = hlo_binary(s->b, OPCODE_ADD, place, own);
    }
    if (!clamps && is_there >= 0)
        place = hlo_select(s->b, is_there, place, hlo_constant_int(s->b, &t, -1));
    return ranks_see(s, place, 1, &p->count);
}

/*
 * The dimensions of a gather's result, or of a scatter's updates, as [places, rest]: `dim` their
 * sizes in that order, `order` the number that each has in `t`.
 */
static void window_order(const struct places *p, const struct hlo_type *t, int64_t *dim,
                         int64_t *order)
{
    int count = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < t->rank; d++)
            if (ranks_has(p->g->offset_dims, d) == (pass == 1)) {
                dim[count] = t->dim[d];
                order[count++] = d;
            }
}

static void inverse(int rank, const int64_t *order, int64_t *back)
{
    for (int k = 0; k < rank; k++)
        back[order[k]] = k;
}

static const struct hlo_gather *rows_gather(struct expand_site *s, const struct hlo_gather *g)
{
    struct hlo_gather *rows = arena_array(arena_of(s), 1, sizeof(*rows));

    *rows = (struct hlo_gather){.offset_dims = ranks_ints(s, 1, (int64_t[]){1}),
                                .collapsed_dims = ranks_ints(s, 1, (int64_t[]){0}),
                                .start_index_map = ranks_ints(s, 1, (int64_t[]){0}),
                                .index_vector_dim = 1, .is_unique = g->is_unique};
    return rows;
}

/* the array as rows, of what is found by index; each row is what rests */
static int as_rows(struct expand_site *s, const struct places *p, int x)
{
    return ranks_see(s, ranks_transpose(s, x, p->of->rank, p->of->dim, p->order), 2,
                     (int64_t[]){p->found, p->rest});
}

int ranks_gather(struct expand_site *s)
{
    const struct hlo_detail *own = hlo_detail(s->from);
    const struct hlo_type *to = s->from->type;
    int64_t dim[RANKS_READ_MAX], order[RANKS_READ_MAX], back[RANKS_READ_MAX];
    struct places p;
    int x, place;

    if (!find_places(&p, expand_operand_type(s, 0), expand_operand_type(s, 1), own->gather,
                     own->sizes.item))
        return expand_refuse(s, "takes parts of dimensions, of an array of more than %d",
                             RANKS_MAX);
    x = as_rows(s, &p, s->operand[0]);
    place = flat_places(s, &p, s->operand[1], own->sizes.item, true);
    x = hlo_gather(s->b, x, place, rows_gather(s, own->gather), (int64_t[]){1, p.rest});
    window_order(&p, to, dim, order);
    inverse(to->rank, order, back);
    return ranks_keep(s, ranks_transpose(s, x, to->rank, dim, back), to);
}

/* how many elements of each dimension an update has: all of those that its window has */
static bool update_sizes(const struct hlo_type *t, const struct hlo_type *update,
                         const struct hlo_gather *g, int64_t *sizes)
{
    int count = 0;

    for (int d = 0; d < t->rank; d++) {
        bool is_gone = ranks_has(g->collapsed_dims, d) || ranks_has(g->operand_batching, d);

        sizes[d] = is_gone ? 1 : update->dim[g->offset_dims.item[count++]];
    }
    return count == g->offset_dims.count;
}

/* operands of a scatter of rows: as many arrays as updates, the places between them */
static int *row_operands(struct expand_site *s, const struct places *p, const int64_t *sizes,
                         int arrays)
{
    const struct hlo_type *update = expand_operand_type(s, arrays + 1);
    int *operand = arena_array(arena_of(s), (size_t)s->from->operand_count, sizeof(*operand));
    int64_t dim[RANKS_READ_MAX], order[RANKS_READ_MAX];

    window_order(p, update, dim, order);
    operand[arrays] = flat_places(s, p, s->operand[arrays], sizes, false);
    for (int k = 0; k < arrays; k++) {
        int x = ranks_transpose(s, s->operand[arrays + 1 + k], update->rank, update->dim, order);

        operand[k] = as_rows(s, p, s->operand[k]);
        operand[arrays + 1 + k] = ranks_see(s, x, 2, (int64_t[]){p->count, p->rest});
    }
    return operand;
}

/* rows as the array that they were made of */
static int from_rows(struct expand_site *s, const struct places *p, int x)
{
    int64_t dim[RANKS_READ_MAX], back[RANKS_READ_MAX];

    for (int k = 0; k < p->of->rank; k++)
        dim[k] = p->of->dim[p->order[k]];
    inverse(p->of->rank, p->order, back);
    return ranks_keep(s, ranks_transpose(s, x, p->of->rank, dim, back), p->of);
}

int ranks_scatter(struct expand_site *s)
{
    int arrays = s->from->operand_count / 2, made, *result;
    const struct hlo_type *t = expand_operand_type(s, 0);
    struct hlo_instruction i = *s->from;
    struct hlo_type *part = arena_array(arena_of(s), (size_t)arrays, sizeof(*part));
    int64_t sizes[RANKS_READ_MAX];
    struct places p;

    if (!update_sizes(t, expand_operand_type(s, arrays + 1), hlo_detail(&i)->gather, sizes) ||
        !find_places(&p, t, expand_operand_type(s, arrays), hlo_detail(&i)->gather, sizes))
        return expand_refuse(s, "writes parts of dimensions, of an array of more than %d",
                             RANKS_MAX);
    for (int k = 0; k < arrays; k++)
        part[k] = hlo_array_type(arena_of(s), expand_operand_type(s, k)->element, 2,
                                 (int64_t[]){p.found, p.rest});
    i.type = HLO_TYPE(hlo_type_is_tuple(i.type) ? hlo_tuple_type(arena_of(s), arrays, part)
                                                : part[0]);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->gather = rows_gather(s, hlo_detail(&i)->gather);
    made = hlo_copy_instruction(s->b, &i, row_operands(s, &p, sizes, arrays));
    if (!hlo_type_is_tuple(i.type))
        return from_rows(s, &p, made);
    result = arena_array(arena_of(s), (size_t)arrays, sizeof(*result));
    for (int k = 0; k < arrays; k++)
        result[k] = from_rows(s, &p, hlo_tuple_element(s->b, made, k));
    return hlo_tuple(s->b, arrays, result);
}
