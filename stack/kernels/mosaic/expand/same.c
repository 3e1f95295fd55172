/*
 * Common subexpressions: an operation that has been carried out in this block with these operands
 * and attributes is not carried out again (JAX writes v.mean() as often as the author does, and loads
 * a reference wherever it is named), and a shape that is given its own shape is the value itself.
 *
 * What reads memory is the same until something in between may have written some. Blocks around are
 * not looked at: what they made would wait in memory for a loop inside, which makes it anew for less.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

#define LOOKED_BACK 512                 /* operations of a block */

/* results of an operation without regions, else 0 */
static const signed char results_of[MOSAIC_UNKNOWN] = {
#define MOSAIC(id, name, operands, results, regions, run) \
    [MOSAIC_##id] = (regions) == 0 ? (results) : 0,
#include "stack/mosaic/ops.def"
};

static bool is_load(enum mosaic_code c)
{
    return c == MOSAIC_VECTOR_LOAD || c == MOSAIC_TPU_VECTOR_LOAD || c == MOSAIC_STRIDED_LOAD;
}

static bool is_view(enum mosaic_code c)
{
    return c == MOSAIC_SLICE || c == MOSAIC_SQUEEZE || c == MOSAIC_REF_RESHAPE ||
           c == MOSAIC_REF_BITCAST || c == MOSAIC_REINTERPRET || c == MOSAIC_ERASE_LAYOUT;
}

/* operations whose result does not follow from their operands alone, or which somebody waits for */
static bool is_of_its_own(enum mosaic_code c)
{
    switch (c) {
    case MOSAIC_ALLOCA: case MOSAIC_LOAD: case MOSAIC_SEM_ALLOC: case MOSAIC_SEM_BARRIER:
    case MOSAIC_SEM_READ: case MOSAIC_PRNG_BITS: case MOSAIC_EXTRACT:
        return true;
    default:
        return is_view(c);
    }
}

static bool has_value_alone(const struct mosaic_op *op)
{
    return op->code < MOSAIC_UNKNOWN && results_of[op->code] == 1 && op->result_count == 1 &&
           !is_of_its_own(op->code);
}

/* what stands between two loads of one place leaves it as it was */
static bool leaves_memory(const struct mosaic_op *op)
{
    return has_value_alone(op) || op->code == MOSAIC_LOAD || op->code == MOSAIC_EXTRACT ||
           (op->code < MOSAIC_UNKNOWN && is_view(op->code));
}

static bool same_type(const struct mosaic_type *a, const struct mosaic_type *b)
{
    if (a->kind != b->kind || a->element != b->element || a->rank != b->rank || a->space != b->space)
        return false;
    return !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0]));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_attr(const struct mosaic_attr *a, const struct mosaic_attr *b)
{
    if (!same_text(a->name, b->name) || a->kind != b->kind || a->integer != b->integer ||
        memcmp(&a->number, &b->number, sizeof(a->number)) || a->count != b->count ||
        !same_text(a->text, b->text) || a->is_splat != b->is_splat)
        return false;
    if (a->kind == MOSAIC_ATTR_INTS)
        return !a->count || !memcmp(a->ints, b->ints, (size_t)a->count * sizeof(a->ints[0]));
    if (a->kind == MOSAIC_ATTR_ELEMENTS)
        return same_type(&a->type, &b->type) && a->count &&
               !memcmp(a->element, b->element, (size_t)a->count * sizeof(a->element[0]));
    return true;
}

static bool is_same(const struct mosaic_op *a, const struct mosaic_op *b,
                    struct mosaic_value *const *operand)
{
    if (a->code != b->code || a->operand_count != b->operand_count ||
        a->attr_count != b->attr_count || a->segment_count != b->segment_count ||
        !same_type(&a->result[0]->type, &b->result[0]->type))
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (a->operand[i] != operand[i])
            return false;
    for (int i = 0; i < a->segment_count; i++)
        if (a->segment[i] != b->segment[i])
            return false;
    for (int i = 0; i < a->attr_count; i++)
        if (!same_attr(&a->attr[i], &b->attr[i]))
            return false;
    return true;
}

expanded expand_repeated(const struct expand *e, const struct mosaic_op *op,
                     struct mosaic_value *const *operand)
{
    int last = e->count > LOOKED_BACK ? e->count - LOOKED_BACK : 0;

    if (!has_value_alone(op))
        return NULL;
    if ((op->code == MOSAIC_SHAPE_CAST || op->code == MOSAIC_TPU_RESHAPE) &&
        same_type(&operand[0]->type, &op->result[0]->type))
        return operand[0];
    for (int i = e->count - 1; i >= last; i--) {
        if (is_load(op->code) && !leaves_memory(e->list[i]))
            return NULL;
        if (has_value_alone(e->list[i]) && is_same(e->list[i], op, operand))
            return e->list[i]->result[0];
    }
    return NULL;
}
