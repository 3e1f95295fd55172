/*
 * Addresses: parameters and literals first, then buffers by lifetime, the
 * largest first, each at the lowest place that is free while it lives, or in
 * a result's that is lent (stack/module/module_lent.c). What lies in VMEM
 * or CMEM instead: stack/module/module_vmem.c, stack/module/module_cmem.c.
 */
#include "stack/module/module_impl.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 64                   /* in which buffers are placed, where gaps are too many */

int64_t module_plan_hbm_bytes(const struct module_settings *s)
{
    int64_t chip = (int64_t)(s->chip->hbm_gib * (double)GIB);
    int64_t share = chip / s->chip->chip_cores / s->chip->hbm_row_bytes * s->chip->hbm_row_bytes;

    return s->hbm_bytes ? s->hbm_bytes : share * module_cores(s);
}

static int larger_first(const void *x, const void *y)
{
    const struct module_buffer *a = *(struct module_buffer *const *)x,
                               *b = *(struct module_buffer *const *)y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if ((a->made >= 0) != (b->made >= 0))
        return a->made >= 0 ? -1 : 1;   /* who lends comes before who borrows */
    return a < b ? -1 : a > b;
}

static bool is_in_hbm(const struct module_buffer *b)
{
    return module_buffer_lives(b) && b->space == SPACE_HBM;
}

/* parameters whose places the user tells */
static void place_given(struct module_plan *p)
{
    for (int i = 0; i < p->parameter_count && p->settings->place; i++) {
        int64_t address = p->settings->place[i];

        p->buffer[p->parameter[i]->buffer].is_given = address >= 0;
        if (address >= 0)
            p->buffer[p->parameter[i]->buffer].address = address;
    }
}

/* those that are there throughout; the others into `list`: how many */
static int place_fixed(struct module_plan *p, struct module_room *r, struct module_buffer **list)
{
    int count = 0;

    place_given(p);
    for (int i = 0; i < p->buffer_count; i++) {
        struct module_buffer *b = &p->buffer[i];
        bool is_fixed = b->role == BUFFER_PARAMETER || b->role == BUFFER_CONSTANT;

        if (b->is_given)
            continue;
        if (is_fixed && b->stands_for < 0) {
            b->first = -1;
            b->last = p->step_count;
            module_room_place(r, b, SPACE_HBM);
        } else if (is_in_hbm(b)) {
            list[count++] = b;
        }
    }
    return count;
}

/* each in its turn; which of them ends last */
static int place_list(struct module_plan *p, struct module_room *r, struct module_buffer **list,
                      int count)
{
    int highest = 0;

    for (int i = 0; i < count; i++)
        list[i]->is_guest = false;
    for (int i = 0; i < count; i++) {
        list[i]->is_guest = module_lend(p, list, i);
        if (!list[i]->is_guest)
            module_room_place(r, list[i], SPACE_HBM);
        if (list[i]->address + list[i]->bytes > list[highest]->address + list[highest]->bytes)
            highest = i;
    }
    return highest;
}

/* without what is placed in turns */
static void keep_fixed(struct module_room *r)
{
    int count = 0;

    for (int i = 0; i < r->count; i++)
        if (r->placed[i]->role == BUFFER_PARAMETER || r->placed[i]->role == BUFFER_CONSTANT)
            r->placed[count++] = r->placed[i];
    r->count = count;
}

static int64_t end_of(const struct module_room *r)
{
    int64_t end = r->base;

    for (int i = 0; i < r->count; i++)
        if (r->placed[i]->address + r->placed[i]->bytes > end)
            end = r->placed[i]->address + r->placed[i]->bytes;
    return end;
}

/*
 * 0 when all fits; else the lowest end of HBM that it would take. Where what is alive at once fits
 * and its places do not, for gaps between them, what has come to lie highest takes its place first,
 * and all others theirs anew, as often as that helps or a few times more.
 */
static int64_t place_in_hbm(struct module_plan *p, struct module *m)
{
    struct module_room r = {.placed = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*r.placed)),
                            .end = INT64_MAX};
    struct module_buffer **list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    int64_t room = module_plan_hbm_bytes(p->settings);
    int count = place_fixed(p, &r, list), highest;

    qsort(list, (size_t)count, sizeof(*list), larger_first);
    highest = place_list(p, &r, list, count);
    module_plan_fullest_step(p, &m->alive_bytes);
    m->hbm_bytes = end_of(&r);
    for (int i = 0; p->tries_orders && i < ORDERS_MAX && m->hbm_bytes > room && m->alive_bytes <= room;
         i++) {
        struct module_buffer *first = list[highest];
        int64_t end;

        memmove(list + 1, list, (size_t)highest * sizeof(*list));
        list[0] = first;
        keep_fixed(&r);
        highest = place_list(p, &r, list, count);
        end = end_of(&r);
        m->hbm_bytes = end < m->hbm_bytes ? end : m->hbm_bytes;
    }
    mem_free(list);
    mem_free(r.placed);
    return m->hbm_bytes > room ? m->hbm_bytes : 0;
}

/* arrays get the places of their buffers; each buffer's padding counts once */
static void set_arrays(struct module_plan *p, struct module *m)
{
    bool *is_counted = mem_alloc((size_t)p->buffer_count + 1);

    for (int i = 0; i < p->value_count; i++) {
        struct module_value *v = p->value[i];
        const struct module_buffer *b = module_plan_buffer(p, v);
        int64_t payload;

        v->array.space = b->space;
        v->array.address = b->address + module_plan_offset(p, v);
        if (is_counted[b - p->buffer] || b->space != SPACE_HBM)
            continue;
        is_counted[b - p->buffer] = true;
        payload = b->payload_bytes ? b->payload_bytes : array_payload_bytes(&v->array);
        m->payload_bytes += payload;
        m->padding_bytes += b->bytes - payload;
    }
    mem_free(is_counted);
}

int64_t module_plan_memory(struct module_plan *p, struct module *m)
{
    int64_t too_much;

    m->payload_bytes = m->padding_bytes = m->resident_count = m->cmem_count = 0;
    for (int i = 0; i < p->buffer_count; i++) {
        p->buffer[i].space = SPACE_HBM;
        p->buffer[i].is_guest = false;
    }
    module_plan_residents(p, m);
    module_plan_cmem(p, m);
    too_much = place_in_hbm(p, m);
    if (too_much)
        return too_much;
    set_arrays(p, m);
    module_plan_prefetches(p, m);
    return 0;
}
