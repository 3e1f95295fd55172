/*
 * Gives every cycle of a core to one cause: stall reasons are pools, from which matrix work,
 * bundles and waits take their parts in a stated order.
 */
#include "report/explain/explain_impl.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FULL_FROM 0.70                  /* slots filled more than this are full: XProf's "high" */

static const struct cause_info infos[CAUSE_COUNT] = {
#define CAUSE(id, key, family, name, meaning, change) \
    {key, name, meaning, change, CAUSE_FAMILY_##family},
#include "report/explain/causes.def"
};

const struct cause_info *cause_info(enum cause c)
{
    assert(c < CAUSE_COUNT);
    return &infos[c];
}

const char *cause_family_text(enum cause_family f)
{
    static const char *const texts[CAUSE_FAMILY_COUNT] = {
        [CAUSE_FAMILY_WORK] = "is useful work",
        [CAUSE_FAMILY_MATRIX] = "keeps matrix units from useful work",
        [CAUSE_FAMILY_VECTOR] = "goes to vector work",
        [CAUSE_FAMILY_MEMORY] = "waits for memory",
        [CAUSE_FAMILY_NETWORK] = "waits for other cores",
        [CAUSE_FAMILY_CONTROL] = "goes to starts, stops and idling",
        [CAUSE_FAMILY_HOST] = "waits for the host",
    };

    assert(f < CAUSE_FAMILY_COUNT);
    return texts[f];
}

/* at most `wanted` out of *from; returns how many */
static cycle_t take(cycle_t *from, double wanted)
{
    cycle_t taken = wanted < (double)*from ? (cycle_t)wanted : *from;

    taken = taken > 0 ? taken : 0;
    *from -= taken;
    return taken;
}

void explain_divide(cycle_t total, const double weight[], int count, cycle_t part[])
{
    double sum = 0.0;
    cycle_t left = total;

    for (int i = 0; i < count; i++)
        sum += weight[i];
    for (int i = 0; i < count - 1; i++)
        part[i] = sum > 0.0 ? take(&left, (double)total * weight[i] / sum) : 0;
    part[count - 1] = left;
}

/* ----- the matrix units */

struct matrix_time {                    /* of one core, in cycles */
    double useful, passes, padding, underfill;
};

/* "mxu0", not its port "mxu0.push" */
static bool is_mxu(const char *unit)
{
    return strncmp(unit, "mxu", 3) == 0 && !strchr(unit, '.');
}

static double busiest_mxu(const struct core_counters *c)
{
    cycle_t most = 0;

    for (int i = 0; i < c->unit_count; i++)
        if (is_mxu(c->unit[i].name) && c->unit[i].busy_cycles > most)
            most = c->unit[i].busy_cycles;
    return (double)most;
}

static double whole_tiles(double x, double to)
{
    return ceil(x / to) * to;
}

/* of the FLOPs that the model did not ask for: the part due to N or K below the array's size */
static double underfilled_share(const struct explain_input *in)
{
    double size = (double)in->view->chip->mxu_size, empty = 0.0, padded = 0.0;
    double columns = in->command == EXPLAIN_GEMM ? size * (double)in->view->chip->mxu_count : size;

    for (size_t i = 0; i < in->product_count; i++) {
        const struct explain_product *p = &in->product[i];
        double m = (double)p->m, n = (double)p->n, k = (double)p->k;
        double n_held = n < columns ? columns : n, k_held = k < size ? size : k;
        double all = whole_tiles(m, 8.0) * whole_tiles(n_held, columns) * whole_tiles(k_held, size);

        empty += (double)p->count * m * (n_held * k_held - n * k);
        padded += (double)p->count * (all - m * n_held * k_held);
    }
    return empty + padded > 0.0 ? empty / (empty + padded) : 0.0;
}

/* The time that rows hold the arrays, divided by what they were for. */
static void matrix_time(const struct explain_input *in, const struct core_counters *c,
                        struct matrix_time *t)
{
    const struct report_view *v = in->view;
    double rows = (double)c->matmul_cycles / (double)v->chip->mxu_count, share = 1.0, waste;
    double uneven = busiest_mxu(c) - rows;

    memset(t, 0, sizeof(*t));
    if (c->matmul_cycles == 0)
        return;
    if (v->model_flops > 0 && c->matmul_flops > v->model_flops)
        share = (double)v->model_flops / (double)c->matmul_flops;
    t->useful = rows * share;
    waste = rows - t->useful;
    t->passes = fmin(rows * (1.0 - 1.0 / (in->passes > 1 ? in->passes : 1)), waste);
    waste -= t->passes;
    t->underfill = waste * underfilled_share(in);
    t->padding = waste - t->underfill;
    if (uneven > 0.0)
        t->underfill += uneven;
}

/* Where the arrays stream, something else issues or waits for them: in this order. */
static cycle_t take_matrix(struct explain_pool *p, double wanted)
{
    cycle_t *const from[] = {&p->stall_cycles[STALL_MXU], &p->issue_cycles,
                             &p->stall_cycles[STALL_RESULT], &p->stall_cycles[STALL_STAGING]};
    cycle_t all = llround(wanted), taken = 0;

    for (size_t i = 0; i < COUNT_OF(from); i++)
        taken += take(from[i], (double)(all - taken));
    return taken;
}

static void attribute_matrix(const struct explain_input *in, const struct core_counters *c,
                             struct explain_pool *p, cycle_t cycles[CAUSE_COUNT])
{
    struct matrix_time t;

    matrix_time(in, c, &t);
    cycles[CAUSE_USEFUL] += take_matrix(p, t.useful);
    cycles[CAUSE_PASSES] += take_matrix(p, t.passes);
    cycles[CAUSE_PADDING] += take_matrix(p, t.padding);
    cycles[CAUSE_UNDERFILL] += take_matrix(p, t.underfill);
}

/* ----- bundles */

/* counted on the core whose places are known; all cores run the same program */
static void attribute_spills(const struct explain_input *in, struct explain_pool *p,
                             cycle_t cycles[CAUSE_COUNT])
{
    for (size_t i = 0; i < in->place_count; i++) {
        const struct explain_place *at = &in->place[i];

        if (at->is_bundle || !explain_is_spill(at->note))
            continue;
        cycles[CAUSE_SPILLS] += take(&p->issue_cycles, (double)at->issue_cycles);
        for (int r = 0; r < STALL_COUNT; r++)
            cycles[CAUSE_SPILLS] += take(&p->stall_cycles[r],
                                                 (double)at->stall_cycles[r]);
    }
}

static double slot_fill(const struct core_counters *c, const char *unit, double more_ops)
{
    for (int i = 0; i < c->unit_count; i++) {
        const struct unit_counters *u = &c->unit[i];

        if (strcmp(u->name, unit) == 0 && u->slot_cycles > 0 && c->issue_cycles > 0)
            return ((double)u->op_count + more_ops) * (double)c->cycles /
                   ((double)u->slot_cycles * (double)c->issue_cycles);
    }
    return 0.0;
}

double explain_fill(const struct core_counters *c, const char **name)
{
    static const char *const units[] = {"valu", "load", "store"};
    double fullest = 0.0, eup_ops = 0.0;

    for (int code = 0; code < OP_COUNT; code++)     /* each of them fills a valu slot too */
        if (isa_info((enum isa_opcode)code)->slot == SLOT_EUP)
            eup_ops += (double)c->op_count[code];
    *name = units[0];
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        double fill = slot_fill(c, units[i], i == 0 ? eup_ops : 0.0);

        if (fill > fullest) {
            fullest = fill;
            *name = units[i];
        }
    }
    return fmin(fullest, 1.0);
}

/* Without a product, filling the fullest slot of each bundle is all there is to do. */
static void attribute_bundles(const struct core_counters *c, struct explain_pool *p,
                              cycle_t cycles[CAUSE_COUNT])
{
    const char *unit;
    double fill = explain_fill(c, &unit);

    if (c->matmul_cycles == 0)
        cycles[CAUSE_USEFUL] += take(&p->issue_cycles, (double)p->issue_cycles * fill);
    if (c->matmul_cycles > 0 && fill >= FULL_FROM)
        cycles[CAUSE_VECTOR] += take(&p->issue_cycles, (double)p->issue_cycles);
    cycles[CAUSE_ISSUE] += p->issue_cycles;
    p->issue_cycles = 0;
}

/* ----- stalls that have one cause each */

static const enum cause stall_cause[STALL_COUNT] = {
    [STALL_OPERAND] = CAUSE_OPERAND, [STALL_BANK] = CAUSE_OPERAND,
    [STALL_STORE_LOAD] = CAUSE_OPERAND, [STALL_TRANSFER] = CAUSE_OPERAND,
    [STALL_DIVIDE] = CAUSE_OPERAND, [STALL_FENCE] = CAUSE_OPERAND,
    [STALL_MXU] = CAUSE_UNDERFILL,      /* a unit is waited for while others have no rows */
    [STALL_STAGING] = CAUSE_WEIGHTS, [STALL_RESULT] = CAUSE_RESULT,
    [STALL_XLU] = CAUSE_XLU, [STALL_EUP] = CAUSE_EUP, [STALL_CMEM] = CAUSE_CMEM,
    [STALL_SYNC] = CAUSE_RESUME, [STALL_BRANCH] = CAUSE_BRANCH, [STALL_DELAY] = CAUSE_KERNELS,
    [STALL_DMA_QUEUE] = CAUSE_SMALL_DMAS, [STALL_FETCH] = CAUSE_KERNELS,
};

enum cause explain_stall_cause(enum stall_reason r)
{
    return stall_cause[r];
}

static void attribute_core(const struct explain_input *in, int core,
                           cycle_t cycles[CAUSE_COUNT])
{
    const struct core_counters *c = in->view->core[core];
    struct explain_pool p = {.issue_cycles = c->issue_cycles};

    memcpy(p.stall_cycles, c->stall_cycles, sizeof(p.stall_cycles));
    attribute_spills(in, &p, cycles);
    attribute_matrix(in, c, &p, cycles);
    attribute_bundles(c, &p, cycles);
    for (int r = 0; r < STALL_COUNT; r++)
        if (r != STALL_HBM && r != STALL_ICI) {     /* explain_waits splits those */
            assert(stall_cause[r] != CAUSE_USEFUL);
            cycles[stall_cause[r]] += p.stall_cycles[r];
        }
    explain_waits(in, core, &p, cycles);
    cycles[CAUSE_IDLE] += c->idle_cycles;
}

/* ----- the host */

static void attribute_host(const struct report_view *v, cycle_t cycles[CAUSE_COUNT])
{
    cycles[CAUSE_INPUT] = llround(explain_cycles_of_ns(v->chip, view_input_us(v) * 1e3));
    cycles[CAUSE_DISPATCH] =
        llround(explain_cycles_of_ns(v->chip, (double)v->chip->host_dispatch_us * 1e3));
    cycles[CAUSE_LAUNCH] =
        llround(explain_cycles_of_ns(v->chip, (double)v->chip->launch_program_ns));
}

/* ----- all together */

/* Means are rounded down, and what that leaves goes to the largest remainders. */
static void round_means(struct explain *x, int cores)
{
    cycle_t left = x->step_cycles;

    for (int c = 0; c < CAUSE_COUNT; c++) {
        if (cause_is_host((enum cause)c))
            continue;
        x->row[c].cycles = x->row[c].core_cycles / cores;
        left -= x->row[c].cycles;
    }
    for (; left > 0; left--) {
        int most = CAUSE_USEFUL;

        for (int c = 0; c < CAUSE_COUNT; c++)
            if (!cause_is_host((enum cause)c) &&
                x->row[c].core_cycles - x->row[c].cycles * cores >
                    x->row[most].core_cycles - x->row[most].cycles * cores)
                most = c;
        x->row[most].cycles++;
    }
}

static void check_sums(const struct explain *x)
{
    cycle_t all = 0, mean = 0, host = 0;

    for (int c = 0; c < CAUSE_COUNT; c++) {
        assert(x->row[c].core_cycles >= 0);
        all += cause_is_host((enum cause)c) ? 0 : x->row[c].core_cycles;
        mean += cause_is_host((enum cause)c) ? 0 : x->row[c].cycles;
        host += cause_is_host((enum cause)c) ? x->row[c].cycles : 0;
    }
    assert(all == x->step_cycles * x->input->view->active_count);
    assert(mean == x->step_cycles && host == x->host_cycles);
}

static bool ranks_before(const struct explain *x, enum cause a, enum cause b)
{
    if (cause_is_host(a) != cause_is_host(b))
        return cause_is_host(b);
    return x->row[a].cycles > x->row[b].cycles;
}

static void rank(struct explain *x)
{
    for (int c = 0; c < CAUSE_COUNT; c++) {
        size_t i = x->ranked_count;

        if (x->row[c].cycles == 0 || c == CAUSE_USEFUL)
            continue;
        for (; i > 0 && ranks_before(x, (enum cause)c, x->ranked[i - 1]); i--)
            x->ranked[i] = x->ranked[i - 1];
        x->ranked[i] = (enum cause)c;
        x->ranked_count++;
        x->core_count += !cause_is_host((enum cause)c);
    }
}

void explain_make(const struct explain_input *in, struct arena *a, struct explain *x)
{
    const struct report_view *v = in->view;
    cycle_t cycles[CAUSE_COUNT] = {0}, host[CAUSE_COUNT] = {0};

    assert(v->mode != MODE_FUNCTIONAL && v->active_count > 0 && v->cycles > 0);
    *x = (struct explain){.input = in, .step_cycles = v->cycles};
    for (int i = 0; i < v->core_count; i++)
        if (view_is_active(v, i))
            attribute_core(in, i, cycles);
    attribute_host(v, host);
    for (int c = 0; c < CAUSE_COUNT; c++) {
        x->row[c].cause = (enum cause)c;
        x->row[c].core_cycles = cycles[c] + host[c];
        x->row[c].cycles = host[c];
        x->host_cycles += host[c];
    }
    round_means(x, v->active_count);
    check_sums(x);
    rank(x);
    bound_find(v, &x->bound);
    explain_predict(x);
    explain_tell(x, a);
}

double explain_share(const struct explain *x, enum cause c)
{
    return (double)x->row[c].cycles / (double)x->step_cycles;
}

double explain_host_share(const struct explain *x, enum cause c)
{
    return (double)x->row[c].cycles / (double)(x->step_cycles + x->host_cycles);
}
