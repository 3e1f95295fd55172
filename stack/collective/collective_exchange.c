/*
 * Few steps for small arrays: along one axis after the other each rank sends
 * its whole array to all others of the axis and sums what comes, in an order
 * that goes by coordinates, so that all have the same bits.
 */
#include "stack/collective/collective_impl.h"

#include "base/units.h"

/* everybody else along the dim, the farthest first: their messages take longest */
static int order_peers(const struct plan_dim *d, int index)
{
    int half = d->count / 2, distance = half - index / 2;

    if (d->count % 2 == 0)              /* one is farthest, then two and two */
        distance = half - (index + 1) / 2;
    return index % 2 ? -distance : distance;
}

static void signal_peers(struct plan_builder *b, int dim, int flag)
{
    for (int i = 0; i < b->plan->dim[dim].count - 1; i++)
        plan_build_signal(b, plan_shift_along(b->plan, dim, order_peers(&b->plan->dim[dim], i)),
                          flag, 1);
}

void plan_build_barrier(struct plan_builder *b)
{
    for (int i = 0; i < PLAN_DIMS; i++)
        if (b->plan->dim[i].count > 1) {
            int flag = plan_build_flags(b, 1);

            signal_peers(b, i, flag);
            plan_build_wait(b, flag, b->plan->dim[i].count - 1);
        }
}

/*
 * One axis: a slot for the array of each coordinate; the sum ends in slot 0.
 * Where it goes round by neighbours, each step has a flag of its own.
 */
struct round {
    int dim, layout;
    bool goes_round;
    int64_t slot_bytes, first_slot;
    int ready_flag, arrival_flag, sent_flag, copy_flag;
};

static struct plan_where absolute(int64_t offset)
{
    return (struct plan_where){.space = COLLECTIVE_VMEM, .offset = offset};
}

/*
 * From neighbour to neighbour, if the arrays that must pass a link of the ring
 * take longer than those steps. In the first round always: a rank may send only
 * to those that have begun, and to hear that from neighbours takes a hop, from
 * all half the ring, and nothing else hides that time there.
 */
static bool is_round_better(const struct collective_plan *p, int dim, bool is_first)
{
    double n = p->dim[dim].count, array_ns = plan_link_ns(p, p->request.bytes);
    double step_ns = plan_step_ns(p);

    return p->dim[dim].closes &&
           (is_first || step_ns + n * (n + 2) / 8 * array_ns > n / 2 * (step_ns + array_ns));
}

static struct round make_round(struct plan_builder *b, int dim, int layout, bool is_first)
{
    struct round r = {.dim = dim, .layout = layout, .ready_flag = plan_build_flags(b, 3)};
    int count = b->plan->dim[dim].count;

    r.sent_flag = r.ready_flag + 1;
    r.copy_flag = r.ready_flag + 2;
    r.goes_round = is_round_better(b->plan, dim, is_first);
    r.arrival_flag = plan_build_flags(b, r.goes_round ? count - 1 : 1);
    r.slot_bytes = round_up(b->plan->request.bytes, PLAN_ROW_BYTES);
    r.first_slot = plan_build_vmem(b, r.slot_bytes * count);
    b->plan->layout[layout].base = r.first_slot;
    b->plan->layout[layout].stride[dim] = r.slot_bytes;
    return r;
}

/* the slot of this rank's array; here and, of the same address, at its peers */
static struct plan_where own_slot(const struct round *r)
{
    return (struct plan_where){.space = COLLECTIVE_VMEM, .layout = (uint8_t)r->layout,
                               .fixed = (uint8_t)(1 << r->dim)};
}

static int64_t array_granules(const struct plan_builder *b)
{
    return b->plan->request.bytes / PLAN_GRANULE_BYTES;
}

/* Step `step` in one direction: the first sends `from`, the others what came in the step before. */
static void pass_round(struct plan_builder *b, const struct round *r, int step, int direction,
                       const struct plan_where *from)
{
    struct plan_shape shape = plan_shape_of_run(b->plan->request.bytes);
    struct plan_where array = own_slot(r);
    int flag = r->arrival_flag + (step - 1) * 2 + (direction < 0);

    array.shift = plan_shift_along(b->plan, r->dim, -direction * (step - 1));
    if (step > 1)
        plan_build_wait(b, flag - 2, array_granules(b));
    plan_build_send(b, step > 1 ? &array : from, &array, &shape,
                    plan_shift_along(b->plan, r->dim, direction), flag, r->sent_flag);
}

/* Half of the others' arrays come from either side. */
static void send_round(struct plan_builder *b, const struct round *r,
                       const struct plan_where *from)
{
    int others = b->plan->dim[r->dim].count - 1;

    plan_build_wait(b, r->ready_flag, 2);
    for (int i = 0; i < others; i++)
        pass_round(b, r, i / 2 + 1, i % 2 ? -1 : 1, from);
    for (int i = others - (others > 1 ? 2 : 1); i < others; i++)
        plan_build_wait(b, r->arrival_flag + i, array_granules(b));
}

static void signal_ready(struct plan_builder *b, const struct round *r)
{
    if (!r->goes_round) {
        signal_peers(b, r->dim, r->ready_flag);
        return;
    }
    plan_build_signal(b, plan_shift_along(b->plan, r->dim, 1), r->ready_flag, 1);
    plan_build_signal(b, plan_shift_along(b->plan, r->dim, -1), r->ready_flag, 1);
}

static void send_all(struct plan_builder *b, const struct round *r, const struct plan_where *from)
{
    struct plan_shape shape = plan_shape_of_run(b->plan->request.bytes);
    const struct plan_dim *d = &b->plan->dim[r->dim];
    struct plan_where to = own_slot(r);

    plan_build_wait(b, r->ready_flag, d->count - 1);
    for (int i = 0; i < d->count - 1; i++)
        plan_build_send(b, from, &to, &shape, plan_shift_along(b->plan, r->dim, order_peers(d, i)),
                        r->arrival_flag, r->sent_flag);
}

/* slots 0 to count - 1 += slots `from` to from + count - 1: one addition if they are whole rows */
static void add_slots(struct plan_builder *b, const struct round *r, int from, int count)
{
    int64_t bytes = b->plan->request.bytes;
    int together = bytes % PLAN_ROW_BYTES ? 1 : count;

    for (int i = 0; i < count; i += together) {
        struct plan_where upper = absolute(r->first_slot + (from + i) * r->slot_bytes);
        struct plan_where lower = absolute(r->first_slot + i * r->slot_bytes);

        plan_build_add(b, &upper, &lower, bytes * together);
    }
}

/* The upper half is added to the lower, until one is left. */
static void sum_all(struct plan_builder *b, const struct round *r)
{
    int count = b->plan->dim[r->dim].count;

    plan_build_wait_pending(b, r->copy_flag);
    plan_build_wait_pending(b, r->sent_flag);   /* the lower half holds this rank's own, or will */
    if (!r->goes_round)
        plan_build_wait(b, r->arrival_flag, (count - 1) * array_granules(b));
    for (int left = count; left > 1; left -= left / 2)
        add_slots(b, r, left - left / 2, left / 2);
}

/* The first round's array comes from HBM, the others' from the sum of the one before. */
static void write_rounds(struct plan_builder *b, const struct round *round, int count)
{
    struct plan_shape shape = plan_shape_of_run(b->plan->request.bytes);
    struct plan_where array = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN};
    struct plan_where last = absolute(round[count - 1].first_slot), from = array;

    signal_ready(b, &round[0]);
    for (int i = 0; i < count; i++) {
        struct plan_where own = own_slot(&round[i]);

        plan_build_copy(b, &from, &own, &shape, round[i].copy_flag);
        if (i == 0) {
            plan_build_wait_pending(b, round[0].copy_flag);
            from = own;
        }
        if (i + 1 < count)
            signal_ready(b, &round[i + 1]);
        if (round[i].goes_round)
            send_round(b, &round[i], &from);
        else
            send_all(b, &round[i], &from);
        sum_all(b, &round[i]);
        from = absolute(round[i].first_slot);
    }
    plan_build_copy(b, &last, &array, &shape, round[0].copy_flag);
    plan_build_wait_pending(b, round[0].copy_flag);
}

static int64_t slots_of(const struct collective_plan *p)
{
    int64_t slots = 0;

    for (int i = 0; i < PLAN_DIMS; i++)
        slots += p->axis_count[i] > 1 ? p->axis_count[i] : 0;
    return slots;
}

int64_t plan_exchange_most(const struct collective_plan *p)
{
    return p->chip.vmem_bytes / later(slots_of(p), 1) / PLAN_ROW_BYTES * PLAN_ROW_BYTES;
}

static int check_vmem(const struct collective_plan *p, struct err *e)
{
    if (p->request.bytes <= plan_exchange_most(p))
        return 0;
    return err_set(e, "exchange keeps %lld whole arrays in VMEM, which does not hold them; at most "
                   "%lld bytes, or take torus", (long long)slots_of(p),
                   (long long)plan_device_bytes(&p->request, plan_exchange_most(p)));
}

int plan_exchange(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct round round[PLAN_DIMS];
    struct plan_builder b;
    int count = 0;

    plan_set_axes(p, false, a);
    p->is_symmetric = plan_closes(p);
    p->is_uniform = !p->place_of;
    if (check_vmem(p, e))
        return -1;
    plan_build_begin(&b, p, a);
    if (p->request.kind == COLLECTIVE_BARRIER) {
        plan_build_barrier(&b);
        return plan_build_end(&b, e);
    }
    for (int i = 0; i < PLAN_DIMS; i++)
        if (p->dim[i].count > 1) {
            round[count] = make_round(&b, i, LAYOUT_VMEM + i, count == 0);
            count++;
        }
    write_rounds(&b, round, count);
    return plan_build_end(&b, e);
}
