/*
 * Elements as bits of others, by shifts and masks: words that several elements are packed into or
 * taken out of, f32 rounded to bf16 by chance, and bits of integers of 2, 4 and 16 bits, which are
 * wider in registers than they are named (expand_wider).
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

static expanded shifted(struct expand *e, enum mosaic_code code, expanded x, int by)
{
    return by ? expand_op2(e, code, &x->type, x, expand_constant(e, &x->type, (uint32_t)by)) : x;
}

static struct mosaic_type words_as(const struct mosaic_type *t)
{
    return expand_type(t, MOSAIC_I32);
}

/* an element's bits at the bottom of a word, whose others may be anything */
static expanded bits_in_word(struct expand *e, expanded x, enum mosaic_element element)
{
    const struct mosaic_type word = words_as(&x->type), single = expand_type(&x->type, MOSAIC_F32);

    if (element == MOSAIC_BF16)
        x = expand_op1(e, MOSAIC_EXTF, &single, x);
    if (x->type.element == MOSAIC_F32)
        x = expand_op1(e, MOSAIC_TPU_BITCAST, &word, x);
    if (element == MOSAIC_BF16)
        return shifted(e, MOSAIC_SHRUI, x, 16);
    return mosaic_element_bits(x->type.element) < 32 ? expand_op1(e, MOSAIC_EXTSI, &word, x) : x;
}

/* the element of so many bits that stands in each word from bit `first` on */
static expanded element_of_word(struct expand *e, expanded word, enum mosaic_element element,
                                int first)
{
    const struct mosaic_type single = expand_type(&word->type, MOSAIC_F32);
    const struct mosaic_type to = expand_type(&word->type, expand_wider(element));
    int bits = mosaic_element_bits(element);

    word = shifted(e, MOSAIC_SHLI, word, 32 - bits - first);
    if (element == MOSAIC_BF16)
        word = expand_op2(e, MOSAIC_ANDI, &word->type, word,
                          expand_constant(e, &word->type, 0xffff0000u));
    else
        word = shifted(e, MOSAIC_SHRSI, word, 32 - bits);
    if (mosaic_element_kind(element) == MOSAIC_KIND_FLOAT)
        word = expand_op1(e, MOSAIC_TPU_BITCAST, &single, word);
    if (element == MOSAIC_BF16)
        return expand_op1(e, MOSAIC_TRUNCF, &to, word);
    return mosaic_element_bits(to.element) < 32 ? expand_op1(e, MOSAIC_TRUNCI, &to, word) : word;
}

static bool has_bits(enum mosaic_element e)
{
    return mosaic_element_kind(e) == MOSAIC_KIND_INT || e == MOSAIC_F32 || e == MOSAIC_BF16;
}

static bool named_type(const struct mosaic_op *op, const char *name, enum mosaic_element *to)
{
    const struct mosaic_attr *a = mosaic_attr(op, name);

    *to = a && a->kind == MOSAIC_ATTR_TYPE ? a->type.element : MOSAIC_ELEMENT_COUNT;
    return a && a->kind == MOSAIC_ATTR_TYPE && has_bits(*to);
}

static expanded kept_bits(struct expand *e, expanded word, int bits)
{
    return bits == 32 ? word
                      : expand_op2(e, MOSAIC_ANDI, &word->type, word,
                                   expand_constant(e, &word->type, (1u << bits) - 1));
}

bool expand_pack(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    enum mosaic_element element;
    int bits;

    if (!named_type(op, "target_type", &element))
        return false;
    bits = mosaic_element_bits(element);
    for (int i = 0; i < op->operand_count; i++) {
        expanded x = expand_operand(e, op, i);
        const struct mosaic_type narrow = expand_type(&x->type, element);

        if (mosaic_is_float(&op->operand[i]->type) && element == MOSAIC_BF16)
            x = expand_op1(e, MOSAIC_TRUNCF, &narrow, x);
        x = shifted(e, MOSAIC_SHLI, kept_bits(e, bits_in_word(e, x, element), bits), i * bits % 32);
        *result = i ? expand_op2(e, MOSAIC_ORI, &x->type, *result, x) : x;
    }
    return op->operand_count > 0;
}

bool expand_unpack(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    int64_t index = mosaic_int(op, "index", 0);
    const struct mosaic_type *to = &op->result[0]->type;
    enum mosaic_element element;
    expanded x;

    if (!named_type(op, "source_type", &element) || index < 0 ||
        index * mosaic_element_bits(element) > 31)
        return false;
    x = element_of_word(e, expand_operand(e, op, 0), element,
                        (int)index * mosaic_element_bits(element));
    if (expand_wider(to->element) != x->type.element)
        x = expand_op1(e, mosaic_is_float(to) ? MOSAIC_EXTF : MOSAIC_EXTSI, to, x);
    *result = x;
    return true;
}

/* what is finite, and a random number below what is cut off */
bool expand_stochastic(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    struct mosaic_attr unequal = {.name = "predicate", .kind = MOSAIC_ATTR_INT, .integer = 1};
    expanded x = expand_operand(e, op, 0), word, exponent, operand[3];
    struct mosaic_type flags, single = x->type, t = words_as(&x->type);

    if (op->result[0]->type.element != MOSAIC_BF16 || single.element != MOSAIC_F32)
        return false;
    flags = expand_type(&t, MOSAIC_I1);
    word = expand_op1(e, MOSAIC_TPU_BITCAST, &t, x);
    operand[1] = expand_constant(e, &t, 0x7f800000u);
    operand[0] = exponent = expand_op2(e, MOSAIC_ANDI, &t, word, operand[1]);
    operand[0] = expand_op(e, MOSAIC_CMPI, &flags, operand, 2, &unequal, 1);
    operand[1] = expand_op2(e, MOSAIC_ADDI, &t, word,
                            kept_bits(e, expand_operand(e, op, 1), 16));
    operand[2] = word;
    word = expand_op(e, MOSAIC_SELECT, &t, operand, 3, NULL, 0);
    *result = element_of_word(e, word, MOSAIC_BF16, 16);
    return true;
}

/* ----- bits of what is wider in registers */

/* rows `first`, `first` + by and so on: with the dimensions before the last two outermost */
static expanded rows_of(struct expand *e, expanded x, int first, int by)
{
    int rank = x->type.rank;
    int64_t *offsets = arena_array(e->a, (size_t)rank + 1, sizeof(*offsets));
    struct mosaic_attr attr = {.name = "offsets", .kind = MOSAIC_ATTR_INTS, .count = rank + 1,
                               .ints = offsets};
    struct mosaic_type apart = x->type, one, to = x->type;

    apart.rank = rank + 1;
    apart.dim[rank] = x->type.dim[rank - 1];
    apart.dim[rank - 1] = by;
    apart.dim[rank - 2] = to.dim[rank - 2] = x->type.dim[rank - 2] / by;
    one = apart;
    one.dim[rank - 1] = 1;
    offsets[rank - 1] = first;
    x = expand_op1(e, MOSAIC_SHAPE_CAST, &apart, x);
    x = expand_op(e, MOSAIC_STRIDED_SLICE, &one, &x, 1, &attr, 1);
    return expand_op1(e, MOSAIC_SHAPE_CAST, &to, x);
}

/* the other way: `count` vectors whose rows take turns */
static expanded rows_in_turns(struct expand *e, const expanded *x, int count)
{
    struct mosaic_type one = x[0]->type, apart, to = x[0]->type;
    int rank = one.rank;
    struct mosaic_attr along = {.name = "dimension", .kind = MOSAIC_ATTR_INT, .integer = rank - 1};
    expanded part[32];

    one.rank = rank + 1;
    one.dim[rank] = to.dim[rank - 1];
    one.dim[rank - 1] = 1;
    apart = one;
    apart.dim[rank - 1] = count;
    to.dim[rank - 2] *= count;
    for (int i = 0; i < count; i++)
        part[i] = expand_op1(e, MOSAIC_SHAPE_CAST, &one, x[i]);
    return expand_op1(e, MOSAIC_SHAPE_CAST, &to,
                      expand_op(e, MOSAIC_CONCATENATE, &apart, part, count, &along, 1));
}

bool expand_bitcast(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    enum mosaic_element from = op->operand[0]->type.element, to = op->result[0]->type.element;
    int from_bits = mosaic_element_bits(from), to_bits = mosaic_element_bits(to);
    expanded x, part[32];

    if ((expand_wider(from) == from && expand_wider(to) == to) || !has_bits(from) || !has_bits(to) ||
        (from_bits != to_bits && op->operand[0]->type.rank < 2))
        return false;
    x = bits_in_word(e, expand_operand(e, op, 0), from);
    if (from_bits < to_bits) {
        expanded rows = x;

        for (int i = 0; i < to_bits / from_bits; i++) {
            expanded y = kept_bits(e, rows_of(e, rows, i, to_bits / from_bits), from_bits);

            y = shifted(e, MOSAIC_SHLI, y, i * from_bits);
            x = i ? expand_op2(e, MOSAIC_ORI, &y->type, x, y) : y;
        }
    } else if (from_bits > to_bits) {
        for (int i = 0; i < from_bits / to_bits; i++)
            part[i] = shifted(e, MOSAIC_SHRUI, x, i * to_bits);
        x = rows_in_turns(e, part, from_bits / to_bits);
    }
    *result = element_of_word(e, x, to, 0);
    return true;
}

/* what the rule above has left and the wider elements have not the bits of */
int expand_check_bits(struct expand *e, const struct mosaic_op *op)
{
    bool is_cast = op->code == MOSAIC_TPU_BITCAST || op->code == MOSAIC_ARITH_BITCAST;
    enum mosaic_element from, to;

    if (!is_cast)
        return 0;
    from = op->operand[0]->type.element;
    to = op->result[0]->type.element;
    if (expand_wider(from) == from && expand_wider(to) == to)
        return 0;
    return mosaic_refuse(e->from, op, e->err, "bits of %s as %s", mosaic_element_name(from),
                         mosaic_element_name(to));
}
