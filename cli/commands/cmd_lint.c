/* `systole lint`: checks that a program may run on a chip, and counts how full its bundles are. */
#include "cli/commands/cli.h"
#include "cli/common/options.h"
#include "cli/common/program.h"
#include "sim/chip/limits.h"

#include <stdio.h>

struct arguments {
    const char *input;
    struct cli_target target;
};

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct arguments, target)}, {0}};

static const struct cli_syntax syntax = {
    .own.part = parts, .noun = "program", .noun_at = offsetof(struct arguments, input),
    .noun_hint = "", .args_doc = "PROGRAM",
    .doc = "Check a program against a chip: slots per bundle, registers, units, immediates and "
           "branches.\v"
           "PROGRAM is assembly text or an object file.\n\n"
           "Example:\n  systole lint examples/02_mxu_tile.tasm --tpu v2"};

static int load_limits(const struct arguments *args, struct isa_limits *limits, struct arena *a,
                       struct err *e)
{
    struct slice slice;
    struct chip chip;

    if (cli_load_slice(&args->target, &slice, &chip, NULL, a, e))
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
    struct arguments args = { .target.tpu = "v3" };
    struct isa_program program;
    struct isa_limits limits;
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    if (load_limits(&args, &limits, &a, &e))
        status = cli_fail(&e);
    else
        status = cli_load_program(args.input, &a, &program);
    if (status == 0 && isa_check(&program, &limits, &e)) {
        cli_add_chip(&args.target, &e);
        status = cli_fail(&e);
    }
    if (status == 0) {
        printf("%s: %u bundles, %u operations, fits %s\n", args.input, program.bundle_count,
               program.op_count, args.target.tpu);
        print_use(&program, &limits);
    }
    arena_fini(&a);
    return status;
}
