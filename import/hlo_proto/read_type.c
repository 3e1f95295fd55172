/* Types with their layouts. */
#include "import/hlo_proto/read.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MAX 64
#define BYTES_MAX ((size_t)1 << 60)
#define BUFFER_CODE 34                  /* a type that stands for one, around it */

struct hlo_ints proto_ints(struct proto_reader *r, size_t count, const int64_t *item)
{
    return hlo_ints_copy(r->arena, item, (int)count);
}

/* Fields of a layout that no place is made for: "L(8)M(64)SC(0:4,8)" */
static const char *read_rest(struct proto_reader *r, const HloWire__Layout *l)
{
    char *text = NULL, *kept;
    size_t bytes;
    FILE *to;

    if (l->tail_padding_alignment_in_elements <= 1 && !l->dynamic_shape_metadata_prefix_bytes &&
        !l->n_split_configs)
        return NULL;
    to = text_memory(&text, &bytes);
    if (l->tail_padding_alignment_in_elements > 1)
        text_print_file(to, "L(%" PRId64 ")", l->tail_padding_alignment_in_elements);
    for (size_t i = 0; i < l->n_split_configs; i++) {
        const HloWire__SplitConfig *s = l->split_configs[i];

        text_print_file(to, "%s%" PRId64 ":", i ? "" : "SC", s->dimension);
        for (size_t k = 0; k < s->n_split_indices; k++)
            text_print_file(to, "%s%" PRId64, k ? "," : "(", s->split_indices[k]);
        text_print_file(to, ")");
    }
    if (l->dynamic_shape_metadata_prefix_bytes)
        text_print_file(to, "M(%" PRId64 ")", l->dynamic_shape_metadata_prefix_bytes);
    text_memory_end(to, &text);
    kept = arena_strdup(r->arena, text);
    free(text);
    return kept;
}

static int read_layout(struct proto_reader *r, const HloWire__Layout *l, struct hlo_type *t)
{
    struct hlo_layout made = {.tile_count = (int)l->n_tiles}, *kept;
    struct hlo_ints *tile = arena_array(r->arena, l->n_tiles, sizeof(*tile));
    bool is_met[RANK_MAX] = {false};

    if (l->n_minor_to_major != (size_t)t->rank)
        return proto_fail(r, "a layout of %zu dimensions for a type of %d", l->n_minor_to_major,
                          t->rank);
    for (size_t i = 0; i < l->n_minor_to_major; i++) {
        if (l->minor_to_major[i] < 0 || l->minor_to_major[i] >= t->rank ||
            is_met[l->minor_to_major[i]])
            return proto_fail(r, "a layout whose dimensions are no permutation");
        is_met[l->minor_to_major[i]] = true;
    }
    made.minor_to_major = proto_ints(r, l->n_minor_to_major, l->minor_to_major);
    for (size_t i = 0; i < l->n_tiles; i++) {
        int64_t *size;

        tile[i] = proto_ints(r, l->tiles[i]->n_dimensions, l->tiles[i]->dimensions);
        size = arena_copy(r->arena, tile[i].item, (size_t)tile[i].count, sizeof(*size));
        for (int k = 0; k < tile[i].count; k++)         /* the least number combines dimensions */
            size[k] = size[k] < 0 ? -1 : size[k];
        tile[i].item = size;
    }
    made.tile = tile;
    made.element_bits = (int)l->element_size_in_bits;
    made.memory_space = (int)l->memory_space;
    made.rest = read_rest(r, l);
    if (t->rank == 0 && !made.tile_count && !made.element_bits && !made.memory_space && !made.rest)
        return 0;
    kept = arena_copy(r->arena, &made, 1, sizeof(made));
    t->layout = kept;
    return 0;
}

static int read_dims(struct proto_reader *r, const HloWire__Shape *s, struct hlo_type *t)
{
    bool *is_bounded = arena_array(r->arena, s->n_dimensions, sizeof(bool)), is_any = false;

    if (s->n_dimensions > RANK_MAX)
        return proto_fail(r, "a type of %zu dimensions, more than %d", s->n_dimensions, RANK_MAX);
    t->rank = (int)s->n_dimensions;
    t->dim = proto_ints(r, s->n_dimensions, s->dimensions).item;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0 && t->dim[i] != HLO_UNBOUNDED)
            return proto_fail(r, "a dimension of size %" PRId64, t->dim[i]);
        is_bounded[i] = (size_t)i < s->n_is_dynamic_dimension && s->is_dynamic_dimension[i] &&
                        t->dim[i] != HLO_UNBOUNDED;
        is_any |= is_bounded[i];
    }
    t->is_bounded = is_any ? is_bounded : NULL;
    if (hlo_type_bytes(t) > BYTES_MAX)
        return proto_fail(r, "an array larger than any memory");
    return s->layout ? read_layout(r, s->layout, t) : 0;
}

int proto_read_type(struct proto_reader *r, const HloWire__Shape *s, struct hlo_type *t)
{
    struct hlo_type *part;

    if (!s)
        return proto_fail(r, "no type");
    if (s->element_type == BUFFER_CODE && s->n_tuple_shapes == 1)
        return proto_read_type(r, s->tuple_shapes[0], t);
    *t = (struct hlo_type){.element = proto_element_of(s->element_type)};
    if (t->element == ELEMENT_COUNT)
        return proto_fail(r, "type number %d, which is none of elements", s->element_type);
    if (t->element != ELEMENT_TUPLE)
        return read_dims(r, s, t);
    part = arena_array(r->arena, s->n_tuple_shapes, sizeof(*part));
    t->part = part;
    t->part_count = (int)s->n_tuple_shapes;
    for (int i = 0; i < t->part_count; i++) {
        if (proto_read_type(r, s->tuple_shapes[i], &part[i]))
            return -1;
    }
    return 0;
}
