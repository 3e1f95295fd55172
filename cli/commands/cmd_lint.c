/* `systole lint`: checks that a program may run on a chip, and counts how full its bundles are. */
#include "cli/commands/cli.h"
#include "cli/common/options.h"
#include "cli/common/program.h"
#include "sim/chip/limits.h"

#include <stdio.h>

struct arguments {
    const char *input, *tpu;
    struct cli_list set;
};

enum { KEY_SET = 256 };

static const struct argp_option options[] = {
    { "tpu", 't', "NAME", 0, "chip or slice to check against (default: v3)", 0 },
    { "set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 0 },
    { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 't':
        args->tpu = arg;
        return 0;
    case KEY_SET:
        cli_list_add(&args->set, arg, state);
        return 0;
    default:
        return cli_parse_program(&args->input, false, key, arg, state);
    }
}

static const struct argp parser = {
    options, parse_option, "PROGRAM",
    "Check a program against a chip: slots per bundle, registers, units, immediates and "
    "branches.\v"
    "PROGRAM is assembly text or an object file.\n\n"
    "Example:\n  systole lint examples/02_mxu_tile.tasm --tpu v2",
    NULL, NULL, NULL
};

static int load_limits(const struct arguments *args, struct isa_limits *limits, struct arena *a,
                       struct err *e)
{
    struct slice slice;
    struct chip chip;

    if (cli_load_slice(args->tpu, &args->set, &slice, &chip, NULL, a, e))
        return -1;
    chip_isa_limits(&chip, limits);
    return 0;
}

/* how full the bundles are, slot by slot */
static void print_use(const struct isa_program *program, const struct isa_limits *limits)
{
    int64_t count[SLOT_COUNT] = { 0 };

    for (uint32_t b = 0; b < program->bundle_count; b++) {
        int ops[SLOT_COUNT], taken[SLOT_COUNT];

        isa_bundle_ops(program, b, ops);
        isa_slots_take(&limits->slots, ops, taken);
        for (int slot = 0; slot < SLOT_COUNT; slot++)
            count[slot] += taken[slot];
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        int64_t room = (int64_t)limits->slots.count[slot] * program->bundle_count;

        if (room == 0)
            continue;                   /* a slot that the chip does not have */
        printf("  %-7s %7lld of %7lld slots, %5.1f %%\n", isa_slot_name((enum isa_slot)slot),
               (long long)count[slot], (long long)room,
               100.0 * (double)count[slot] / (double)room);
    }
}

int cmd_lint(int argc, char **argv)
{
    struct arguments args = { .tpu = "v3" };
    struct isa_program program;
    struct isa_limits limits;
    struct arena a;
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    if (load_limits(&args, &limits, &a, &e))
        status = cli_fail(&e);
    else
        status = cli_load_program(args.input, &a, &program);
    if (status == 0 && isa_check(&program, &limits, &e)) {
        cli_add_chip(args.tpu, &e);
        status = cli_fail(&e);
    }
    if (status == 0) {
        printf("%s: %u bundles, %u operations, fits %s\n", args.input, program.bundle_count,
               program.op_count, args.tpu);
        print_use(&program, &limits);
    }
    arena_fini(&a);
    return status;
}
