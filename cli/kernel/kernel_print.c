/* What one kernel took, as tables: text, or JSON. */
#include "cli/kernel/kernel.h"

#include <stdarg.h>
#include <string.h>

#include "base/outfile.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/utilization.h"

#define LINES_SHOWN 20
#define BUFFERS_SHOWN 24

static int64_t cycles_of(const struct kernel_timed *t)
{
    return t->view.cycles;
}

static double us_of(const struct kernel_timed *t)
{
    return (double)cycles_of(t) / (double)t->chip->chip_clock_mhz;
}

/* ----- VMEM */

static const struct table_field vmem_fields[] = {
    {TABLE_SHOWN(TEXT, "buffer", "VMEM"), .width = 22},
    {TABLE_SHOWN(TEXT, "kind", NULL), .width = 8},
    {TABLE_SHOWN(INT, "copies", NULL)},
    {TABLE_SHOWN(INT, "each_bytes", "bytes each"), .width = 12},
    {TABLE_SHOWN(INT, "bytes", NULL), .width = 12},
    {TABLE_SHOWN(TEXT, "of", "line"), .is_whole_text = true}, {0}};

static const char *kind_name(enum kernel_buffer_kind kind)
{
    static const char *const names[] = {"window", "scratch", "vector", "spills"};

    return names[kind];
}

static const char *place_text(const struct kernel_timed *t, int number, struct arena *a)
{
    struct mosaic_place p = kernel_place(t->found->kernel, number);
    const char *slash = p.file ? strrchr(p.file, '/') : NULL;

    return p.file ? arena_printf(a, "%s:%d", slash ? slash + 1 : p.file, p.line) : "";
}

static void add_buffer(struct table *to, const struct kernel_timed *t,
                       const struct kernel_buffer *b, struct arena *a)
{
    int64_t bytes = b->rows * ARRAY_ROW_BYTES;

    TABLE_ROW(to, cell_text(b->name), cell_text(kind_name(b->kind)), cell_int(b->copies),
              cell_int(bytes / b->copies), cell_int(bytes), cell_text(place_text(t, b->origin, a)));
}

/* Windows and scratch buffers; vectors that lie in memory for a while share what is left. */
static void list_vmem(const struct kernel_timed *t, struct table *to, struct arena *a)
{
    const struct segment *s = t->segment;
    int64_t kept = 0, peak = s->cost.vmem_rows;

    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffer[i].kind != BUFFER_VECTOR) {
            add_buffer(to, t, &s->buffer[i], a);
            kept += s->buffer[i].rows;
        }
    if (peak > kept)
        TABLE_ROW(to, cell_text("values of the kernel"), cell_text("vectors"), cell_int(1),
                  cell_int((peak - kept) * ARRAY_ROW_BYTES),
                  cell_int((peak - kept) * ARRAY_ROW_BYTES),
                  cell_text("those that stand in memory, and room for spilled registers"));
}

static int64_t vmem_bytes(const struct kernel_timed *t)
{
    return t->segment->cost.vmem_rows * ARRAY_ROW_BYTES;
}

static void print_vmem(const struct kernel_timed *t, struct arena *a)
{
    const struct mosaic_kernel *k = t->found->kernel;
    struct table table;

    table_begin(&table, vmem_fields, a);
    list_vmem(t, &table, a);
    table_print_text(&table, stdout);
    printf("together %s KiB = %.1f %% of the %s KiB of a core", 
           text_thousands(vmem_bytes(t) / 1024).text,
           100.0 * (double)vmem_bytes(t) / (double)t->chip->vmem_bytes,
           text_thousands(t->chip->vmem_bytes / 1024).text);
    if (k->vmem_limit_bytes)
        printf(", %.1f %% of the scoped limit of %s KiB\n\n",
               100.0 * (double)vmem_bytes(t) / (double)k->vmem_limit_bytes,
               text_thousands(k->vmem_limit_bytes / 1024).text);
    else
        printf("; the program sets no scoped limit\n\n");
}

/* ----- units */

static const struct table_field unit_fields[] = {
    {TABLE_SHOWN(TEXT, "unit", "Units"), .width = 8},
    {TABLE_SHOWN(INT, "operations", NULL), .width = 12},
    {TABLE_SHOWN(INT, "busy_cycles", "cycles busy"), .width = 12},
    {TABLE_SHOWN(REAL, "busy_percent", "of all"), .decimals = 1, .suffix = " %"}, {0}};

static void list_units(const struct kernel_timed *t, struct table *to)
{
    const struct core_counters *c = t->view.core[t->view.ops_core];

    for (int i = 0; i < c->unit_count; i++)
        if (c->unit[i].op_count)
            TABLE_ROW(to, cell_text(c->unit[i].name), cell_int(c->unit[i].op_count),
                      cell_int(c->unit[i].busy_cycles),
                      cell_real(view_percent((double)c->unit[i].busy_cycles, (double)c->cycles)));
}

/* ----- what it was said to cost */

static const struct table_field cost_fields[] = {
    {TABLE_SHOWN(TEXT, "what", "Cost"), .width = 16},
    {TABLE_SHOWN(INT, "estimate", "as estimated"), .width = 16},
    {TABLE_SHOWN(INT, "done", "as it ran"), .width = 16},
    {TABLE_SHOWN(REAL, "ratio", NULL), .decimals = 2}, {0}};

static void add_cost(struct table *to, const char *what, int64_t said, int64_t done)
{
    TABLE_ROW(to, cell_text(what), said ? cell_int(said) : cell_none(), cell_int(done),
              said ? cell_real((double)done / (double)said) : cell_none());
}

static int64_t sum_bytes(const struct kernel_timed *t)
{
    int64_t bytes = 0;

    for (int i = 0; i < t->view.core_count; i++)
        bytes += t->view.core[i]->hbm_read_bytes + t->view.core[i]->hbm_write_bytes;
    return bytes;
}

/* elements that the transcendental unit was asked for */
static int64_t sum_transcendentals(const struct kernel_timed *t)
{
    int64_t count = 0;

    for (int i = 0; i < t->view.core_count; i++)
        for (int u = 0; u < t->view.core[i]->unit_count; u++)
            if (!strcmp(t->view.core[i]->unit[u].name, "eup"))
                count += t->view.core[i]->unit[u].op_count;
    return count * 1024;
}

static int64_t sum_flops(const struct kernel_timed *t)
{
    int64_t flops = 0;

    for (int i = 0; i < t->view.core_count; i++)
        flops += t->view.core[i]->matmul_flops;
    return flops;
}

static void list_cost(const struct kernel_timed *t, struct table *to)
{
    const struct mosaic_cost *c = &t->found->kernel->cost;

    add_cost(to, "flops", c->flops, sum_flops(t));
    add_cost(to, "bytes accessed", c->bytes, sum_bytes(t));
    add_cost(to, "transcendentals", c->transcendentals, sum_transcendentals(t));
}

/* ----- lines */

static const struct table_field line_fields[] = {
    {TABLE_SHOWN(TEXT, "place", "Line"), .width = 24},
    {TABLE_SHOWN(REAL, "cycles", NULL), .decimals = TABLE_WHOLE, .width = 10},
    {TABLE_SHOWN(REAL, "share_percent", "of all"), .decimals = 1, .suffix = " %"},
    {TABLE_SHOWN(REAL, "issued", NULL), .decimals = TABLE_WHOLE},
    {TABLE_SHOWN(REAL, "waited", NULL), .decimals = TABLE_WHOLE},
    {TABLE_SHOWN(TEXT, "reasons", "most of it for"), .width = 26},
    {TABLE_SHOWN(TEXT, "text", "source"), .is_whole_text = true},
    {TABLE_HIDDEN(TEXT, "file")}, {TABLE_HIDDEN(INT, "line")}, {TABLE_HIDDEN(REAL, "hbm_bytes")},
    {0}};

/* the two reasons that it waited for most */
static const char *reasons_of(const struct kernel_line *l, struct arena *a)
{
    int first = 0, second = -1;

    for (int r = 1; r < STALL_COUNT; r++)
        if (l->sums.stall[r] > l->sums.stall[first])
            first = r;
    for (int r = 0; r < STALL_COUNT; r++)
        if (r != first && (second < 0 || l->sums.stall[r] > l->sums.stall[second]))
            second = r;
    if (l->sums.stall[first] < 0.5)
        return "";
    if (l->sums.stall[second] < 0.5 || l->sums.stall[second] * 5 < l->sums.stall[first])
        return stall_name((enum stall_reason)first);
    return arena_printf(a, "%s, %s", stall_name((enum stall_reason)first),
                        stall_name((enum stall_reason)second));
}

static void list_lines(const struct kernel_timed *t, struct table *to, struct arena *a)
{
    for (int i = 0; i < t->lines.count; i++) {
        const struct kernel_line *l = &t->lines.line[i];
        const char *slash = l->file ? strrchr(l->file, '/') : NULL;
        const char *name = !l->file ? "(none)"
                           : arena_printf(a, "%s:%d", slash ? slash + 1 : l->file, l->line);

        TABLE_ROW(to, cell_text(name), cell_real(l->sums.issued + l->sums.waited),
                  cell_real(view_percent(l->sums.issued + l->sums.waited, (double)cycles_of(t))),
                  cell_real(l->sums.issued), cell_real(l->sums.waited), cell_text(reasons_of(l, a)),
                  cell_text(l->text), cell_text(l->file), cell_int(l->line), cell_real(l->sums.bytes));
    }
}

static void print_lines(const struct kernel_timed *t, struct arena *a)
{
    struct table table;
    size_t all;

    table_begin(&table, line_fields, a);
    list_lines(t, &table, a);
    all = table.row_count;
    table_truncate(&table, LINES_SHOWN);
    table_print_text(&table, stdout);
    if (all > LINES_SHOWN)
        printf("and %zu other lines (--json has all)\n", all - LINES_SHOWN);
}

/* ----- all of it */

static const char *semantics_name(enum mosaic_semantics s)
{
    static const char *const names[] = {"arbitrary", "parallel", "core_parallel",
                                        "subcore_parallel"};

    return names[s];
}

static void print_head(const struct kernel_timed *t)
{
    const struct mosaic_kernel *k = t->found->kernel;

    printf("kernel %s%s%s on ", k->name, *t->found->source ? ", " : "", t->found->source);
    if (t->found->devices > 1)
        printf("%d devices of %s\n", t->found->devices, t->chip->chip_name);
    else
        printf("%s of %s\n", t->module->core_count > 1 ? "both cores (megacore)" : "one core",
               t->chip->chip_name);
    for (int i = 0; i < k->grid_rank; i++)
        printf("%s%lld %s", i ? ", " : "grid: ", (long long)kernel_bound(k, i),
               semantics_name(k->semantics[i]));
    printf("%s%u bundles, serialization %d\n\n", k->grid_rank ? "; " : "no grid; ",
           t->view.ops_program->bundle_count, k->version);
}

static void print_time(const struct kernel_timed *t)
{
    struct utilization u;

    utilization_find(&t->view, &u);
    printf("%s cycles = %.2f us at %lld MHz", text_thousands(cycles_of(t)).text, us_of(t),
           (long long)t->chip->chip_clock_mhz);
    if (t->steps > 1)
        printf(", %s a step of the grid", text_thousands(cycles_of(t) / t->steps).text);
    printf("\n  MXU: %.2f TFLOP/s = %.1f %% of the peak of %.1f\n", u.mxu_rate,
           utilization_mxu_percent(&u), u.mxu_peak);
    printf("  HBM: %.1f GB/s = %.1f %% of the peak of %.0f\n\n", u.hbm_rate * 1e-9,
           utilization_hbm_percent(&u), u.hbm_peak * 1e-9);
}

void kernel_print(const struct kernel_request *r, const struct kernel_timed *t, struct arena *a)
{
    struct table table;

    print_head(t);
    if (r->exec.run.engine.mode != MODE_FUNCTIONAL)
        print_time(t);
    print_vmem(t, a);
    table_begin(&table, unit_fields, a);
    list_units(t, &table);
    table_print_text(&table, stdout);
    printf("\n");
    table_begin(&table, cost_fields, a);
    list_cost(t, &table);
    table_print_text(&table, stdout);
    printf("\n");
    print_lines(t, a);
}

/* ----- JSON */

static json_t *table_json(const struct kernel_timed *t, const struct table_field *fields,
                          void (*list)(const struct kernel_timed *t, struct table *to,
                                       struct arena *a), struct arena *a)
{
    struct table table;

    table_begin(&table, fields, a);
    list(t, &table, a);
    return table_make_json(&table);
}

static void list_units_in(const struct kernel_timed *t, struct table *to, struct arena *a)
{
    (void)a;
    list_units(t, to);
}

static void list_cost_in(const struct kernel_timed *t, struct table *to, struct arena *a)
{
    (void)a;
    list_cost(t, to);
}

int kernel_write_json(const struct kernel_request *r, const struct kernel_timed *t, struct arena *a,
                      struct err *e)
{
    const struct mosaic_kernel *k = t->found->kernel;
    struct utilization u;
    struct outfile f;
    json_t *root, *grid = json_array();

    utilization_find(&t->view, &u);
    for (int i = 0; i < k->grid_rank; i++)
        json_array_append_new(grid, json_integer(kernel_bound(k, i)));
    root = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:f, s:i, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "kernel", k->name,
        "source", t->found->source, "chip", r->exec.run.target.tpu, "grid", grid, "cycles",
        (json_int_t)cycles_of(t), "us", us_of(t), "bundles",
        (int)t->view.ops_program->bundle_count, "mxu_tflops", u.mxu_rate, "mxu_percent",
        utilization_mxu_percent(&u), "hbm_gbps", u.hbm_rate * 1e-9, "hbm_percent",
        utilization_hbm_percent(&u), "vmem_bytes", (json_int_t)vmem_bytes(t), "vmem_core_bytes",
        (json_int_t)t->chip->vmem_bytes, "vmem_limit_bytes", (json_int_t)k->vmem_limit_bytes);
    json_object_set_new(root, "vmem", table_json(t, vmem_fields, list_vmem, a));
    json_object_set_new(root, "units", table_json(t, unit_fields, list_units_in, a));
    json_object_set_new(root, "cost", table_json(t, cost_fields, list_cost_in, a));
    json_object_set_new(root, "lines", table_json(t, line_fields, list_lines, a));
    if (outfile_begin(&f, r->json, e)) {
        json_decref(root);
        return -1;
    }
    json_dumpf(root, f.to, JSON_INDENT(1));
    fputc('\n', f.to);
    json_decref(root);
    return outfile_commit(&f, e);
}
