/*
 * Finds collectives by their bundles, and sums how long each was in flight and how much of it was
 * exposed.
 */
#include "report/tables/communication.h"

#include "base/text.h"

#include <inttypes.h>

#define ROWS_MAX 20                     /* of the text */

struct span {
    uint32_t first, last;               /* bundles; first > last: none */
    int parts;
};

static cycle_t cycles_of(const struct report_view *v, uint32_t bundle)
{
    return v->bundle[bundle].count + v->bundle[bundle].stall_cycles;
}

static struct span *spans_of(const struct report_view *v, struct arena *a)
{
    const struct isa_program *p = v->ops_program;
    struct span *span = arena_array(a, (size_t)p->note_count + 1, sizeof(*span));
    uint32_t before = UINT32_MAX;

    for (uint32_t n = 0; n <= p->note_count; n++)
        span[n] = (struct span){.first = UINT32_MAX};
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        struct span *s = &span[p->bundle[i].note];

        if (cycles_of(v, i) == 0)
            continue;
        if (s->first == UINT32_MAX)
            s->first = i;
        s->last = i;
        s->parts += p->bundle[i].note != before;
        before = p->bundle[i].note;
    }
    return span;
}

/* bundles without a note are anything */
static bool is_collective(const struct op_stat *s, const struct span *span)
{
    return s->note > 0 && s->has_remote_copy && !s->has_matmul && span->first <= span->last;
}

static void add_collective(const struct report_view *v, const struct op_stat *s,
                           const struct span *span, struct communication *out)
{
    struct collective_stat *c = &out->collective[out->count++];

    *c = (struct collective_stat){.op = s, .exposed = s->cycles, .parts = span->parts};
    for (uint32_t i = span->first; i <= span->last; i++)
        c->total += cycles_of(v, i);
    c->hidden = c->total - c->exposed;
    out->exposed += c->exposed;
}

static void sum_up(const struct report_view *v, const bool *is_in_flight,
                   struct communication *out)
{
    for (uint32_t i = 0; i < v->ops_program->bundle_count; i++)
        if (is_in_flight[i])
            out->total += cycles_of(v, i);
    out->hidden = out->total - out->exposed;
}

void communication_of_launch(const struct report_view *v, struct arena *a,
                             struct communication *out)
{
    struct op_stat *stat;
    struct span *span;
    bool *is_in_flight;
    size_t count;

    *out = (struct communication){.count = 0};
    if (v->ops_core < 0 || !v->bundle || v->mode == MODE_FUNCTIONAL)
        return;
    stat = op_stats_gather(v, a, &count);
    span = spans_of(v, a);
    is_in_flight = arena_array(a, (size_t)v->ops_program->bundle_count + 1,
                               sizeof(*is_in_flight));
    out->collective = arena_array(a, count + 1, sizeof(*out->collective));
    for (size_t n = 0; n < count; n++)
        if (is_collective(&stat[n], &span[n])) {
            add_collective(v, &stat[n], &span[n], out);
            for (uint32_t i = span[n].first; i <= span[n].last; i++)
                is_in_flight[i] = true;
        }
    sum_up(v, is_in_flight, out);
}

static double core_cycles(const struct report_view *v)
{
    return (double)v->core[v->ops_core]->cycles;
}

void communication_fill_table(const struct report_view *v, struct table *t)
{
    struct communication all;

    communication_of_launch(v, t->arena, &all);
    for (int i = 0; i < all.count; i++) {
        const struct collective_stat *c = &all.collective[i];

        table_add_row(t);
        table_put_text(t, COL_COLLECTIVES_NAME, c->op->name);
        table_put_text(t, COL_COLLECTIVES_CATEGORY, op_stat_category(c->op));
        table_put_int(t, COL_COLLECTIVES_PARTS, c->parts);
        table_put_int(t, COL_COLLECTIVES_TOTAL, c->total);
        table_put_int(t, COL_COLLECTIVES_HIDDEN, c->hidden);
        table_put_int(t, COL_COLLECTIVES_EXPOSED, c->exposed);
        table_put_real(t, COL_COLLECTIVES_EXPOSED_PCT,
                       view_percent((double)c->exposed, (double)c->total));
        table_put_real(t, COL_COLLECTIVES_STEP_PCT,
                       view_percent((double)c->exposed, core_cycles(v)));
        table_put_int(t, COL_COLLECTIVES_WAIT, c->op->dma_stall_cycles);
        table_put_int(t, COL_COLLECTIVES_BYTES, c->op->ici_bytes);
    }
}

static void print_line(const char *name, cycle_t cycles, double all, double step, FILE *to,
                       const char *meaning)
{
    fprintf(to, "  %-10s %15s cycles %6.1f %% %6.1f %%   %s\n", name,
            text_thousands(cycles).text, view_percent((double)cycles, all),
            view_percent((double)cycles, step), meaning);
}

void communication_print(const struct report_view *v, FILE *to)
{
    struct communication all;
    struct arena a;
    struct table t;

    arena_init(&a);
    communication_of_launch(v, &a, &all);
    if (all.count) {
        fprintf(to, "\ncommunication of core %d                   of it  of step\n", v->ops_core);
        print_line("total", all.total, (double)all.total, core_cycles(v), to,
                   "some collective is in flight");
        print_line("hidden", all.hidden, (double)all.total, core_cycles(v), to,
                   "other kernels run meanwhile");
        print_line("exposed", all.exposed, (double)all.total, core_cycles(v), to,
                   "the core carries it out or waits for it");
    }
    if (all.count > 1) {
        table_init(&t, TABLE_COLLECTIVES, &a);
        communication_fill_table(v, &t);
        table_sort(&t, COL_COLLECTIVES_EXPOSED);
        table_truncate(&t, ROWS_MAX);
        fputc('\n', to);
        table_print_text(&t, to);
        if (all.count > ROWS_MAX)
            fprintf(to, "  and %d less exposed ones: see collectives.csv\n",
                    all.count - ROWS_MAX);
    }
    arena_fini(&a);
}
