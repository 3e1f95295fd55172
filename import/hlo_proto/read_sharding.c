/* Shardings, by their HLO text: import/program/sharding.h reads that. */
#include "import/hlo_proto/read.h"

#include "base/text.h"
#include "import/program/sharding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TUPLE_TYPE 2
#define TILES_TYPE 3

static const char *const type_words[] = {"replicated", "maximal", NULL, NULL, "manual", "unknown",
                                         "unreduced"};
/* in last_tile_dims REPLICATED is called so */
static const char *word_of(int type)
{
    return type >= 0 && type < 7 && type_words[type] ? type_words[type] : "unknown";
}

void proto_write_int64s(FILE *to, const char *before, size_t count, const int64_t *item,
                         const char *after)
{
    fputs(before, to);
    for (size_t i = 0; i < count; i++)
        text_print_file(to, "%s%" PRId64, i ? "," : "", item[i]);
    fputs(after, to);
}

void proto_write_int32s(FILE *to, const char *before, size_t count, const int32_t *item,
                         const char *after)
{
    fputs(before, to);
    for (size_t i = 0; i < count; i++)
        text_print_file(to, "%s%" PRId32, i ? "," : "", item[i]);
    fputs(after, to);
}

/* ---- axes of a mesh: mesh['x'=2,'y'=4], device_ids=([..]<=[..]T(..)) */

void proto_write_mesh(FILE *to, const HloWire__Mesh *m)
{
    fputs("mesh[", to);
    for (size_t i = 0; i < m->n_axes; i++)
        text_print_file(to, "%s'%s'=%" PRId64, i ? "," : "", m->axes[i]->name, m->axes[i]->size);
    fputs("]", to);
    if (m->n_device_ids)
        proto_write_int64s(to, ", device_ids=(", m->n_device_ids, m->device_ids, ")");
    if (!m->iota_transform)
        return;
    fputs(", device_ids=([", to);
    for (size_t i = 0; i < m->n_axes; i++)
        text_print_file(to, "%s%" PRId64, i ? "," : "", m->axes[i]->size);
    proto_write_int64s(to, "]<=[", m->iota_transform->n_reshape_dims, m->iota_transform->reshape_dims,
                 "]");
    proto_write_int64s(to, "T(", m->iota_transform->n_transpose_perm, m->iota_transform->transpose_perm,
                 "))");
}

static void write_axis(FILE *to, const HloWire__Mesh *m, const HloWire__AxisRef *a)
{
    size_t i = (size_t)a->mesh_axis_index;

    text_print_file(to, "'%s'", i < m->n_axes ? m->axes[i]->name : "?");
    if (a->sub_axis_info)
        text_print_file(to, ":(%" PRId64 ")%" PRId64, a->sub_axis_info->pre_size,
                        a->sub_axis_info->size);
}

void proto_write_axes(FILE *to, const HloWire__Mesh *m, size_t count, HloWire__AxisRef **axis)
{
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", to);
        write_axis(to, m, axis[i]);
    }
}

static void write_more_axes(FILE *to, const char *name, const HloWire__Mesh *m, size_t count,
                            HloWire__AxisRef **axis)
{
    if (!count)
        return;
    text_print_file(to, ", %s={", name);
    proto_write_axes(to, m, count, axis);
    fputs("}", to);
}

static void write_named(FILE *to, const HloWire__NamedSharding *n)
{
    static HloWire__Mesh none = HLO_WIRE__MESH__INIT;
    const HloWire__Mesh *mesh = n->mesh ? n->mesh : &none;

    fputs("{", to);
    proto_write_mesh(to, mesh);
    fputs(", [", to);
    for (size_t i = 0; i < n->n_dim_shardings; i++) {
        const HloWire__DimSharding *d = n->dim_shardings[i];

        fputs(i ? ", {" : "{", to);
        proto_write_axes(to, mesh, d->n_axes, d->axes);
        fputs(d->is_closed ? "}" : d->n_axes ? ",?}" : "?}", to);
    }
    fputs("]", to);
    write_more_axes(to, "replicated", mesh, n->n_replicated_axes, n->replicated_axes);
    write_more_axes(to, "unreduced", mesh, n->n_unreduced_axes, n->unreduced_axes);
    write_more_axes(to, "manual", mesh, n->n_manual_axes, n->manual_axes);
    fputs("}", to);
}

/* ---- tiles */

static void write_tiles(FILE *to, const HloWire__Sharding *s)
{
    proto_write_int64s(to, "devices=[", s->n_tile_assignment_dimensions, s->tile_assignment_dimensions,
                 "]");
    if (s->n_iota_reshape_dims) {
        proto_write_int64s(to, "<=[", s->n_iota_reshape_dims, s->iota_reshape_dims, "]");
        if (s->n_iota_reshape_dims > 1)
            proto_write_int32s(to, "T(", s->n_iota_transpose_perm, s->iota_transpose_perm, ")");
    } else {
        proto_write_int64s(to, "", s->n_tile_assignment_devices, s->tile_assignment_devices, "");
    }
    if (s->replicate_on_last_tile_dim)
        fputs(" last_tile_dim_replicate", to);
    for (size_t i = 0; i < s->n_last_tile_dims; i++)
        text_print_file(to, "%s%s", i ? ", " : " last_tile_dims={", word_of(s->last_tile_dims[i]));
    fputs(s->n_last_tile_dims ? "}" : "", to);
}

static void write_sharding(FILE *to, const HloWire__Sharding *s)
{
    size_t parts = s->named_sharding ? s->named_sharding->n_tuple_shardings
                                     : s->n_tuple_shardings;

    if (s->named_sharding && !parts) {
        write_named(to, s->named_sharding);
        return;
    }
    fputs("{", to);
    if (s->named_sharding || s->type == TUPLE_TYPE) {
        for (size_t i = 0; i < parts; i++) {
            fputs(i ? ", " : "", to);
            if (s->named_sharding)
                write_named(to, s->named_sharding->tuple_shardings[i]);
            else
                write_sharding(to, s->tuple_shardings[i]);
        }
    } else if (s->type == TILES_TYPE) {
        write_tiles(to, s);
    } else {
        fputs(word_of(s->type), to);
        if (s->type == 1)
            text_print_file(to, " device=%" PRId64,
                            s->n_tile_assignment_devices ? s->tile_assignment_devices[0] : 0);
    }
    if (s->is_shard_group)
        text_print_file(to, " shard_%s %" PRId64, s->shard_group_type ? "like" : "as",
                        s->shard_group_id);
    fputs("}", to);
}

int proto_read_sharding(struct proto_reader *r, const HloWire__Sharding *s, int *count,
                        const struct hlo_sharding **made)
{
    struct err e = {.msg = ""};
    char *text = NULL;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);
    int status;

    write_sharding(to, s);
    text_memory_end(to, &text);
    status = hlo_sharding_parse(r->module, text, bytes, count, made, &e);
    if (status)
        proto_fail(r, "sharding %.200s: %s", text, e.msg);
    free(text);
    return status;
}
