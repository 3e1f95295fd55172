/*
 * Checks that the numbers of a run agree: sums of parts with totals, bytes sent with bytes
 * received, uses with 100 %.
 */
#include "report/tables/identities.h"

#include "report/view/bound.h"
#include "report/tables/breakdown.h"

#include <inttypes.h>
#include <stdarg.h>

struct check {
    char *buf;
    size_t buf_bytes;
    bool is_broken;
};

static void broken(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void broken(struct check *c, const char *fmt, ...)
{
    va_list args;

    if (c->is_broken)
        return;
    c->is_broken = true;
    va_start(args, fmt);
    vsnprintf(c->buf, c->buf_bytes, fmt, args);
    va_end(args);
}

static void equal(struct check *c, const char *what, int which, int64_t a, int64_t b)
{
    if (a != b)
        broken(c, "%s %d: %" PRId64 " is not %" PRId64, what, which, a, b);
}

static void check_cores(struct check *c, const struct report_view *v)
{
    for (int i = 0; i < v->core_count; i++) {
        const struct core_counters *k = v->core[i];
        cycle_t sum = k->issue_cycles + k->idle_cycles;

        for (int r = 0; r < STALL_COUNT; r++)
            sum += k->stall_cycles[r];
        equal(c, "cycles against the launch's, core", i, k->cycles, v->cycles);
        equal(c, "issue + stalls + idle against cycles, core", i, sum, k->cycles);
        for (int u = 0; u < k->unit_count; u++)
            equal(c, k->unit[u].name, i, k->unit[u].busy_cycles + k->unit[u].waiting_cycles
                                         + k->unit[u].idle_cycles, k->cycles);
    }
}

/* of a program that leaves copies under way at its end, they are not all there yet */
static void check_traffic(struct check *c, const struct report_view *v)
{
    int64_t sent = 0, received = 0, payload = 0;

    for (int i = 0; i < v->core_count; i++) {
        sent += v->core[i]->ici_sent_bytes;
        received += v->core[i]->ici_received_bytes;
    }
    for (int i = 0; i < v->link_count; i++) {
        payload += v->link[i]->payload_bytes;
        if (v->link[i]->wire_bytes < v->link[i]->payload_bytes)
            broken(c, "link %d has less on the wire than payload", i);
    }
    if (v->has_copies_left)
        return;
    equal(c, "bytes sent against bytes received, cores", v->core_count, sent, received);
    if (payload < sent)
        broken(c, "links carried %" PRId64 " B of %" PRId64 " B sent", payload, sent);
}

static void check_use(struct check *c, const char *what, int which, double use)
{
    if (!(use >= 0.0 && use <= 1.0 + 1e-9))
        broken(c, "%s %d: used %g of the time", what, which, use);
}

static void check_uses(struct check *c, const struct report_view *v)
{
    struct bound b;

    if (v->has_copies_left)             /* memory and links go on with them after the end */
        return;
    bound_find(v, &b);
    for (int r = 0; r < BOUND_RESOURCE_COUNT; r++)
        check_use(c, bound_name((enum bound_resource)r), 0, b.use[r]);
    for (int i = 0; i < v->chip_count; i++)
        check_use(c, "HBM of chip", i, view_hbm_use(v, i));
    for (int i = 0; i < v->link_count; i++)
        check_use(c, "link", i, view_link_use(v, i));
}

static void check_ops(struct check *c, const struct report_view *v, const struct table *ops)
{
    int64_t cycles = 0, flops = 0, stalls = 0;
    const struct core_counters *k;

    if (v->ops_core < 0)
        return;
    k = v->core[v->ops_core];
    for (size_t i = 0; i < ops->row_count; i++) {
        cycles += table_int(ops, i, COL_OPS_CYCLES);
        flops += table_int(ops, i, COL_OPS_FLOP);
        stalls += table_int(ops, i, COL_OPS_DMA_STALL);
    }
    equal(c, "cycles of source operations, core", v->ops_core, cycles, k->cycles);
    equal(c, "FLOP of source operations, core", v->ops_core, flops, k->matmul_flops);
    equal(c, "DMA stalls of source operations, core", v->ops_core, stalls,
          k->stall_cycles[STALL_HBM] + k->stall_cycles[STALL_ICI]
              + k->stall_cycles[STALL_DMA_QUEUE] + k->stall_cycles[STALL_SYNC]);
}

static void check_layers(struct check *c, const struct report_view *v, const struct table *layers)
{
    int64_t cycles = 0;

    if (v->ops_core < 0)
        return;
    for (size_t i = 0; i < layers->row_count; i++)
        cycles += table_int(layers, i, COL_LAYERS_TOTAL_PREFETCH);
    equal(c, "cycles of layers, core", v->ops_core, cycles,
          v->core[v->ops_core]->cycles - v->core[v->ops_core]->idle_cycles);
}

static void check_breakdown(struct check *c, const struct report_view *v)
{
    struct breakdown b;

    for (int i = 0; i < v->core_count; i++) {
        breakdown_of_core(v, i, &b);
        equal(c, "parts of the step, core", i, breakdown_core_cycles(&b), v->core[i]->cycles);
    }
}

/* 2MNK of every product, with sides rounded up to tiles, times its passes */
static void check_flops(struct check *c, const struct report_view *v)
{
    for (int i = 0; i < v->core_count; i++) {
        if (!view_is_active(v, i) || v->issued_flops == 0)
            continue;
        equal(c, "FLOP of the products asked for, with padding, core", i, v->core[i]->matmul_flops,
              v->issued_flops);
    }
}

static void check_steps(struct check *c, const struct report_run *r)
{
    cycle_t rows = 0, epochs = 0;
    int64_t steps = 0, told = 0;

    for (size_t i = 0; i < r->row_count; i++) {
        rows += r->row[i].launch_cycles;
        told += r->row[i].step_count;
    }
    for (size_t i = 0; i < r->epoch_count; i++) {
        const struct report_epoch *e = &r->epoch[i];

        epochs += e->launch_cycles;
        steps += e->steps;
        equal(c, "cycles of a step of epoch", e->epoch, e->step_cycles,
              e->launch_cycles / e->steps);
    }
    equal(c, "cycles of all launches against those of epochs", (int)r->epoch_count, rows, epochs);
    equal(c, "steps of launches against those of epochs", (int)r->epoch_count, told, steps);
}

/* the components against the row of the total */
static void check_energy(struct check *c, const struct table *energy)
{
    int64_t sum = 0;

    for (size_t i = 0; i + 1 < energy->row_count; i++)
        sum += table_int(energy, i, COL_ENERGY_FJ);
    if (energy->row_count)
        equal(c, "energy of the components against the total, row", (int)energy->row_count - 1,
              sum, table_int(energy, energy->row_count - 1, COL_ENERGY_FJ));
}

const char *identities_broken(const struct report_run *r, const struct report_view *v,
                              const struct table *tables, char *buf, size_t buf_bytes)
{
    struct check c = {buf, buf_bytes, false};

    check_steps(&c, r);
    if (v)
        check_flops(&c, v);
    if (v && v->mode != MODE_FUNCTIONAL) {
        check_cores(&c, v);
        check_traffic(&c, v);
        check_uses(&c, v);
        check_breakdown(&c, v);
        check_ops(&c, v, &tables[TABLE_OPS]);
        check_layers(&c, v, &tables[TABLE_LAYERS]);
        check_energy(&c, &tables[TABLE_ENERGY]);
    }
    return c.is_broken ? buf : NULL;
}
