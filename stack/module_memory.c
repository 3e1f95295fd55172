/*
 * Addresses: parameters and literals first, then buffers by lifetime, the
 * largest first, each at the lowest place that is free while it lives.
 *
 * VMEM is cut in two. The first part is the kernels', for windows and scratch;
 * what is behind holds arrays from the kernel that makes them to the last that
 * reads them: those most read per step that they stay.
 */
#include "stack/module_impl.h"

#include "base/text.h"
#include "base/units.h"

#include <stdlib.h>

#define SCOPED_BYTES (16 << 20)         /* XLA's default of --xla_tpu_scoped_vmem_limit_kib */
#define RESIDENT_STEPS_MAX 12           /* an array that stays longer takes room from others */

int64_t plan_scoped_bytes(const struct module_settings *s)
{
    int64_t bytes = s->chip->vmem_bytes;

    return bytes > SCOPED_BYTES ? SCOPED_BYTES : bytes;
}

int64_t plan_hbm_bytes(const struct module_settings *s)
{
    int64_t chip = (int64_t)(s->chip->hbm_gib * (double)GIB);
    int64_t share = chip / s->chip->chip_cores / s->chip->hbm_row_bytes * s->chip->hbm_row_bytes;

    return s->hbm_bytes ? s->hbm_bytes : share;
}

static bool lives(const struct buffer *b) { return b->stands_for < 0 && b->last >= 0; }

static int larger_first(const void *x, const void *y)
{
    const struct buffer *a = *(struct buffer *const *)x, *b = *(struct buffer *const *)y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* places by space, in the order of addresses */
struct room {
    struct buffer **placed;
    int count;
    int64_t base, end;
};

static int64_t find_place(const struct room *r, const struct buffer *b)
{
    int64_t at = r->base;

    for (int i = 0; i < r->count; i++) {
        const struct buffer *other = r->placed[i];

        if (other->first > b->last || other->last < b->first)
            continue;
        if (other->address >= at + b->bytes)
            break;
        if (other->address + other->bytes > at)
            at = other->address + other->bytes;
    }
    return at;
}

static bool place(struct room *r, struct buffer *b, enum array_space space)
{
    int64_t at = find_place(r, b);
    int i;

    if (at + b->bytes > r->end)
        return false;
    b->address = at;
    b->space = space;
    for (i = r->count++; i > 0 && r->placed[i - 1]->address > at; i--)
        r->placed[i] = r->placed[i - 1];
    r->placed[i] = b;
    return true;
}

static int64_t reads_of(const struct plan *p, const struct buffer *b)
{
    int64_t reads = 0;

    for (int i = b->first; i <= b->last && i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            reads += plan_buffer(p, p->step[i].operand[k]) == b;
    return reads;
}

struct candidate {
    struct buffer *buffer;
    double gain;                        /* reads and the write, per step of staying */
};

static int better_first(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* temporaries that stay in VMEM */
static void place_residents(struct plan *p, struct module *m)
{
    const struct module_settings *s = p->settings;
    struct room r = {.placed = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*r.placed)),
                     .base = plan_scoped_bytes(s), .end = s->chip->vmem_bytes};
    struct candidate *list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    int count = 0;

    for (int i = 0; i < p->buffer_count; i++) {
        struct buffer *b = &p->buffer[i];

        if (!lives(b) || b->must_stay || b->role != BUFFER_TEMPORARY ||
            b->last - b->first > RESIDENT_STEPS_MAX || b->bytes > (r.end - r.base) / 2)
            continue;
        list[count++] = (struct candidate){
            b, (double)(1 + reads_of(p, b)) / (double)(1 + b->last - b->first)};
    }
    qsort(list, (size_t)count, sizeof(*list), better_first);
    m->vmem_peak_bytes = plan_scoped_bytes(s);
    for (int i = 0; i < count; i++)
        if (place(&r, list[i].buffer, SPACE_VMEM)) {
            int64_t end = list[i].buffer->address + list[i].buffer->bytes;

            m->resident_count++;
            m->vmem_peak_bytes = end > m->vmem_peak_bytes ? end : m->vmem_peak_bytes;
        }
    mem_free(list);
    mem_free(r.placed);
}

static int refuse(const struct module_settings *s, int64_t need, struct err *e)
{
    char has[32], wants[32];

    return err_set(e, "arrays that live at the same time need %s of HBM, a core has %s",
                   text_bytes(need, wants, sizeof(wants)),
                   text_bytes(plan_hbm_bytes(s), has, sizeof(has)));
}

static bool is_in_hbm(const struct buffer *b) { return lives(b) && b->space == SPACE_HBM; }

/* 0 when all fits; else the lowest end of HBM that it would take */
static int64_t place_in_hbm(struct plan *p, struct module *m)
{
    struct room r = {.placed = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*r.placed)),
                     .end = INT64_MAX};
    struct buffer **list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    int count = 0;

    for (int i = 0; i < p->buffer_count; i++) {
        struct buffer *b = &p->buffer[i];
        bool is_fixed = b->role == BUFFER_PARAMETER || b->role == BUFFER_CONSTANT;

        if (is_fixed && b->stands_for < 0) {
            b->first = -1;
            b->last = p->step_count;
            place(&r, b, SPACE_HBM);
        } else if (is_in_hbm(b)) {
            list[count++] = b;
        }
    }
    qsort(list, (size_t)count, sizeof(*list), larger_first);
    for (int i = 0; i < count; i++)
        place(&r, list[i], SPACE_HBM);
    m->hbm_bytes = 0;
    for (int i = 0; i < r.count; i++)
        if (r.placed[i]->address + r.placed[i]->bytes > m->hbm_bytes)
            m->hbm_bytes = r.placed[i]->address + r.placed[i]->bytes;
    mem_free(list);
    mem_free(r.placed);
    return m->hbm_bytes > plan_hbm_bytes(p->settings) ? m->hbm_bytes : 0;
}

/* arrays get the places of their buffers; each buffer's padding counts once */
static void set_arrays(struct plan *p, struct module *m)
{
    bool *is_counted = mem_alloc((size_t)p->buffer_count + 1);

    for (int i = 0; i < p->value_count; i++) {
        struct value *v = p->value[i];
        const struct buffer *b = plan_buffer(p, v);

        v->array.space = b->space;
        v->array.address = b->address;
        if (is_counted[b - p->buffer] || b->space != SPACE_HBM)
            continue;
        is_counted[b - p->buffer] = true;
        m->payload_bytes += array_payload_bytes(&v->array);
        m->padding_bytes += b->bytes - array_payload_bytes(&v->array);
    }
    mem_free(is_counted);
}

int plan_memory(struct plan *p, struct module *m, struct err *e)
{
    int64_t too_much;

    m->payload_bytes = m->padding_bytes = m->resident_count = 0;
    for (int i = 0; i < p->buffer_count; i++)
        p->buffer[i].space = SPACE_HBM;
    place_residents(p, m);
    too_much = place_in_hbm(p, m);
    if (too_much)
        return refuse(p->settings, too_much, e);
    set_arrays(p, m);
    return 0;
}
