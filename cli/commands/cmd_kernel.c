/* systole kernel: a kernel of Pallas by itself. */
#include "cli/commands/cli.h"

#include "cli/common/engine_options.h"
#include "cli/kernel/kernel.h"

#define AT(member) CLI_AT(struct kernel_request, member)

static const struct cli_option options[] = {
    {"kernel", 'k', "NAME|K", "which kernel of a program that has several: its name, or its number "
     "counted from 1", 1, CLI_TEXT, AT(which)},
    {"input", 'i', "N=WHAT", "parameter N of the program, which says which blocks the kernel works "
     "on: a .npy file, random, zeros, ones or iota; may be repeated", 1, CLI_LIST,
     AT(exec.input)},
    CLI_ROW_SEED(struct kernel_request, exec.seed, 1, "of random inputs"),
    {"vmem-limit-kib", 0, "KIB", "the limit of VMEM that the kernel may take, instead of the "
     "program's own", 1, CLI_WHOLE, AT(vmem_limit_kib), .lo = 1, .hi = 1 << 30},
    {"check-bounds", 0, NULL, "carry the program out on the host, with values, and stop at a block or "
     "a slice that lies outside of its array; --check-races and --check-unwritten include it", 2,
     CLI_FLAG, AT(check_bounds)},
    {"bundles", 0, NULL, "print its bundles beside the lines of the source", 2, CLI_FLAG,
     AT(wants_bundles)},
    CLI_ROW_JSON(struct kernel_request, json, 2),
    {0}};

static const struct cli_part parts[] = {
    {&cli_op_options, offsetof(struct kernel_request, exec.run)},
    {&cli_unwritten_options, offsetof(struct kernel_request, exec.run.engine)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, NULL}, .noun = "file",
    .noun_at = offsetof(struct kernel_request, exec.file),
    .noun_hint = "(a program with a tpu_custom_call, or a Mosaic module)", .args_doc = "FILE",
    .doc = "Time one kernel written in Pallas: cycles, shares of the peaks, VMEM by buffer, units, "
    "and where the cycles went, by line of the Python source. FILE is any program with a "
    "tpu_custom_call (HLO or StableHLO, text or bytes), or the bytes of a Mosaic module alone.\v"
    "No TPU is needed: JAX lowers a kernel for it on any machine (docs/mosaic.md). With --check-races, "
    "--check-unwritten or --check-bounds nothing is timed: the program is carried out on the host, and "
    "what its kernels do wrong is told by line; the exit status is 1 where there is such.\n\n"
    "Examples:\n"
    "  systole kernel step.mlirbc --tpu v5e\n"
    "  systole kernel step.mlirbc --kernel 2 --tpu v6e --bundles\n"
    "  systole kernel ragged.mlirbc --input 2=group_sizes.npy --json kernel.json\n"
    "  systole kernel step.mlirbc --check-races --check-unwritten --check-bounds"};

struct telling { const struct kernel_request *r; struct arena *a; };

static int tell(void *user, const struct kernel_timed *t, struct err *e)
{
    struct telling *w = user;

    kernel_print(w->r, t, w->a);
    if (w->r->wants_bundles)
        kernel_print_beside(t, stdout);
    return w->r->json ? kernel_write_json(w->r, t, w->a, e) : 0;
}

static int run(struct kernel_request *r, struct arena *a, struct err *e)
{
    struct kernel_file f;
    const struct kernel_found *found;
    struct telling telling = {r, a};
    int status = kernel_open(r, &f, e), wrong = 0;

    if (!status && kernel_is_checked(r)) {
        status = kernel_check(r, &f, a, &wrong, e) ? -1 : wrong ? 1 : 0;
    } else if (!status) {
        found = kernel_choose(&f, r->which, e);
        status = found ? kernel_time(&r->exec.run, found, a, tell, &telling, e) : -1;
    }
    kernel_close(&f);
    return status;
}

int cmd_kernel(int argc, char **argv)
{
    struct kernel_request r = {.exec = {.run = OP_OPTIONS_DEFAULT, .tolerance = 2e-5, .steps = 1,
                                        .seed = 1, .is_quiet = true,
                                        .queue_entries = LOWER_QUEUE_ENTRIES}};
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    r.exec.run.out.command = command_of_argv(argc, argv, &a);
    cli_parse(&syntax, argc, argv, &r);
    status = run(&r, &a, &e);
    if (status < 0)
        status = cli_fail(&e);
    arena_fini(&a);
    return status;
}
