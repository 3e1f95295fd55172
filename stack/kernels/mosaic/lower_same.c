/*
 * What is transposed once: a kernel that is unrolled by hand multiplies the same rows by one block of
 * columns after the other, and says anew each time what they are. Two values are the
 * same where the same operations make them of the same memory, which nobody has written in between.
 */
#include "stack/kernels/mosaic/product.h"

#include <string.h>

#include "base/arena.h"

#define DEPTH_MAX 16                    /* operations one under another */

/* ----- what has been written since */

void same_note_write(struct lower *l, int region)
{
    l->written = mem_grow(l->written, &l->written_capacity, (size_t)region + 1,
                          sizeof(*l->written));
    l->written[region] = l->at;
}

static bool is_written_since(const struct lower *l, int region, int at)
{
    return (size_t)region < l->written_capacity && l->written[region] >= at;
}

/* ----- equal values */

static bool same_attr(const struct mosaic_attr *a, const struct mosaic_attr *b)
{
    if (strcmp(a->name, b->name) || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case MOSAIC_ATTR_INT: return a->integer == b->integer;
    case MOSAIC_ATTR_FLOAT: return memcmp(&a->number, &b->number, sizeof(a->number)) == 0;
    case MOSAIC_ATTR_INTS:
        return a->count == b->count && (!a->count || !memcmp(a->ints, b->ints, (size_t)a->count *
                                                                                   sizeof(*a->ints)));
    case MOSAIC_ATTR_TEXT: return !strcmp(a->text, b->text);
    case MOSAIC_ATTR_ELEMENTS:
        return a->is_splat && b->is_splat && a->element[0] == b->element[0];
    default: return mosaic_type_equal(&a->type, &b->type);
    }
}

static bool same_op(const struct mosaic_op *a, const struct mosaic_op *b)
{
    if (!a || !b || a->code != b->code || a->operand_count != b->operand_count ||
        a->attr_count != b->attr_count || a->region_count || b->region_count ||
        a->result_count != 1 || b->result_count != 1)
        return false;
    for (int i = 0; i < a->attr_count; i++)
        if (!same_attr(&a->attr[i], &b->attr[i]))
            return false;
    return true;
}

static bool same_scalar(const struct lower *l, const struct mosaic_value *a,
                        const struct mosaic_value *b)
{
    const struct scalar *x = &l->scalar[a->id], *y = &l->scalar[b->id];

    return !l->is_late[a->id] && !l->is_late[b->id] && x->is_known && y->is_known &&
           x->value == y->value;
}

static bool is_load(const struct mosaic_op *op)
{
    return op->code == MOSAIC_VECTOR_LOAD || op->code == MOSAIC_TPU_VECTOR_LOAD;
}

static bool same_value(struct lower *l, const struct mosaic_value *a, const struct mosaic_value *b,
                       int since, int depth)
{
    const struct place *p = &l->place[a->id], *q = &l->place[b->id];

    if (a == b)
        return true;
    if (!mosaic_type_equal(&a->type, &b->type) || depth == DEPTH_MAX)
        return false;
    if (a->type.kind == MOSAIC_SCALAR)
        return same_scalar(l, a, b) || (same_op(a->op, b->op) && a->op->operand_count == 0);
    if (p->is_there && q->is_there && p->region == q->region && root_same_place(p, q))
        return !is_written_since(l, p->region, since);
    if (a->type.kind != MOSAIC_VECTOR || !same_op(a->op, b->op) || is_load(a->op))
        return false;
    for (int i = 0; i < a->op->operand_count; i++)
        if (!same_value(l, a->op->operand[i], b->op->operand[i], since, depth + 1))
            return false;
    return true;
}

/* ----- what has been turned */

bool same_turned(struct lower *l, const struct mosaic_value *v, struct place *to)
{
    for (int i = 0; i < l->turned_count; i++) {
        const struct turned *t = &l->turned[i];

        if (t->epoch == l->epoch && same_value(l, t->value, v, t->at, 0)) {
            *to = t->place;
            return true;
        }
    }
    return false;
}

void same_take_turned(struct lower *l, const struct mosaic_value *v)
{
    pallas_take_for(l, v);
    if (l->until < l->block_end)        /* what comes behind in the block may want it, too */
        l->until = l->block_end;
}

void same_keep_turned(struct lower *l, const struct mosaic_value *v, const struct place *place)
{
    struct turned *t = &l->turned[l->turned_count % TURNED_MAX];

    if (l->turned_count < TURNED_MAX)
        l->turned_count++;
    *t = (struct turned){v, *place, l->at, l->epoch};
}
