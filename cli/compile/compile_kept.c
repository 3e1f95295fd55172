/* Prints what --as-is has kept: each unit of the schedule beside its own compiler's estimate. */
#include "cli/compile/compile.h"

#include "base/table.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { COLUMN_UNIT, COLUMN_NAME, COLUMN_OP, COLUMN_KERNELS, COLUMN_THEIRS, COLUMN_PREDICTED,
       COLUMN_SIMULATED, COLUMN_RATIO, COLUMN_WINDOWS, COLUMN_NOTE };

/* what became of one unit; number 0: of what belongs to none */
struct unit_sum {
    int kernels;
    int64_t predicted, simulated;
};

static struct unit_sum *sum_units(const struct module *m, const struct kept_program *k,
                                  const struct compile_times *times)
{
    struct unit_sum *sum = mem_alloc(((size_t)k->unit_count + 1) * sizeof(*sum));

    for (int i = 0; i < m->kernel_count; i++) {
        const struct module_kernel *kernel = &m->kernel[i];
        struct unit_sum *s = &sum[kernel->unit];

        s->kernels++;
        s->predicted += kernel->segment->cost.total_cycles * kernel->times;
        s->simulated += times ? times->kernel_cycles[0][i] : 0;
    }
    return sum;
}

static const char *op_of(const struct kept_unit *u)
{
    return u->kind == KEPT_COPY ? "copy, asynchronous" : u->kind == KEPT_DONE ? "" : u->opcode;
}

/* copies beside kernels, and what needs no work here */
static bool is_shown(const struct kept_unit *u, const struct unit_sum *s)
{
    return s->kernels > 0 || u->estimated_cycles >= 0 || u->note;
}

static void fill(struct table *t, const struct module *m, const struct kept_program *k,
                 const struct compile_times *times)
{
    struct unit_sum *sum = sum_units(m, k, times);

    for (int u = 1; u <= k->unit_count; u++) {
        const struct kept_unit *unit = &k->unit[u];
        int64_t ours = times ? sum[u].simulated : sum[u].predicted;
        bool has_both = unit->estimated_cycles > 0 && sum[u].kernels > 0;

        if (!is_shown(unit, &sum[u]))
            continue;
        TABLE_ROW(t, cell_int(u), cell_text(unit->name), cell_text(op_of(unit)),
                  cell_int(sum[u].kernels),
                  unit->estimated_cycles >= 0 ? cell_int(unit->estimated_cycles) : cell_none(),
                  cell_int(sum[u].predicted), times ? cell_int(sum[u].simulated) : cell_none(),
                  has_both ? cell_real((double)ours / (double)unit->estimated_cycles) : cell_none(),
                  cell_text(unit->windows), cell_text(unit->note));
    }
    if (sum[0].kernels)
        TABLE_ROW(t, cell_none(), cell_text("(between units)"), cell_none(),
                  cell_int(sum[0].kernels), cell_none(), cell_int(sum[0].predicted),
                  times ? cell_int(sum[0].simulated) : cell_none(), cell_none(), cell_none(),
                  cell_text("what loops, results and bitcasts need here"));
    mem_free(sum);
}

static const struct table_field fields[] = {
    {TABLE_SHOWN(INT, "unit", "#"), .width = 4}, {TABLE_SHOWN(TEXT, "name", "unit")},
    {TABLE_SHOWN(TEXT, "opcode", "operation")}, {TABLE_SHOWN(INT, "kernels", NULL)},
    {TABLE_SHOWN(INT, "estimated_cycles", "its compiler"), .width = 12},
    {TABLE_SHOWN(INT, "predicted_cycles", "predicted"), .width = 10},
    {TABLE_SHOWN(INT, "simulated_cycles", "simulated"), .width = 10},
    {TABLE_SHOWN(REAL, "ratio", NULL), .decimals = 2},
    {TABLE_SHOWN(TEXT, "windows", "its windows"), .is_whole_text = true},
    {TABLE_SHOWN(TEXT, "note", "not as it was"), .is_whole_text = true}};

/* units that are kernels, by how many */
struct kept_counts {
    int whole, split, none;             /* units by their kernels: one, several, none */
    int64_t theirs, ours;               /* cycles of units that have an estimate */
    int with_both;
};

static struct kept_counts count(const struct module *m, const struct kept_program *k,
                                const struct compile_times *times)
{
    struct unit_sum *sum = sum_units(m, k, times);
    struct kept_counts c = {0};

    for (int u = 1; u <= k->unit_count; u++) {
        const struct kept_unit *unit = &k->unit[u];

        if (unit->kind != KEPT_KERNEL)
            continue;
        c.whole += sum[u].kernels == 1;
        c.split += sum[u].kernels > 1;
        c.none += sum[u].kernels == 0;
        if (unit->estimated_cycles <= 0 || !sum[u].kernels)
            continue;
        c.theirs += unit->estimated_cycles;
        c.ours += times ? sum[u].simulated : sum[u].predicted;
        c.with_both++;
    }
    mem_free(sum);
    return c;
}

static void print_counts(const struct kept_program *k, const struct kept_counts *c,
                         const struct compile_times *times)
{
    printf("kernels: %d of %d units are one kernel each, %d in pieces, %d need none\n", c->whole,
           c->whole + c->split + c->none, c->split, c->none);
    printf("VMEM: %d of %d arrays lie there as they did; copies: %d of %d run beside kernels\n",
           k->vmem_kept, k->vmem_kept + k->vmem_lost, k->copies_kept,
           k->copies_kept + k->copies_lost);
    printf("layouts: %d of %d arrays that are not row-major are so here\n", k->layouts_kept,
           k->layouts_kept + k->layouts_lost);
    if (k->elided)
        printf("constants: the file leaves out the elements of %d, first %s: they come in as "
               "parameters\n", k->elided, k->first_elided);
    if (k->other_tiles)
        printf("tiles: %d arrays lie in others than here, first %s\n", k->other_tiles,
               k->first_other_tile);
    if (c->with_both)
        printf("cycles of the %d units with an estimate: its compiler %s, %s here %s, ratio %.2f\n",
               c->with_both, text_thousands(c->theirs).text,
               times ? "simulated" : "predicted", text_thousands(c->ours).text,
               (double)c->ours / (double)c->theirs);
}

void compile_print_kept(const struct module *m, const struct kept_program *k,
                        const struct compile_times *times)
{
    struct kept_counts c = count(m, k, times);
    struct table t;

    printf("\nas its compiler left it (cycles of the chip that it was compiled for):\n");
    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    t.indent = "";
    fill(&t, m, k, times);
    table_print_text(&t, stdout);
    table_end(&t);
    print_counts(k, &c, times);
}

void compile_print_kept_json(const struct module *m, const struct kept_program *k,
                             const struct compile_times *times)
{
    struct kept_counts c = count(m, k, times);
    struct table t;
    json_t *root;

    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    fill(&t, m, k, times);
    root = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:o}", "program", m->graph.name,
                     "units_whole", c.whole, "units_in_pieces", c.split, "units_of_no_work",
                     c.none, "vmem_kept", k->vmem_kept, "vmem_lost", k->vmem_lost,
                     "constants_left_out", k->elided, "layouts_kept", k->layouts_kept, "layouts_lost", k->layouts_lost,
                     "copies_kept", k->copies_kept, "copies_lost", k->copies_lost,
                     "other_tiles", k->other_tiles, "estimated_cycles",
                     (json_int_t)c.theirs, "their_cycles_here", (json_int_t)c.ours,
                     "total_cycles", (json_int_t)(times ? times->total_cycles : 0), "units",
                     table_make_json(&t));
    if (root)
        json_dumpf(root, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(root);
    table_end(&t);
}
