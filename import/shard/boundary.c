/*
 * Parameters and results as callers can have them, who know the axes of the program's mesh and have
 * parts of one size on each device: a dimension is cut by whole axes, as far as these divide it.
 */
#include "import/program/sharding.h"
#include "import/shard/shard_impl.h"

#include <string.h>

/* axes of ours that make an axis of the program's, by number; none: any of ours will do */
struct named_axes { int count; struct shard_axes *axis; };

static const struct hlo_mesh *mesh_of_all(const struct shard_state *s)
{
    for (int i = 0; i < s->module->mesh_count; i++) {
        const struct hlo_mesh *m = &s->module->mesh[i];
        int64_t devices = 1;

        for (int k = 0; k < m->axis_count; k++)
            devices *= m->size[k];
        if (devices == s->mesh.devices)
            return m;
    }
    return NULL;
}

static int name_axes(const struct shard_state *s, struct named_axes *to)
{
    const struct hlo_mesh *m = mesh_of_all(s);

    *to = (struct named_axes){0};
    if (!m)
        return 0;
    to->axis = arena_array(s->arena, (size_t)m->axis_count + 1, sizeof(*to->axis));
    for (int i = 0; i < m->axis_count; i++) {
        const char *text = arena_printf(s->arena, "<@%s, [{\"%s\"}]>", m->name, m->axis[i]);
        const struct hlo_sharding *cut;
        struct shard_lay lay;
        uint32_t manual;
        int count;

        if (hlo_sharding_parse(s->module, text, strlen(text), &count, &cut, s->err))
            return -1;
        if (count == 1 && shard_lay_read(&s->mesh, cut, 1, &lay, &manual) && lay.count)
            to->axis[to->count++] = shard_lay_axes(&lay, 0);
    }
    return 0;
}

/* how many of the axes from `at` on are one of the program's; 0: they are none */
static int whole_axis(const struct named_axes *named, const struct shard_axes *axes, int at)
{
    for (int i = 0; i < named->count; i++) {
        const struct shard_axes *n = &named->axis[i];

        if (n->count <= axes->count - at &&
            memcmp(n->axis, &axes->axis[at], (size_t)n->count * sizeof(n->axis[0])) == 0)
            return n->count;
    }
    return named->axis ? 0 : 1;
}

static struct shard_lay settled(const struct shard_mesh *mesh, const struct named_axes *named,
                                const struct shard_lay *lay, const struct hlo_type *t)
{
    struct shard_lay made = {0};

    for (int d = 0; d < t->rank; d++) {
        struct shard_axes axes = shard_lay_axes(lay, d), kept = {0};
        int step;

        for (int at = 0; (step = at < axes.count ? whole_axis(named, &axes, at) : 0); at += step) {
            struct shard_axes more = axes;

            more.count = at + step;
            if (t->dim[d] % shard_axes_size(mesh, &more) != 0)
                break;
            kept = more;
        }
        for (int i = 0; i < kept.count; i++)
            shard_lay_add(&made, d, kept.axis[i]);
    }
    return made;
}

int shard_settle_boundary(struct shard_state *s)
{
    const struct hlo_computation *c = &s->module->computation[s->module->entry];
    const struct named_axes any = {0};
    struct named_axes named;

    if (name_axes(s, &named))
        return -1;
    for (int k = -1; k < c->parameter_count; k++) {
        int i = k < 0 ? c->root : c->parameter[k];

        for (int l = 0; i >= 0 && l < shard_place_of(s, s->module->entry, i)->leaves; l++) {
            struct shard_place *p = shard_place_of(s, s->module->entry, i);
            bool is_asked = p->is_fixed[l] && !p->open[l];      /* in the caller's own words */

            p->lay[l] = settled(&s->mesh, is_asked ? &any : &named, &p->lay[l],
                                hlo_type_leaf(c->instruction[i].type, l));
        }
    }
    return 0;
}
