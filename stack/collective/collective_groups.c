/* Groups that are lists of cores: who is where, and in which order a ring visits them. */
#include "stack/collective/collective_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stack/collective/ring.h"

int plan_check_groups(const struct collective_request *r, struct err *e)
{
    int count = r->group_count * r->group_size, cores = r->slice->core_count, bad = -1;
    bool *is_there;

    if (r->group_count < 1 || r->group_size < 1 || count > cores)
        return err_set(e, "%d groups of %d cores, of the %d that there are", r->group_count,
                       r->group_size, cores);
    is_there = mem_alloc((size_t)cores * sizeof(*is_there));
    memset(is_there, 0, (size_t)cores * sizeof(*is_there));
    for (int i = 0; i < count && bad < 0; i++) {
        if (r->group[i] < 0 || r->group[i] >= cores || is_there[r->group[i]])
            bad = i;
        else
            is_there[r->group[i]] = true;
    }
    mem_free(is_there);
    if (bad >= 0)
        return err_set(e, "core %" PRId32 " as place %d of the groups is not one of the %d cores, "
                       "or is there twice", r->group[bad], bad, cores);
    return 0;
}

static const int32_t *places_of(const struct collective_request *r, struct arena *a)
{
    int32_t *place = arena_array(a, (size_t)r->slice->core_count, sizeof(*place));

    for (int i = 0; i < r->slice->core_count; i++)
        place[i] = -1;
    for (int i = 0; i < r->group_count * r->group_size; i++)
        place[r->group[i]] = i;
    return place;
}

void plan_set_groups(struct collective_plan *p, struct arena *a)
{
    struct collective_request *r = &p->request;

    r->group = arena_copy(a, r->group, (size_t)(r->group_count * r->group_size),
                          sizeof(*r->group));
    p->place_of = places_of(r, a);
    p->rank_count = r->group_size;
    for (int i = 0; i < PLAN_DIMS; i++) {
        p->axis_count[i] = i == 0 ? r->group_size : 1;
        p->axis_stride[i] = 1;
    }
}

bool plan_locate_in_list(const struct collective_plan *p, int core, struct plan_rank *out)
{
    int place = p->place_of[core], size = p->request.group_size;

    memset(out, 0, sizeof(*out));
    out->rank = place < 0 ? -1 : place % size;
    if (place >= 0)
        out->base_core = p->request.group[place - out->rank];
    return place >= 0;
}

struct stop {
    int rank, at;                       /* in the ring of all cores */
};

static int compare_stops(const void *x, const void *y)
{
    const struct stop *a = x, *b = y;

    return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * As the ring of all cores passes them. All groups go by the order of the first one: groups of a
 * mesh are one another's translations.
 */
void plan_order_list(const struct collective_plan *p, int *place)
{
    int cores = p->slice.core_count, size = p->rank_count;
    int *order = mem_alloc((size_t)cores * sizeof(*order));
    int *at = mem_alloc((size_t)cores * sizeof(*at));
    struct stop *stop = mem_alloc((size_t)size * sizeof(*stop));

    ring_order(&p->slice, order);
    for (int i = 0; i < cores; i++)
        at[order[i]] = i;
    for (int i = 0; i < size; i++)
        stop[i] = (struct stop){i, at[p->request.group[i]]};
    qsort(stop, (size_t)size, sizeof(*stop), compare_stops);
    for (int i = 0; i < size; i++)
        place[i] = stop[i].rank;
    mem_free(order);
    mem_free(at);
    mem_free(stop);
}

/* ---- lists that are axes ---- */

/* in the plan of `axes`: all of a list in one group, with the ranks that they have in it */
static bool is_same(const struct collective_request *r, const struct collective_plan *axes,
                    bool is_ordered)
{
    struct plan_rank first, other;

    for (int i = 0; i < r->group_count * r->group_size; i++) {
        plan_locate(axes, r->group[i / r->group_size * r->group_size], &first);
        plan_locate(axes, r->group[i], &other);
        if (other.base_core != first.base_core || (is_ordered && other.rank != i % r->group_size))
            return false;
    }
    return true;
}

bool collective_find_axes(struct collective_request *r, bool is_ordered)
{
    if (r->group_count * r->group_size != r->slice->core_count)
        return false;
    for (int i = 2; i < 16; i++) {
        struct collective_plan axes = {.request = *r, .slice = *r->slice};
        struct arena a;
        bool is_found;

        axes.request.group = NULL;
        axes.request.over_chips = i % 2;
        for (int k = 0; k < 3; k++)
            axes.request.axis[k] = i >> (k + 1) & 1;
        if (i >> (r->slice->dims + 1))
            break;
        arena_init(&a);
        plan_count_ranks(&axes, &a);
        plan_set_axes(&axes, false, &a);
        is_found = axes.rank_count == r->group_size && is_same(r, &axes, is_ordered);
        arena_fini(&a);
        if (is_found) {
            *r = axes.request;
            return true;
        }
    }
    return false;
}
