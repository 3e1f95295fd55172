/*
 * Builds the machine that the command line describes, or restores one from a snapshot, and loads
 * its program.
 */
#include "cli/common/run_setup.h"

#include "cli/common/fail.h"
#include "cli/common/engine_options.h"
#include "cli/common/hbm_data.h"
#include "cli/common/program.h"
#include "stack/backend/abi.h"
#include "stack/collective/ring.h"

#define LIMIT_MAX (INT64_MAX / 4)
#define LIMIT_DEFAULT 10000000000
#define LIMIT_DEFAULT_LISTING 1000000000

const char run_default_tpu[] = "v3";

bool run_options_has_tpu(const struct run_options *o)
{
    return o->target.tpu != run_default_tpu;
}

#define AT(member) CLI_AT(struct run_options, member)

static const struct cli_option rows[] = {
    {"all-cores", 0, NULL,
     "run the program on every core of the slice, with its place in the ring in SMEM words "
     "0, 4, 8, 12 (number, count, next core, previous core); default: on core 0 alone", 1,
     CLI_FLAG, AT(all_cores)},
    {"hbm", 0, "ADDR=FILE",
     "before the run, put a file into HBM at byte ADDR: a .npy of f32 or s32 (two dimensions "
     "as 8x128 tiles), any other file as it is", 2, CLI_LIST, AT(load)},
    {"from-dump", 0, "FILE",
     "run a listing of final bundles that the XLA:TPU compiler dumped, instead of PROGRAM", 3,
     CLI_TEXT, AT(from.path)},
    {"operand", 0, "N=FILE", "put a .npy into operand N of the listing (default: generated values)",
     3, CLI_LIST, AT(from.operand)},
    {"operand-seed", 0, "N", "of the generated values (default: %s)", 3, CLI_WHOLE, AT(from.seed),
     .hi = INT32_MAX},
    {"cycle-limit", 0, "N", "stop a program that runs longer (default: 10^10, a listing: 10^9)", 4,
     CLI_WHOLE, AT(limit), .lo = 1, .hi = LIMIT_MAX},
    {"resume", 0, "FILE", "go on from a snapshot, instead of PROGRAM", 4, CLI_TEXT, AT(resume)},
    {0}};

/* a listing is one core's kernel, and some options are for listings alone */
static int check(void *values, struct err *e)
{
    const struct run_options *o = values;

    if (o->resume && (o->program || run_options_has_tpu(o) || o->all_cores || o->target.set.count
                      || o->load.count || o->from.path))
        return err_set(e, "--resume goes with neither PROGRAM, --tpu, --set, --all-cores, --hbm "
                       "nor --from-dump: the snapshot holds what they say");
    if (o->from.path && (o->program || o->all_cores))
        return err_set(e, "--from-dump goes with neither PROGRAM nor --all-cores");
    if (!o->from.path
        && (o->from.operand.count || o->from.result.count || o->from.utilization))
        return err_set(e, "--operand, --result and --utilization go with --from-dump");
    if (!o->program && !o->from.path && !o->resume)
        return err_set(e, "which program?");
    return 0;
}

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct run_options, target)},
    {&cli_engine_options, offsetof(struct run_options, engine)},
    {&cli_unwritten_options, offsetof(struct run_options, engine)}, {0}};

const struct cli_options cli_run_options = {rows, parts, check};

const char *run_setup_title(const struct run_setup *s)
{
    const struct run_options *o = s->options;

    if (o->resume)
        return s->snapshot.title;
    return o->from.path ? o->from.path : o->program;
}

static int read_snapshot(struct run_setup *s)
{
    const char *path = s->options->resume;
    struct err e;

    if (snapshot_read(path, &s->arena, &s->snapshot, &e) == 0) {
        if (s->snapshot.program_count > 0) {
            s->program = s->snapshot.program[0];
            return 0;
        }
        err_at(&e, path, 0, 0, "the snapshot has no program");
    }
    s->is_told = true;
    cli_fail(&e);
    return -1;
}

static int open_snapshot(struct run_setup *s, struct err *e)
{
    struct machine_options mo = s->options->engine;

    mo.cycle_limit = s->options->limit;
    s->m = snapshot_open(&s->snapshot, &mo, e);
    if (s->m)
        return 0;
    snprintf(e->file, sizeof(e->file), "%s", s->options->resume);
    return -1;
}

int run_setup_read(struct run_setup *s, const struct run_options *options)
{
    *s = (struct run_setup){.options = options};
    arena_init(&s->arena);
    if (options->resume)
        return read_snapshot(s);
    if (options->from.path || cli_load_program(options->program, &s->arena, &s->program) == 0)
        return 0;
    s->is_told = true;
    return -1;
}

int run_setup_open(struct run_setup *s, struct err *e)
{
    const struct run_options *o = s->options;
    struct machine_options mo = o->engine;
    struct slice slice;
    struct chip chip;

    if (o->resume)
        return open_snapshot(s, e);
    mo.cycle_limit = o->limit ? o->limit : o->from.path ? LIMIT_DEFAULT_LISTING : LIMIT_DEFAULT;
    s->chip_origins = arena_array(&s->arena, chip_param_count, sizeof(*s->chip_origins));
    if (cli_load_slice(&o->target, &slice, &chip, s->chip_origins, &s->arena, e))
        return -1;
    s->m = machine_create(&slice, &chip, &mo, e);
    if (!s->m)
        return -1;
    s->last_core = o->all_cores ? machine_core_count(s->m) - 1 : 0;
    return 0;
}

/* what a program reads about its place among the others */
static int write_places(struct run_setup *s, struct err *e)
{
    struct slice slice = *machine_slice(s->m);
    int count = s->last_core + 1;
    int *core;

    slice.core_count = machine_core_count(s->m);
    core = arena_array(&s->arena, (size_t)slice.core_count, sizeof(*core));
    if (s->options->all_cores)
        ring_order(&slice, core);
    for (int i = 0; i < count; i++) {
        int32_t word[SMEM_ABI_BYTES / 4] = {
            [SMEM_REPLICA / 4] = i, [SMEM_REPLICA_COUNT / 4] = count,
            [SMEM_RING_NEXT / 4] = core[(i + 1) % count],
            [SMEM_RING_PREVIOUS / 4] = core[(i + count - 1) % count]};

        if (machine_smem_write(s->m, core[i], 0, word, sizeof(word), e))
            return -1;
    }
    return 0;
}

static int load_program(struct run_setup *s, struct err *e)
{
    if (s->options->from.path) {
        if (from_dump_prepare(&s->dump, &s->options->from, s->m, &s->arena, &s->is_told, e))
            return -1;
        s->program = s->dump.listing.program;
        return 0;
    }
    if (write_places(s, e))
        return -1;
    for (int i = 0; i <= s->last_core; i++)
        if (machine_load(s->m, i, &s->program, e))
            return cli_add_chip(&s->options->target, e);
    return 0;
}

int run_setup_load(struct run_setup *s, struct err *e)
{
    const struct cli_list *load = &s->options->load;

    if (s->options->resume)
        return 0;
    if (load_program(s, e))
        return -1;
    for (int i = 0; i < load->count; i++)
        if (hbm_data_load(s->m, 0, s->last_core, load->item[i], e))
            return -1;
    return 0;
}

void run_setup_fini(struct run_setup *s)
{
    machine_destroy(s->m);
    arena_fini(&s->arena);
}
