/* systole tune: which blocks a kernel of Pallas is fastest with. */
#include "cli/commands/cli.h"

#include <unistd.h>

#include "cli/common/scratch.h"
#include "cli/tune/tune.h"
#include "base/outfile.h"

#define AT(member) CLI_AT(struct tune, member)

static const struct cli_option options[] = {
    {"kernel", 'k', "NAME|K", "which kernel of programs that have several: its name, or its number "
     "counted from 1", 1, CLI_TEXT, AT(kernel.which)},
    {"input", 'i', "N=WHAT", "parameter N of the programs, which says which blocks the kernel works "
     "on: a .npy file, random, zeros, ones or iota; may be repeated", 1, CLI_LIST,
     AT(kernel.exec.input)},
    CLI_ROW_SEED(struct tune, kernel.exec.seed, 1, "of random inputs"),
    {"vmem-limit-kib", 0, "KIB", "the limit of VMEM that a kernel may take, instead of the "
     "program's own", 1, CLI_WHOLE, AT(kernel.vmem_limit_kib), .lo = 1, .hi = 1 << 30},
    {"vary", 0, "NAME=A,B,C", "of SCRIPT.py:FUNCTION: values of a parameter; may be repeated", 2,
     CLI_LIST, AT(vary)},
    {"arg", 0, "TYPE[SIZES]", "likewise: its arrays one by one, bf16[512,512] (default: what the "
     "script has as FUNCTION_arguments); may be repeated", 2, CLI_LIST, AT(array)},
    {"for-chip", 0, NULL, "likewise: the function asks for its chip, which is --tpu's", 2, CLI_FLAG,
     AT(is_for_chip)},
    {"python", 0, "PROGRAM", "likewise: the Python that has JAX (default: $PYTHON, or python3)", 2,
     CLI_TEXT, AT(python)},
    {"keep", 0, "DIR", "likewise: leave the lowered variants in this folder", 2, CLI_TEXT, AT(keep)},
    {"jobs", 'j', "N", "variants at once (default: 2)", 2, CLI_WHOLE, AT(jobs), .lo = 1, .hi = 64},
    {"seconds", 0, "N", "the longest that a variant may take (default: 300)", 2, CLI_WHOLE,
     AT(seconds), .lo = 1, .hi = 1000000},
    {"map", 0, "DOWN,ACROSS", "the two parameters of the map (default: the last two that vary)", 3,
     CLI_TEXT, AT(map)},
    CLI_ROW_CSV(struct tune, csv, 3),
    {"png", 0, "FILE", "write the map as a picture", 3, CLI_TEXT, AT(png)},
    {0}};

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct tune, kernel.exec.run.target)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, NULL}, .noun = "folder", .noun_at = offsetof(struct tune, folder),
    .noun_hint = "(SCRIPT.py:FUNCTION, or a folder that examples/jax/lower_variants.py wrote)",
    .args_doc = "SCRIPT.py:FUNCTION|DIR",
    .doc = "Time variants of a kernel written in Pallas, with other blocks and the like, and tell "
    "which is best: a map of cycles and VMEM, grey and with the reason where one does not run.\v"
    "JAX lowers the variants on any machine, without a TPU (docs/mosaic.md).\n\n"
    "Examples:\n"
    "  systole tune examples/jax/pallas_matmul.py:matmul --vary block_m=256,512,1024 \\\n"
    "      --vary block_n=256,512 --vary block_k=512,2048 --tpu v6e\n"
    "  systole tune kernel.py:f --arg 'bf16[1024,1024]' --vary block=128,256 --keep variants\n"
    "  systole tune variants --tpu v5e --csv tiles.csv --png tiles.png --map block_m,block_n"};

static int run(struct tune *t, const char **made, struct err *e)
{
    if (tune_lower(t, made, e))
        return -1;
    if ((t->csv && outfile_check(t->csv, e)) || (t->png && outfile_check(t->png, e)) ||
        tune_read(t, e) || tune_choose_axes(t, e) || tune_run(t, e))
        return -1;
    if (t->best >= 0) {
        tune_print_map(t, isatty(STDOUT_FILENO));
        tune_print(t);
    }
    if ((t->csv && tune_write_csv(t, e)) || (t->png && t->best >= 0 && tune_write_png(t, e)))
        return -1;
    return t->best >= 0 ? 0 : err_set(e, "none of %d variants runs: %.400s", t->count,
                                      t->variant[0].result.message);
}

int cmd_tune(int argc, char **argv)
{
    struct tune t = {.kernel.exec = {.run = OP_OPTIONS_DEFAULT, .tolerance = 2e-5, .steps = 1,
                                     .seed = 1, .is_quiet = true,
                                     .queue_entries = LOWER_QUEUE_ENTRIES},
                     .jobs = 2, .seconds = 300};
    const char *made = NULL;
    struct err e;
    int status;

    arena_init(&t.arena);
    t.kernel.exec.run.out.command = command_of_argv(argc, argv, &t.arena);
    cli_parse(&syntax, argc, argv, &t);
    status = run(&t, &made, &e) ? cli_fail(&e) : 0;
    if (made)
        scratch_remove(made);
    mem_free(t.variant);
    arena_fini(&t.arena);
    return status;
}
