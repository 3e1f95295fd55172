/* Fills the tables of a launch's energy, and prints it as a few lines of the report. */
#include "report/tables/energy_table.h"

#define NAME_CHARS 24
#define OPS_SHOWN 4                     /* source operations in the report */

static double to_uj(int64_t fj) { return (double)fj * 1e-9; }

double energy_average_w(const struct report_view *v, int64_t fj)
{
    double seconds = view_seconds(v);

    return seconds > 0.0 && v->active_chip_count > 0
               ? (double)fj * 1e-15 / seconds / v->active_chip_count : 0.0;
}

static void add_component(const struct report_view *v, const char *name, int64_t fj,
                          const char *meaning, struct table *t)
{
    table_add_row(t);
    table_put_text(t, COL_ENERGY_COMPONENT, name);
    table_put_int(t, COL_ENERGY_FJ, fj);
    table_put_real(t, COL_ENERGY_UJ, to_uj(fj));
    table_put_real(t, COL_ENERGY_SHARE, view_percent((double)fj,
                                                     (double)energy_total_fj(v->energy)));
    table_put_real(t, COL_ENERGY_POWER, energy_average_w(v, fj));
    table_put_text(t, COL_ENERGY_MEANING, meaning);
}

void energy_fill_table(const struct report_view *v, struct table *t)
{
    if (!v->energy)
        return;
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++) {
        enum energy_component c = (enum energy_component)i;

        add_component(v, energy_component_key(c), v->energy->fj[i], energy_component_meaning(c),
                      t);
    }
    add_component(v, "total", energy_total_fj(v->energy), "the sum of the components", t);
}

/* ---- by source operation, of one core ---- */

/* of a core's share of its copies: payload, one hop */
static struct energy *gather_ops(const struct report_view *v, struct arena *a)
{
    const struct isa_program *p = v->ops_program;
    struct energy *by_note = arena_array(a, (size_t)p->note_count + 1, sizeof(*by_note));

    for (uint32_t b = 0; b < p->bundle_count; b++) {
        const struct view_bundle *done = &v->bundle[b];
        struct energy *sum = &by_note[p->bundle[b].note];

        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            const struct isa_op *op = &p->op[p->bundle[b].first_op + i];
            int64_t executed = v->executed[p->bundle[b].first_op + i];
            struct energy one;

            if (executed == 0)
                continue;
            one = energy_of_op(v->energy_costs, v->chip, op);
            energy_add(&one, executed, sum);
        }
        energy_add_fetch(v->energy_costs, done->count, sum);
        energy_add_copies(v->energy_costs, done->copies.hbm_bytes + done->copies.ici_bytes, 0,
                          done->copies.hbm_bytes, done->copies.ici_bytes, sum);
    }
    return by_note;
}

static int64_t sum_of(const struct energy *e, int first, int last)
{
    int64_t sum = 0;

    for (int i = first; i <= last; i++)
        sum += e->fj[i];
    return sum;
}

static void add_op(const char *name, const struct energy *e, int64_t all_fj, struct table *t)
{
    int64_t total = energy_total_fj(e);

    table_add_row(t);
    table_put_text(t, COL_ENERGY_OPS_SOURCE, name);
    table_put_int(t, COL_ENERGY_OPS_FJ, total);
    table_put_real(t, COL_ENERGY_OPS_UJ, to_uj(total));
    table_put_real(t, COL_ENERGY_OPS_SHARE, view_percent((double)total, (double)all_fj));
    table_put_int(t, COL_ENERGY_OPS_MXU, sum_of(e, ENERGY_OF_MXU_BF16, ENERGY_OF_MXU_DATA));
    table_put_int(t, COL_ENERGY_OPS_VECTOR, sum_of(e, ENERGY_OF_VPU, ENERGY_OF_VREG));
    table_put_int(t, COL_ENERGY_OPS_VMEM, sum_of(e, ENERGY_OF_VMEM, ENERGY_OF_CMEM));
    table_put_int(t, COL_ENERGY_OPS_SCALAR, sum_of(e, ENERGY_OF_SCALAR, ENERGY_OF_FETCH));
    table_put_int(t, COL_ENERGY_OPS_HBM, e->fj[ENERGY_OF_HBM]);
    table_put_int(t, COL_ENERGY_OPS_ICI, e->fj[ENERGY_OF_ICI]);
}

void energy_fill_ops(const struct report_view *v, struct table *t)
{
    struct energy *by_note;
    struct arena a;
    int64_t all_fj = 0;

    if (!v->energy || v->ops_core < 0)
        return;
    arena_init(&a);
    by_note = gather_ops(v, &a);
    for (uint32_t n = 0; n <= v->ops_program->note_count; n++)
        all_fj += energy_total_fj(&by_note[n]);
    for (uint32_t n = 0; n <= v->ops_program->note_count; n++)
        if (energy_total_fj(&by_note[n]) > 0)
            add_op(n ? v->ops_program->note[n - 1] : "(none)", &by_note[n], all_fj, t);
    table_sort(t, COL_ENERGY_OPS_FJ);
    arena_fini(&a);
}

/* ---- report.txt ---- */

static void print_component(const struct report_view *v, const char *name, int64_t fj, FILE *to)
{
    fprintf(to, "  %-*s %14.4f %9.1f %% %12.4f\n", NAME_CHARS, name, to_uj(fj),
            view_percent((double)fj, (double)energy_total_fj(v->energy)),
            energy_average_w(v, fj));
}

/* the largest first; insertion keeps equal ones in their order */
static void rank(const struct energy *e, int order[ENERGY_COMPONENT_COUNT])
{
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++) {
        int at = i;

        for (; at > 0 && e->fj[order[at - 1]] < e->fj[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void print_beside(const struct report_view *v, FILE *to)
{
    const struct energy_costs *c = v->energy_costs;

    fprintf(to, "  %.3f uJ in %.3f us: %.2f W per chip on average",
            to_uj(energy_total_fj(v->energy)), view_seconds(v) * 1e6,
            energy_average_w(v, energy_total_fj(v->energy)));
    if (c->tdp_w > 0.0)
        fprintf(to, ", beside %.0f W of TDP", c->tdp_w);
    fprintf(to, "\n");
    if (*c->measured)
        fprintf(to, "  a real chip was measured at %s\n", c->measured);
    fprintf(to, "  without leakage, clocks, idle links, refresh and supply; good to a factor of "
            "two (docs/energy.md)\n");
}

/* the largest of energy_ops.csv in a line */
static void print_ops(const struct report_view *v, FILE *to)
{
    struct arena a;
    struct table ops;

    arena_init(&a);
    table_init(&ops, TABLE_ENERGY_OPS, &a);
    energy_fill_ops(v, &ops);
    if (ops.row_count > 1)
        fprintf(to, "  most of core %d's: ", v->ops_core);
    for (size_t i = 0; ops.row_count > 1 && i < OPS_SHOWN && i < ops.row_count; i++)
        fprintf(to, "%s%s %.1f %%", i ? ", " : "",
                table_text(&ops, i, COL_ENERGY_OPS_SOURCE),
                table_real(&ops, i, COL_ENERGY_OPS_SHARE));
    if (ops.row_count > 1)
        fprintf(to, " (energy_ops.csv)\n");
    arena_fini(&a);
}

void energy_print(const struct report_view *v, FILE *to)
{
    int order[ENERGY_COMPONENT_COUNT];
    char heading[64];

    if (!v->energy)
        return;
    rank(v->energy, order);
    snprintf(heading, sizeof(heading), "energy, %g nm%s", v->energy_costs->node_nm,
             v->energy_costs->is_node_assumed ? " (assumed)" : "");
    fprintf(to, "\n%-*s %14s %11s %12s\n", NAME_CHARS + 2, heading, "uJ", "of total", "W per chip");
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++)
        if (v->energy->fj[order[i]] > 0)
            print_component(v, energy_component_name((enum energy_component)order[i]),
                            v->energy->fj[order[i]], to);
    print_component(v, "total", energy_total_fj(v->energy), to);
    print_ops(v, to);
    print_beside(v, to);
}
