#include "cli/cli.h"
#include "cli/program.h"
#include "sim/limits.h"

#include <argp.h>
#include <stdio.h>

struct arguments {
    const char *input, *tpu;
};

static const struct argp_option options[] = {
    { "tpu", 't', "NAME", 0, "chip or slice to check against (default: v3)", 0 },
    { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 't':
        args->tpu = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (args->input)
            argp_error(state, "one program at a time");
        args->input = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which program?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "PROGRAM",
    "Check a program against a chip: slots per bundle, registers, units, immediates, branches "
    "and instruction memory.\v"
    "PROGRAM is assembly text or an object file.",
    NULL, NULL, NULL
};

static int load_limits(const char *tpu, struct isa_limits *limits, struct arena *a, struct err *e)
{
    struct slice slice;
    struct chip chip;

    if (slice_parse(&slice, tpu, e) || chip_load_builtin(&chip, slice.chip_name, NULL, a, e))
        return -1;
    chip_isa_limits(&chip, limits);
    return 0;
}

/* how full the bundles are, slot by slot */
static void print_use(const struct isa_program *program, const struct isa_limits *limits)
{
    int64_t count[SLOT_COUNT] = { 0 };

    for (uint32_t i = 0; i < program->op_count; i++) {
        enum isa_slot slot = isa_info((enum isa_opcode)program->op[i].code)->slot;

        count[slot]++;
        if (slot == SLOT_EUP)
            count[SLOT_VALU]++;
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        int64_t room = (int64_t)limits->slot_count[slot] * program->bundle_count;

        printf("  %-7s %7lld of %7lld slots, %5.1f %%\n", isa_slot_name((enum isa_slot)slot),
               (long long)count[slot], (long long)room,
               100.0 * (double)count[slot] / (double)room);
    }
}

int cmd_lint(int argc, char **argv)
{
    struct arguments args = { NULL, "v3" };
    struct isa_program program;
    struct isa_limits limits;
    struct arena a;
    struct err e;
    int status;

    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &args))
        return EXIT_USAGE;
    arena_init(&a);
    if (load_limits(args.tpu, &limits, &a, &e))
        status = cli_fail(&e);
    else
        status = cli_load_program(args.input, &a, &program);
    if (status == 0 && isa_check(&program, &limits, &e))
        status = cli_fail(&e);
    if (status == 0) {
        printf("%s: %u bundles, %u operations, fits %s\n", args.input, program.bundle_count,
               program.op_count, args.tpu);
        print_use(&program, &limits);
    }
    arena_fini(&a);
    return status;
}
