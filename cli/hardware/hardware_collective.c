/* Runs the collective of a measured row: on eight devices, or step by step on a whole slice. */
#include "cli/hardware/hardware.h"

#include "base/units.h"
#include "stack/collective/collective_program.h"
#include "stack/collective/collective_steps.h"

enum { MESH_ROWS = 2, MESH_COLUMNS = 4, DEVICES = MESH_ROWS * MESH_COLUMNS };
#define CYCLE_LIMIT 100000000

/* the devices of each group one after the other, as their mesh numbers them */
static void fill_groups(int32_t *core, int group)
{
    for (int i = 0; i < DEVICES; i++)
        core[i] = group == MESH_ROWS ? i % MESH_ROWS * MESH_COLUMNS + i / MESH_ROWS : i;
}

static int run(const struct collective_request *r, const struct slice *slice,
               const struct chip *chip, int64_t *cycles, struct err *e)
{
    static const struct machine_options options = {
        .mode = MODE_TIMING, .thread_count = 1, .cycle_limit = CYCLE_LIMIT};
    struct collective_program *program;
    struct collective_plan *plan;
    struct machine *m;
    struct arena a;
    int status = -1;

    arena_init(&a);
    plan = collective_plan_create(r, &a, e);
    m = plan ? machine_create(slice, chip, &options, e) : NULL;
    program = m ? collective_program_create(plan, m, &a, e) : NULL;
    if (program && collective_program_run(program, e) == 0) {
        *cycles = machine_cycles(m);
        status = 0;
    }
    machine_destroy(m);
    arena_fini(&a);
    return status;
}

static int run_on_slice(const struct hardware_collective *c, const struct chip *chip,
                        const char *chip_name, int64_t *cycles, struct err *e)
{
    struct slice slice;
    struct collective_request r = {.kind = c->kind, .type = c->type, .slice = &slice,
                                   .chip = chip};
    struct collective_result result;
    struct collective_plan *plan;
    struct arena a;
    char name[32];
    int status = -1;

    snprintf(name, sizeof(name), "%s-%d", chip_name, c->cores);
    if (slice_parse(&slice, name, e))
        return -1;
    for (int i = 0; i < slice.dims; i++)
        r.axis[i] = true;
    r.bytes = round_up(c->bytes, (int64_t)slice.core_count * ARRAY_ROW_BYTES);
    arena_init(&a);
    plan = collective_plan_create(&r, &a, e);
    if (plan && collective_steps_run(plan, &(struct collective_steps_options){0}, &result, e) == 0) {
        *cycles = (int64_t)((double)result.time_ps * (double)chip->chip_clock_mhz * 1e-6);
        status = 0;
    }
    arena_fini(&a);
    return status;
}

static int run_on_mesh(const struct hardware_collective *c, const struct chip *chip,
                       const char *chip_name, int64_t *cycles, struct err *e)
{
    int32_t core[DEVICES];
    struct slice slice;
    char name[32];
    struct collective_request r = {
        .kind = c->kind, .type = c->type, .slice = &slice, .chip = chip, .group = core,
        .group_count = DEVICES / c->group, .group_size = c->group,
        .bytes = c->bytes * (c->kind == COLLECTIVE_ALL_GATHER ? c->group : 1)};

    snprintf(name, sizeof(name), "%s-%d", chip_name, DEVICES / (int)chip->chip_cores);
    if (slice_parse(&slice, name, e))
        return -1;
    fill_groups(core, c->group);
    collective_find_axes(&r, false);
    return run(&r, &slice, chip, cycles, e);
}

int hardware_simulate_collective(const struct hardware_row *row, const struct chip *chip,
                                 const char *chip_name, int64_t *cycles, struct err *e)
{
    const struct hardware_collective *c = &row->collective;

    return c->cores ? run_on_slice(c, chip, chip_name, cycles, e)
                    : run_on_mesh(c, chip, chip_name, cycles, e);
}
