/*
 * Addresses: parameters and literals first, then buffers by lifetime, the
 * largest first, each at the lowest place that is free while it lives, or in
 * a result's that is lent (stack/module/module_lent.c). What lies in VMEM
 * instead: stack/module/module_vmem.c.
 */
#include "stack/module/module_impl.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

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

/* 0 when all fits; else the lowest end of HBM that it would take */
static int64_t place_in_hbm(struct module_plan *p, struct module *m)
{
    struct module_room r = {.placed = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*r.placed)),
                            .end = INT64_MAX};
    struct module_buffer **list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
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
            module_room_place(&r, b, SPACE_HBM);
        } else if (is_in_hbm(b)) {
            list[count++] = b;
        }
    }
    qsort(list, (size_t)count, sizeof(*list), larger_first);
    for (int i = 0; i < count; i++) {
        list[i]->is_guest = module_lend(p, list, i);
        if (!list[i]->is_guest)
            module_room_place(&r, list[i], SPACE_HBM);
    }
    m->hbm_bytes = r.base;
    module_plan_fullest_step(p, &m->alive_bytes);
    for (int i = 0; i < r.count; i++)
        if (r.placed[i]->address + r.placed[i]->bytes > m->hbm_bytes)
            m->hbm_bytes = r.placed[i]->address + r.placed[i]->bytes;
    mem_free(list);
    mem_free(r.placed);
    return m->hbm_bytes > module_plan_hbm_bytes(p->settings) ? m->hbm_bytes : 0;
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

    m->payload_bytes = m->padding_bytes = m->resident_count = 0;
    for (int i = 0; i < p->buffer_count; i++) {
        p->buffer[i].space = SPACE_HBM;
        p->buffer[i].is_guest = false;
    }
    module_plan_residents(p, m);
    too_much = place_in_hbm(p, m);
    if (too_much)
        return too_much;
    set_arrays(p, m);
    module_plan_prefetches(p, m);
    return 0;
}
