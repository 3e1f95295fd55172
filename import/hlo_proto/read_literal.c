/* Constants: lists of numbers or bytes as the elements of the host. */
#include "import/hlo_proto/read.h"

#include <string.h>

/* Where a literal has its elements, by type. */
struct elements {
    enum { LIST_NONE, LIST_PREDS, LIST_FIXED, LIST_BYTES } how;
    size_t count;                       /* of the list: numbers, halves of complex ones, bytes */
    const void *data;
};

#define LIST_OF_NONE(list) (struct elements){.how = LIST_NONE}
#define LIST_OF_PREDS(list) (struct elements){LIST_PREDS, l->n_##list, l->list}
#define LIST_OF_FIXED(list) (struct elements){LIST_FIXED, l->n_##list, l->list}
#define LIST_OF_BYTES(list) (struct elements){LIST_BYTES, l->list.len, l->list.data}

static struct elements list_of(const HloWire__Literal *l, enum hlo_element e)
{
    switch (e) {
#define ELEMENT_CODE(id, code, how, list) case ELEMENT_##id: return LIST_OF_##how(list);
#define ALGORITHM_CODE(code, name)
#include "import/hlo_proto/codes.def"
    default: return (struct elements){.how = LIST_NONE};
    }
}

/* One narrow integer, extended as the host has it. */
static unsigned char extend(enum hlo_element e, unsigned value)
{
    int bits = hlo_element_bits(e);

    value &= (1u << bits) - 1;
    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED && value >> (bits - 1))
        value |= 0xffu << bits;
    return (unsigned char)value;
}

/* Elements below eight bits have a byte each, or stand as many in a byte as fit, the first lowest. */
static int read_narrow(struct proto_reader *r, struct elements from, enum hlo_element e, size_t count,
                       unsigned char *to)
{
    const unsigned char *data = from.data;
    size_t bits = (size_t)hlo_element_bits(e), each = 8 / bits;

    if (from.count != count && from.count != (count + each - 1) / each)
        return proto_fail(r, "a constant of %zu elements in %zu bytes", count, from.count);
    for (size_t i = 0; i < count; i++)
        to[i] = from.count == count ? extend(e, data[i])
                                    : extend(e, (unsigned)data[i / each] >> (i % each * bits));
    return 0;
}

static int read_elements(struct proto_reader *r, const HloWire__Literal *l, struct hlo_literal *to)
{
    enum hlo_element e = to->type.element;
    struct elements from = list_of(l, e);
    size_t count = (size_t)hlo_type_elements(&to->type), bytes = hlo_type_bytes(&to->type);
    size_t numbers = hlo_element_is_complex(e) ? 2 * count : count;
    unsigned char *data;

    if (from.how == LIST_NONE || hlo_type_is_dynamic(&to->type))
        return proto_fail(r, "a constant of a type that has no values");
    if (from.count == 0 && count > 0)
        return 0;                       /* left out by who wrote the file: it has no data */
    if (from.how == LIST_BYTES ? hlo_element_bits(e) >= 8 && from.count != bytes
                               : from.count != numbers)
        return proto_fail(r, "a constant of %zu elements with a list of %zu", count, from.count);
    if (from.how == LIST_BYTES && hlo_element_bits(e) < 8) {
        data = arena_alloc(r->arena, count);
        to->data = data;
        return read_narrow(r, from, e, count, data);
    }
    if (from.how == LIST_PREDS) {
        data = arena_alloc(r->arena, count);
        for (size_t i = 0; i < count; i++)
            data[i] = ((const protobuf_c_boolean *)from.data)[i] != 0;
        to->data = data;
        return 0;
    }
    to->data = bytes ? arena_copy(r->arena, from.data, bytes, 1) : arena_alloc(r->arena, 1);
    return 0;
}

/* Elements that stand in another order of dimensions than ours, made row-major. */
static void reorder(struct proto_reader *r, struct hlo_literal *l)
{
    const struct hlo_layout *layout = l->type.layout;
    size_t each = hlo_element_bytes(l->type.element), stride[64], from = 0;
    int64_t at[64] = {0}, count = hlo_type_elements(&l->type);
    int rank = l->type.rank;
    unsigned char *data;
    bool is_ours = true;

    for (int i = 0; layout && i < layout->minor_to_major.count; i++)
        is_ours &= layout->minor_to_major.item[i] == rank - 1 - i;
    if (!layout || layout->minor_to_major.count != rank || is_ours || !l->data)
        return;
    for (size_t i = 0, unit = each; i < (size_t)rank; i++) {
        size_t d = (size_t)layout->minor_to_major.item[i];

        stride[d] = unit;
        unit *= (size_t)l->type.dim[d];
    }
    data = arena_alloc(r->arena, (size_t)count * each);
    for (int64_t n = 0; n < count; n++) {
        memcpy(data + (size_t)n * each, (const unsigned char *)l->data + from, each);
        for (int d = rank; d-- > 0;) {
            from += stride[d];
            if (++at[d] < l->type.dim[d])
                break;
            from -= (size_t)at[d] * stride[d];
            at[d] = 0;
        }
    }
    l->data = data;
}

static int read_parts(struct proto_reader *r, const HloWire__Literal *l, struct hlo_literal *to)
{
    struct hlo_literal *part;

    if (l->n_tuple_literals != (size_t)to->type.part_count)
        return proto_fail(r, "a constant of %d parts with %zu", to->type.part_count,
                          l->n_tuple_literals);
    part = arena_array(r->arena, l->n_tuple_literals, sizeof(*part));
    to->part = part;
    for (size_t i = 0; i < l->n_tuple_literals; i++) {
        const struct hlo_literal *one;

        if (proto_read_literal(r, l->tuple_literals[i], &one))
            return -1;
        part[i] = *one;
    }
    return 0;
}

int proto_read_literal(struct proto_reader *r, const HloWire__Literal *l,
                       const struct hlo_literal **made)
{
    struct hlo_literal *literal = arena_alloc(r->arena, sizeof(*literal));

    if (!l)
        return proto_fail(r, "a constant without its value");
    *made = literal;
    if (proto_read_type(r, l->shape, &literal->type))
        return -1;
    if (literal->type.element == ELEMENT_TUPLE)
        return read_parts(r, l, literal);
    if (literal->type.element != ELEMENT_TOKEN && read_elements(r, l, literal))
        return -1;
    reorder(r, literal);
    literal->type.layout = NULL;
    return 0;
}
