/* Plans direct exchanges, in which each rank sends to each that it has something for. */
#include "stack/collective/collective_impl.h"

int plan_alone(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct plan_where from = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN};
    struct plan_where to = {.space = COLLECTIVE_HBM, .layout = LAYOUT_OUT};
    struct plan_builder b;

    plan_set_axes(p, false, a);
    p->is_symmetric = true;
    plan_build_begin(&b, p, a);
    if (p->arrays.in != p->arrays.out) {
        struct plan_shape shape = plan_shape_of_run(p->arrays.in_bytes);
        int flag = plan_build_flags(&b, 1);

        plan_build_copy(&b, &from, &to, &shape, flag);
        plan_build_wait_pending(&b, flag);
    }
    return plan_build_end(&b, e);
}

#define DIRECT_WINDOW 16                /* sends whose sources are not read yet */

static uint8_t all_dims(void)
{
    return (1 << PLAN_DIMS) - 1;
}

static int greatest_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Steps through all shifts so that near and far, and all axes, take turns. */
static int stride_of_shifts(int count)
{
    int stride = (int)(count * 0.618);

    while (stride < 1 || greatest_divisor(count, stride) != 1)
        stride++;
    return stride;
}

/*
 * Block r of what goes in is for rank r; block r of what comes out is from it.
 * One barrier, for everybody writes to everybody.
 */
static void write_all_to_all(struct plan_builder *b)
{
    const struct collective_plan *p = b->plan;
    struct plan_shape shape = plan_shape_of_run(p->block_bytes);
    struct plan_where from = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN, .fixed = all_dims()};
    struct plan_where to = {.space = COLLECTIVE_HBM, .layout = LAYOUT_OUT, .fixed = all_dims()};
    int arrival = plan_build_flags(b, 3), sent = arrival + 1, own = arrival + 2;
    int stride = stride_of_shifts(p->rank_count), shift = 0;
    int64_t granules = p->block_bytes / PLAN_GRANULE_BYTES;

    plan_build_copy(b, &from, &to, &shape, own);
    plan_build_barrier(b);
    for (int i = 1; i < p->rank_count; i++) {
        shift = (int)(((int64_t)shift + stride) % p->rank_count);
        from.shift = shift;
        if (i > DIRECT_WINDOW) {
            plan_build_wait(b, sent, granules);
            b->pending[sent] -= granules;
        }
        plan_build_send(b, &from, &to, &shape, shift, arrival, sent);
    }
    plan_build_wait(b, arrival, (p->rank_count - 1) * granules);
    plan_build_wait_pending(b, sent);
    plan_build_wait_pending(b, own);
}

/* One message, once the one that gets it has said that it is there. */
static void write_permute(struct plan_builder *b)
{
    const struct collective_plan *p = b->plan;
    struct plan_shape shape = plan_shape_of_run(p->request.bytes);
    struct plan_where from = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN};
    struct plan_where to = {.space = COLLECTIVE_HBM, .layout = LAYOUT_OUT};
    int arrival = plan_build_flags(b, 3), sent = arrival + 1, ready = arrival + 2;

    plan_build_signal(b, plan_shift_along(p, 0, -p->request.shift), ready, 1);
    plan_build_wait(b, ready, 1);
    plan_build_send(b, &from, &to, &shape, plan_shift_along(p, 0, p->request.shift), arrival, sent);
    plan_build_wait(b, arrival, p->request.bytes / PLAN_GRANULE_BYTES);
    plan_build_wait_pending(b, sent);
}

static void write_broadcast(struct plan_builder *b, struct arena *a)
{
    struct collective_plan *p = b->plan;
    struct plan_shape shape = plan_shape_of_run(p->request.bytes);
    struct plan_where array = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN};
    int arrival = plan_build_flags(b, 3), sent = arrival + 1, ready = arrival + 2;
    int *role = arena_array(a, (size_t)p->rank_count, sizeof(*role));

    plan_build_wait(b, ready, p->rank_count - 1);
    for (int i = 1; i < p->rank_count; i++)
        plan_build_send(b, &array, &array, &shape, plan_shift_along(p, 0, i), arrival, sent);
    plan_build_wait_pending(b, sent);
    plan_build_segment(b, 1);
    plan_build_signal(b, PLAN_TO_ROOT, ready, 1);
    plan_build_wait(b, arrival, p->request.bytes / PLAN_GRANULE_BYTES);
    for (int i = 0; i < p->rank_count; i++)
        role[i] = i != p->request.root;
    for (int i = 0; i < PLAN_DIMS; i++)
        p->role[i] = role;
}

int plan_direct(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct plan_builder b;

    if (p->request.kind == COLLECTIVE_PERMUTE && p->request.shift == 0)
        return plan_alone(p, a, e);
    if (p->request.kind == COLLECTIVE_ALL_TO_ALL)
        plan_set_axes(p, false, a);
    else
        plan_set_ring(p, true, a);
    plan_build_set_root(p);
    plan_build_begin(&b, p, a);
    switch (p->request.kind) {
    case COLLECTIVE_ALL_TO_ALL: write_all_to_all(&b); break;
    case COLLECTIVE_PERMUTE: write_permute(&b); break;
    default: write_broadcast(&b, a);
    }
    p->is_symmetric = p->request.kind != COLLECTIVE_BROADCAST && plan_closes(p);
    p->is_uniform = p->request.kind == COLLECTIVE_ALL_TO_ALL && !p->place_of;
    return plan_build_end(&b, e);
}
