/* Times an attention kernel as a program by itself, on a machine in timing mode. */
#include "stack/kernels/misc/attention.h"

#include "sim/machine/machine.h"
#include "stack/module/link.h"

static void make_job(struct kernel_job *job, const struct chip *chip)
{
    *job = (struct kernel_job){
        .chip = chip, .name = "attention", .source = "attention", .first_flag = 2,
        .flag_count = 16, .vmem_rows = chip->vmem_bytes / ARRAY_ROW_BYTES,
        .smem = LINK_SMEM_END, .smem_bytes = chip->smem_bytes - LINK_SMEM_END, .core_count = 1};
}

static int run_in_time(const struct attention *p, const struct slice *slice,
                       const struct chip *chip, const struct isa_program *program,
                       double *ns, struct err *e)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    int64_t entries = attention_table_entries(p);
    struct machine *m;
    int32_t *table;
    int status;

    m = machine_create(slice, chip, &options, e);
    if (!m)
        return -1;
    table = mem_alloc((size_t)(entries + 1) * sizeof(*table));
    if (entries)
        attention_fill_table(p, table);
    status = entries ? machine_hbm_write(m, 0, p->table, table, entries * 4, e) : 0;
    if (!status)
        status = machine_load(m, 0, program, e);
    if (!status)
        status = machine_run(m, e);
    *ns = (double)machine_cycles(m) * 1000 / (double)chip->chip_clock_mhz;
    mem_free(table);
    machine_destroy(m);
    return status;
}

int attention_time(const struct attention *p, const struct slice *slice,
                   const struct chip *chip, double *ns, struct err *e)
{
    struct attention planned = *p;
    struct kernel_job job;
    struct segment segment;
    struct link_item item = {.kind = LINK_SEGMENT, .segment = &segment, .note = "attention"};
    struct link_result linked;
    struct arena a;
    int64_t end;
    int status;

    arena_init(&a);
    make_job(&job, chip);
    status = attention_plan(&planned, chip, 0, &end, e);
    if (!status)
        status = attention_emit(&planned, &job, &a, &segment, e);
    if (!status)
        status = link_program(&item, 1, chip, "attention", &a, &linked, e);
    if (!status)
        status = run_in_time(&planned, slice, chip, &linked.program, ns, e);
    arena_fini(&a);
    return status;
}
