/*
 * Builds the machine that the command line describes, or restores one from a snapshot, and loads
 * its program.
 */
#include "cli/common/run_setup.h"

#include "base/text.h"
#include "cli/common/fail.h"
#include "cli/common/engine_options.h"
#include "cli/common/hbm_data.h"
#include "cli/common/program.h"
#include "stack/backend/abi.h"
#include "stack/collective/ring.h"

#define LIMIT_MAX (INT64_MAX / 4)
#define LIMIT_DEFAULT 10000000000
#define LIMIT_DEFAULT_LISTING 1000000000

static const char default_tpu[] = "v3";

bool run_options_has_tpu(const struct run_options *o)
{
    return o->tpu != default_tpu;
}

enum { KEY_ALL = 512, KEY_HBM, KEY_SET, KEY_LIMIT, KEY_FROM, KEY_OPERAND, KEY_SEED };

static const struct argp_option list[] = {
    {"tpu", 't', "NAME", 0, "chip or slice to run on (default: v3)", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"all-cores", KEY_ALL, NULL, 0,
     "run the program on every core of the slice, with its place in the ring in SMEM words "
     "0, 4, 8, 12 (number, count, next core, previous core); default: on core 0 alone", 1},
    {"hbm", KEY_HBM, "ADDR=FILE", 0,
     "before the run, put a file into HBM at byte ADDR: a .npy of f32 or s32 (two dimensions "
     "as 8x128 tiles), any other file as it is", 2},
    {"from-dump", KEY_FROM, "FILE", 0,
     "run a listing of final bundles that the XLA:TPU compiler dumped, instead of PROGRAM", 3},
    {"operand", KEY_OPERAND, "N=FILE", 0,
     "put a .npy into operand N of the listing (default: generated values)", 3},
    {"operand-seed", KEY_SEED, "N", 0, "seed of the generated values (default: 1)", 3},
    {"cycle-limit", KEY_LIMIT, "N", 0,
     "stop a program that runs longer (default: 10^10, a listing: 10^9)", 4},
    {0}};

/* a listing is one core's kernel, and some options are for listings alone */
static void check_together(const struct run_options *o, struct argp_state *state)
{
    if (o->resume && (o->program || o->tpu || o->all_cores || o->set.count || o->load.count
                      || o->from.path))
        argp_error(state, "--resume goes with neither PROGRAM, --tpu, --set, --all-cores, --hbm "
                   "nor --from-dump: the snapshot holds what they say");
    if (o->from.path && (o->program || o->all_cores))
        argp_error(state, "--from-dump goes with neither PROGRAM nor --all-cores");
    if (!o->from.path
        && (o->from.operand.count || o->from.result.count || o->from.utilization))
        argp_error(state, "--operand, --result and --utilization go with --from-dump");
}

static int64_t whole_number(const char *option, const char *arg, int64_t lo, int64_t hi,
                            struct argp_state *state)
{
    int64_t value = lo;

    if (text_parse_int(arg, lo, hi, &value) != 0)
        argp_error(state, "%s is \"%s\", allowed are whole numbers in %lld..%lld", option, arg,
                   (long long)lo, (long long)hi);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct run_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->engine;
        return 0;
    case 't': o->tpu = arg; return 0;
    case KEY_ALL: o->all_cores = true; return 0;
    case KEY_SET: cli_list_add(&o->set, arg, state); return 0;
    case KEY_HBM: cli_list_add(&o->load, arg, state); return 0;
    case KEY_FROM: o->from.path = arg; return 0;
    case KEY_OPERAND: cli_list_add(&o->from.operand, arg, state); return 0;
    case KEY_SEED:
        o->from.seed = whole_number("--operand-seed", arg, 0, INT32_MAX, state);
        return 0;
    case KEY_LIMIT:
        o->limit = whole_number("--cycle-limit", arg, 1, LIMIT_MAX, state);
        return 0;
    case ARGP_KEY_END:
        check_together(o, state);
        o->tpu = o->tpu ? o->tpu : default_tpu;
        /* fall through */
    default:
        return cli_parse_program(&o->program, o->from.path || o->resume, key, arg, state);
    }
}

static const struct argp_child children[] = {{&cli_engine_argp, 0, "Engine:", 5}, {0}};

const struct argp cli_run_argp = {.options = list, .parser = parse_option, .children = children};

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
    if (cli_load_slice(o->tpu, &o->set, &slice, &chip, s->chip_origins, &s->arena, e))
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
    int count = s->last_core + 1, i;
    int *core;

    slice.core_count = machine_core_count(s->m);
    core = arena_array(&s->arena, (size_t)slice.core_count, sizeof(*core));
    if (s->options->all_cores)
        ring_order(&slice, core);
    for (i = 0; i < count; i++) {
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
    int i;

    if (s->options->from.path) {
        if (from_dump_prepare(&s->dump, &s->options->from, s->m, &s->arena, &s->is_told, e))
            return -1;
        s->program = s->dump.listing.program;
        return 0;
    }
    if (write_places(s, e))
        return -1;
    for (i = 0; i <= s->last_core; i++)
        if (machine_load(s->m, i, &s->program, e))
            return cli_add_chip(s->options->tpu, e);
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
