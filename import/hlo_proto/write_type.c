/* Types and constants as messages. */
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_proto/read.h"
#include "import/hlo_proto/write.h"

#include <stdlib.h>
#include <string.h>

/* a number behind "L(" and the like; 0: it is not said */
static int64_t rest_field(const char *rest, const char *name)
{
    const char *at = rest ? strstr(rest, name) : NULL;

    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static HloWire__Layout *write_layout(struct proto_writer *w, const struct hlo_type *t)
{
    HloWire__Layout *made = PROTO_NEW(w, Layout, LAYOUT);
    const struct hlo_layout *l = t->layout;
    int64_t *order = arena_array(w->arena, (size_t)t->rank, sizeof(*order));

    for (int i = 0; i < t->rank; i++)
        order[i] = l && l->minor_to_major.count == t->rank ? l->minor_to_major.item[i]
                                                           : t->rank - 1 - i;
    made->n_minor_to_major = (size_t)t->rank;
    made->minor_to_major = order;
    if (!l)
        return made;
    made->n_tiles = (size_t)l->tile_count;
    made->tiles = PROTO_LIST(w, Tile, l->tile_count);
    for (int i = 0; i < l->tile_count; i++) {
        made->tiles[i] = PROTO_NEW(w, Tile, TILE);
        PROTO_PUT(w, made->tiles[i], dimensions, l->tile[i]);
        for (int k = 0; k < l->tile[i].count; k++) {
            if (l->tile[i].item[k] < 0)         /* combines dimensions */
                made->tiles[i]->dimensions[k] = INT64_MIN;
        }
    }
    made->element_size_in_bits = l->element_bits;
    made->memory_space = l->memory_space;
    made->tail_padding_alignment_in_elements = rest_field(l->rest, "L(");
    made->dynamic_shape_metadata_prefix_bytes = rest_field(l->rest, "M(");
    return made;
}

HloWire__Shape *proto_write_type(struct proto_writer *w, const struct hlo_type *t)
{
    HloWire__Shape *made = PROTO_NEW(w, Shape, SHAPE);
    struct hlo_ints dims = {t->rank, t->dim};
    bool is_dynamic = false;

    made->element_type = proto_code_of(t->element);
    if (t->element == ELEMENT_TUPLE) {
        made->n_tuple_shapes = (size_t)t->part_count;
        made->tuple_shapes = PROTO_LIST(w, Shape, t->part_count);
        for (int i = 0; i < t->part_count; i++)
            made->tuple_shapes[i] = proto_write_type(w, &t->part[i]);
        return made;
    }
    PROTO_PUT(w, made, dimensions, dims);
    made->is_dynamic_dimension = arena_array(w->arena, (size_t)t->rank, sizeof(protobuf_c_boolean));
    for (int i = 0; i < t->rank; i++) {
        bool is = (t->is_bounded && t->is_bounded[i]) || t->dim[i] == HLO_UNBOUNDED;

        made->is_dynamic_dimension[i] = is;
        is_dynamic |= is;
    }
    made->n_is_dynamic_dimension = is_dynamic ? (size_t)t->rank : 0;
    if (t->element != ELEMENT_TOKEN && t->element != ELEMENT_OPAQUE &&
        (t->layout || t->rank == 0))
        made->layout = write_layout(w, t);
    return made;
}

HloWire__Shape *proto_write_laid_out(struct proto_writer *w, const struct hlo_type *t)
{
    HloWire__Shape *made = proto_write_type(w, t);

    if (!made->layout && t->element != ELEMENT_TUPLE && t->element != ELEMENT_TOKEN &&
        t->element != ELEMENT_OPAQUE)
        made->layout = write_layout(w, t);
    return made;
}

const char *hlo_proto_write_type(const struct hlo_type *t, struct arena *a, size_t *count)
{
    struct proto_writer w = {.arena = a};
    const HloWire__Shape *made = proto_write_laid_out(&w, t);
    uint8_t *bytes;

    *count = hlo_wire__shape__get_packed_size(made);
    bytes = arena_alloc(a, *count + 1);
    hlo_wire__shape__pack(made, bytes);
    return (const char *)bytes;
}

/* How far apart elements are in the order of a layout, by dimension. */
static void find_strides(const struct hlo_type *t, size_t each, size_t *stride)
{
    const struct hlo_layout *l = t->layout;

    for (int i = 0; i < t->rank; i++) {
        int64_t d = l && l->minor_to_major.count == t->rank ? l->minor_to_major.item[i]
                                                            : t->rank - 1 - i;

        stride[d] = each;
        each *= (size_t)t->dim[d];
    }
}

/*
 * All elements in the order of the layout of `as`, those that stand once for all repeated; narrow
 * ones without the bits of their sign.
 */
static void *expand(struct proto_writer *w, const struct hlo_literal *l, const struct hlo_type *as)
{
    size_t each = hlo_element_bytes(l->type.element), bytes = hlo_type_bytes(&l->type);
    size_t stride[64], to = 0;
    int64_t at[64] = {0};
    int bits = hlo_element_bits(l->type.element), rank = as->rank < 64 ? as->rank : 64;
    unsigned char *data = arena_alloc(w->arena, bytes);

    find_strides(as, each, stride);
    for (size_t from = 0; from < bytes; from += each) {
        memcpy(data + to, (const unsigned char *)l->data + (l->is_splat ? 0 : from), each);
        for (int d = rank; d-- > 0;) {
            to += stride[d];
            if (++at[d] < as->dim[d])
                break;
            to -= (size_t)at[d] * stride[d];
            at[d] = 0;
        }
    }
    for (size_t k = 0; bits < 8 && k < bytes; k++)
        data[k] &= (unsigned char)((1u << bits) - 1);
    return data;
}

#define PUT_NONE(list)
#define PUT_PREDS(list) made->n_##list = count, made->list = data;
#define PUT_FIXED(list) \
    made->n_##list = hlo_element_is_complex(l->type.element) ? 2 * count : count, made->list = data;
#define PUT_BYTES(list) made->list = (ProtobufCBinaryData){bytes, data};

static void put_elements(struct proto_writer *w, const struct hlo_literal *l,
                         const struct hlo_type *as, HloWire__Literal *made)
{
    size_t count = (size_t)hlo_type_elements(&l->type), bytes = hlo_type_bytes(&l->type);
    void *data = expand(w, l, as);

    if (l->type.element == ELEMENT_PRED) {
        protobuf_c_boolean *flag = arena_array(w->arena, count, sizeof(*flag));

        for (size_t i = 0; i < count; i++)
            flag[i] = ((unsigned char *)data)[i];
        data = flag;
    }
    switch (l->type.element) {
#define ELEMENT_CODE(id, code, how, list) case ELEMENT_##id: PUT_##how(list) break;
#define ALGORITHM_CODE(code, name)
#include "import/hlo_proto/codes.def"
    default: break;
    }
}

HloWire__Literal *proto_write_literal(struct proto_writer *w, const struct hlo_literal *l,
                                      const struct hlo_type *as)
{
    HloWire__Literal *made = PROTO_NEW(w, Literal, LITERAL);

    made->shape = proto_write_laid_out(w, as);
    if (l->type.element == ELEMENT_TUPLE && l->part) {
        made->n_tuple_literals = (size_t)l->type.part_count;
        made->tuple_literals = PROTO_LIST(w, Literal, l->type.part_count);
        for (int i = 0; i < l->type.part_count; i++) {
            made->tuple_literals[i] = proto_write_literal(w, &l->part[i], &as->part[i]);
            if (!made->tuple_literals[i])
                return NULL;
        }
        return made;
    }
    if (!l->data && l->type.element != ELEMENT_TOKEN && hlo_type_elements(&l->type) > 0) {
        err_at(w->err, w->file, 0, 0, "a constant's elements were left out of the file ({...})");
        return NULL;
    }
    if (hlo_type_bytes(&l->type) > INT32_MAX) {
        err_at(w->err, w->file, 0, 0, "a constant of more than 2 GiB, more than a message can have");
        return NULL;
    }
    if (l->type.element != ELEMENT_TOKEN)
        put_elements(w, l, as, made);
    return made;
}
