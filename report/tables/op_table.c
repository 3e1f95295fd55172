/* Fills ops.csv: one row per source operation, and one for the cycles after the halt. */
#include "report/tables/op_stats.h"

#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define GIB_BYTES 1073741824.0
#define TEXT_OPS 3                      /* of the operations executed most */

static int compare(const void *x, const void *y)
{
    const struct op_stat *a = x, *b = y;

    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->note < b->note ? -1 : a->note > b->note;
}

/* the bundles of a program by note: those of note n are bundle[first[n]..first[n + 1] - 1] */
struct by_note {
    uint32_t *bundle, *first;
};

static struct by_note sort_by_note(const struct isa_program *p, struct arena *a)
{
    struct by_note b = {arena_array(a, (size_t)p->bundle_count + 1, sizeof(*b.bundle)),
                        arena_array(a, (size_t)p->note_count + 3, sizeof(*b.first))};

    for (uint32_t i = 0; i < p->bundle_count; i++)
        b.first[p->bundle[i].note + 2]++;
    for (uint32_t n = 2; n <= p->note_count + 2; n++)
        b.first[n] += b.first[n - 1];
    for (uint32_t i = 0; i < p->bundle_count; i++)      /* moves first[n + 1] to where it belongs */
        b.bundle[b.first[p->bundle[i].note + 1]++] = i;
    return b;
}

static void count_codes(const struct report_view *v, const struct by_note *notes, uint32_t note,
                        int64_t count[OP_COUNT])
{
    const struct isa_program *p = v->ops_program;

    for (uint32_t i = notes->first[note]; i < notes->first[note + 1]; i++) {
        const struct isa_bundle *b = &p->bundle[notes->bundle[i]];

        for (uint32_t j = 0; j < b->op_count; j++)
            count[p->op[b->first_op + j].code] += v->executed[b->first_op + j];
    }
}

/* "vmatmul.f32.gmra x 512; vld x 96; …": the operations executed most */
static const char *executed_text(const struct report_view *v, const struct by_note *notes,
                                 uint32_t note, struct arena *a)
{
    int64_t count[OP_COUNT] = {0};
    const char *text = "";

    count_codes(v, notes, note, count);
    for (int n = 0; n < TEXT_OPS; n++) {
        int most = 0;

        for (int code = 1; code < OP_COUNT; code++)
            if (count[code] > count[most])
                most = code;
        if (count[most] == 0)
            break;
        text = arena_printf(a, "%s%s%s x %" PRId64, text, n ? "; " : "",
                            isa_info((enum isa_opcode)most)->mnemonic, count[most]);
        count[most] = 0;
    }
    return text;
}

static double microseconds(const struct report_view *v, cycle_t cycles)
{
    return (double)cycles / (double)v->chip->chip_clock_mhz;
}

/* 0 of no time is 0 */
static double rate(double amount, double us, double unit)
{
    return us > 0.0 ? amount / us * 1e6 / unit : 0.0;
}

static void put_time(const struct report_view *v, struct table *t, cycle_t cycles,
                     int64_t occurrences, cycle_t *cumulative)
{
    double us = microseconds(v, cycles), all = (double)v->core[v->ops_core]->cycles;

    *cumulative += cycles;
    table_put_int(t, COL_OPS_OCCURRENCES, occurrences);
    table_put_real(t, COL_OPS_TOTAL_US, us);
    table_put_real(t, COL_OPS_AVG_US, occurrences ? us / (double)occurrences : 0.0);
    table_put_real(t, COL_OPS_SELF_US, us);
    table_put_real(t, COL_OPS_SELF_PCT, view_percent((double)cycles, all));
    table_put_real(t, COL_OPS_CUMULATIVE_PCT, view_percent((double)*cumulative, all));
    table_put_int(t, COL_OPS_CYCLES, cycles);
}

static void put_rates(const struct report_view *v, const struct op_stat *s, struct table *t)
{
    double us = microseconds(v, s->cycles), use;
    double bytes = (double)(s->hbm_bytes + s->vmem_read_bytes + s->vmem_write_bytes);
    double bf16 = op_peak_flops_per_cycle(v->chip, 0, 0) / (double)v->chip->mxu_count
                  * (double)s->matmul_cycles;

    table_put_real(t, COL_OPS_DMA_STALL_PCT,
                   view_percent((double)s->dma_stall_cycles, (double)s->cycles));
    table_put_real(t, COL_OPS_FLOP_RATE, rate((double)s->issued_flops, us, 1e9));
    table_put_real(t, COL_OPS_BF16_RATE, rate(bf16, us, 1e9));
    table_put_real(t, COL_OPS_MEMORY_BW, rate(bytes, us, GIB_BYTES));
    table_put_real(t, COL_OPS_HBM_BW, rate((double)s->hbm_bytes, us, GIB_BYTES));
    if (bytes > 0.0)
        table_put_real(t, COL_OPS_INTENSITY, (double)s->issued_flops / bytes);
    table_put_text(t, COL_OPS_BOUND, op_stat_bound(v, s, &use));
    table_put_int(t, COL_OPS_WASTED, (cycle_t)((double)s->cycles * (1.0 - use) + 0.5));
}

static void put_counts(const struct op_stat *s, struct table *t)
{
    table_put_int(t, COL_OPS_ISSUE, s->issue_cycles);
    table_put_int(t, COL_OPS_STALL, s->stall_cycles);
    table_put_int(t, COL_OPS_DMA_STALL, s->dma_stall_cycles);
    table_put_int(t, COL_OPS_FLOP, s->issued_flops);
    if (s->source)
        table_put_int(t, COL_OPS_MODEL_FLOP, s->source->product_flops);
    table_put_int(t, COL_OPS_HBM_BYTES, s->hbm_bytes);
    table_put_int(t, COL_OPS_ICI_BYTES, s->ici_bytes);
    table_put_int(t, COL_OPS_VMEM_READ, s->vmem_read_bytes);
    table_put_int(t, COL_OPS_VMEM_WRITE, s->vmem_write_bytes);
    table_put_int(t, COL_OPS_BUNDLES, s->bundles);
}

static void add_row(const struct report_view *v, const struct by_note *notes,
                    const struct op_stat *s, struct table *t, cycle_t *cumulative)
{
    table_add_row(t);
    table_put_text(t, COL_OPS_PROGRAM, v->ops_program->name);
    table_put_text(t, COL_OPS_CATEGORY, op_stat_category(s));
    table_put_text(t, COL_OPS_TEXT,
                   s->source ? s->source->text : executed_text(v, notes, s->note, t->arena));
    table_put_text(t, COL_OPS_FRAMEWORK, s->name);
    table_put_text(t, COL_OPS_REMAT, "no");
    put_time(v, t, s->cycles, s->occurrences, cumulative);
    put_rates(v, s, t);
    put_counts(s, t);
}

static void add_idle(const struct report_view *v, struct table *t, cycle_t *cumulative)
{
    table_add_row(t);
    table_put_text(t, COL_OPS_PROGRAM, v->ops_program->name);
    table_put_text(t, COL_OPS_CATEGORY, "IDLE");
    table_put_text(t, COL_OPS_TEXT, "the core has halted, others have not");
    table_put_text(t, COL_OPS_FRAMEWORK, "IDLE");
    put_time(v, t, v->core[v->ops_core]->idle_cycles, 1, cumulative);
}

void op_stats_fill_table(const struct report_view *v, struct table *ops)
{
    struct op_stat *stat;
    struct by_note notes;
    size_t count;
    cycle_t cumulative = 0;

    if (v->ops_core < 0 || v->mode == MODE_FUNCTIONAL)
        return;
    stat = op_stats_gather(v, ops->arena, &count);
    notes = sort_by_note(v->ops_program, ops->arena);
    qsort(stat, count, sizeof(*stat), compare);
    for (size_t i = 0; i < count; i++)
        if (stat[i].cycles > 0)
            add_row(v, &notes, &stat[i], ops, &cumulative);
    if (v->core[v->ops_core]->idle_cycles > 0)
        add_idle(v, ops, &cumulative);
}
