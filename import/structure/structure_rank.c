/*
 * Arrays of more dimensions than the compiler's have, without their dimensions of one element: most
 * of these were only put between others to broadcast along them.
 */
#include "import/structure/structure_impl.h"

#include <string.h>

enum { RANK_MAX = 8 };                  /* the graph's */

static bool is_too_large(const struct hlo_type *t)
{
    return !hlo_type_is_tuple(t) && t->rank > RANK_MAX;
}

/* which of its dimensions stay: place[d] in the squeezed type, -1: none; how many */
static int kept(const struct hlo_type *t, int64_t *dim, int *place)
{
    bool squeezes = is_too_large(t);
    int rank = 0;

    for (int d = 0; d < t->rank; d++) {
        place[d] = squeezes && t->dim[d] == 1 ? -1 : rank;
        if (place[d] >= 0)
            dim[rank++] = t->dim[d];
    }
    return rank;
}

static struct hlo_type squeezed(struct arena *a, const struct hlo_type *t)
{
    int64_t dim[STRUCTURE_RANK_MAX];
    int place[STRUCTURE_RANK_MAX];

    if (hlo_type_is_tuple(t)) {
        struct hlo_type *part = arena_array(a, (size_t)t->part_count + 1, sizeof(*part));

        for (int k = 0; k < t->part_count; k++)
            part[k] = squeezed(a, &t->part[k]);
        return hlo_tuple_type(a, t->part_count, part);
    }
    if (!is_too_large(t) || t->rank > STRUCTURE_RANK_MAX)
        return *t;
    return hlo_array_type(a, t->element, kept(t, dim, place), dim);
}

struct squeeze {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    struct hlo_type before, after;      /* of operand 0 and of the result, as they were */
    struct hlo_type made;               /* the result's squeezed type */
    int place[STRUCTURE_RANK_MAX];      /* of operand 0's dimensions */
};

static int as_made(const struct squeeze *s, int x)
{
    return hlo_reshape(s->b, x, s->made.rank, s->made.dim);
}

/* operand dimensions whose target has gone are of one element, and go too */
static int broadcast(const struct squeeze *s, int x)
{
    int64_t dim[STRUCTURE_RANK_MAX], to[STRUCTURE_RANK_MAX], all[STRUCTURE_RANK_MAX];
    int target[STRUCTURE_RANK_MAX], rank = 0;

    kept(&s->after, all, target);
    for (int d = 0; d < s->before.rank; d++) {
        int t = target[hlo_detail(s->from)->dims.item[d]];

        if (t < 0 || s->place[d] < 0)
            continue;
        dim[rank] = s->before.dim[d];
        to[rank++] = t;
    }
    return hlo_broadcast(s->b, hlo_reshape(s->b, x, rank, dim), s->made.rank, s->made.dim, to);
}

static int transpose(const struct squeeze *s, int x)
{
    int64_t order[STRUCTURE_RANK_MAX];
    int rank = 0;

    for (int d = 0; d < hlo_detail(s->from)->dims.count; d++)
        if (s->place[hlo_detail(s->from)->dims.item[d]] >= 0)
            order[rank++] = s->place[hlo_detail(s->from)->dims.item[d]];
    return hlo_transpose(s->b, x, order);
}

static int reduce(const struct squeeze *s, const int *operand)
{
    int64_t dims[STRUCTURE_RANK_MAX];
    int count = 0;

    if (s->from->operand_count != 2)
        return -1;
    for (int k = 0; k < hlo_detail(s->from)->dims.count; k++)
        if (s->place[hlo_detail(s->from)->dims.item[k]] >= 0)
            dims[count++] = s->place[hlo_detail(s->from)->dims.item[k]];
    return as_made(s, hlo_reduce(s->b, operand[0], operand[1], count, dims,
                                 hlo_detail(s->from)->computation[0]));
}

static int slice(const struct squeeze *s, int x)
{
    int64_t start[STRUCTURE_RANK_MAX], limit[STRUCTURE_RANK_MAX], stride[STRUCTURE_RANK_MAX];

    for (int d = 0; d < s->before.rank; d++)
        if (s->place[d] >= 0) {
            start[s->place[d]] = hlo_detail(s->from)->start.item[d];
            limit[s->place[d]] = hlo_detail(s->from)->limit.item[d];
            stride[s->place[d]] =
                hlo_detail(s->from)->stride.count ? hlo_detail(s->from)->stride.item[d] : 1;
        }
    return as_made(s, hlo_slice(s->b, x, start, limit, stride));
}

static int reverse(const struct squeeze *s, int x)
{
    int64_t dims[STRUCTURE_RANK_MAX];
    int count = 0;

    for (int k = 0; k < hlo_detail(s->from)->dims.count; k++)
        if (s->place[hlo_detail(s->from)->dims.item[k]] >= 0)
            dims[count++] = s->place[hlo_detail(s->from)->dims.item[k]];
    return count ? hlo_reverse(s->b, x, count, dims) : x;
}

/* along a dimension that stays, of the same ones */
static int concatenate(const struct squeeze *s, const int *operand)
{
    int dim = (int)hlo_detail(s->from)->dims.item[0], result[STRUCTURE_RANK_MAX];
    int64_t all[STRUCTURE_RANK_MAX], length;
    int *piece, made;

    kept(&s->after, all, result);
    if (result[dim] < 0)
        return operand[0];
    piece = mem_alloc((size_t)s->from->operand_count * sizeof(*piece));
    for (int k = 0; k < s->from->operand_count; k++) {
        length = hlo_type_elements(hlo_type_of(s->b, operand[k]));
        for (int d = 0; d < s->made.rank; d++)
            length /= d == result[dim] ? 1 : s->made.dim[d];
        memcpy(all, s->made.dim, (size_t)s->made.rank * sizeof(*all));
        all[result[dim]] = length;
        piece[k] = hlo_reshape(s->b, operand[k], s->made.rank, all);
    }
    made = hlo_concatenate(s->b, s->from->operand_count, piece, result[dim]);
    mem_free(piece);
    return made;
}

/* the same operation on squeezed arrays: elementwise, tuples, loops */
static int retyped(const struct squeeze *s, const int *operand)
{
    struct hlo_instruction i = *s->from;

    i.type = HLO_TYPE(squeezed(s->b->module->arena, s->from->type));
    if (i.op == OPCODE_CONSTANT && i.literal) {
        struct hlo_literal *l = arena_copy(s->b->module->arena, i.literal, 1, sizeof(*l));

        l->type = *i.type;
        i.literal = l;
    }
    return hlo_copy_instruction(s->b, &i, operand);
}

static int squeeze(const struct squeeze *s, const int *operand)
{
    switch (s->from->op) {
    case OPCODE_RESHAPE: case OPCODE_BITCAST: return as_made(s, operand[0]);
    case OPCODE_BROADCAST: return broadcast(s, operand[0]);
    case OPCODE_TRANSPOSE: return transpose(s, operand[0]);
    case OPCODE_REDUCE: return reduce(s, operand);
    case OPCODE_SLICE: return slice(s, operand[0]);
    case OPCODE_REVERSE: return reverse(s, operand[0]);
    case OPCODE_CONCATENATE: return concatenate(s, operand);
    case OPCODE_IOTA: {
        int64_t all[STRUCTURE_RANK_MAX];
        int place[STRUCTURE_RANK_MAX];

        kept(&s->after, all, place);
        return place[s->from->index] >= 0 ? hlo_iota(s->b, &s->made, place[s->from->index])
                                          : hlo_constant_int(s->b, &s->made, 0);
    }
    default:
        return retyped(s, operand);
    }
}

static bool has_large(const struct hlo_type *t)
{
    for (int k = 0; hlo_type_is_tuple(t) && k < t->part_count; k++)
        if (has_large(&t->part[k]))
            return true;
    return is_too_large(t);
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const struct hlo_instruction *old = r->old->computation[b->computation].instruction;
    struct squeeze s = {.b = b, .from = from, .after = *from->type};
    int64_t dim[STRUCTURE_RANK_MAX];
    bool is_large = has_large(from->type);

    for (int k = 0; k < from->operand_count; k++)
        is_large = is_large || has_large(old[from->operand[k]].type);
    if (!is_large || from->type->rank > STRUCTURE_RANK_MAX)
        return -1;
    if (from->operand_count > 0 && !hlo_type_is_tuple(old[from->operand[0]].type)) {
        s.before = *old[from->operand[0]].type;
        if (s.before.rank > STRUCTURE_RANK_MAX)
            return -1;
        kept(&s.before, dim, s.place);
    }
    s.made = squeezed(b->module->arena, from->type);
    return squeeze(&s, operand);
}

int structure_ranks(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e)
{
    return structure_visit(old, made, a, visit, e);
}
