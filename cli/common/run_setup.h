/*
 * A machine ready to launch, from the command line: --tpu, --set, --all-cores,
 * --hbm, --from-dump and its operands, --cycle-limit, --resume, the options of the engine
 * (cli/common/engine_options.h), and the program; or from a snapshot that holds all of
 * these. For systole run and systole debug.
 *
 * cli_run_options are a part of the command's own, of its struct run_options; the one argument
 * is the program.
 */
#ifndef CLI_RUN_SETUP_H
#define CLI_RUN_SETUP_H
#include "cli/common/from_dump.h"
#include "cli/common/options.h"
#include "isa/isa.h"
#include "sim/machine/machine.h"
#include "sim/snapshot/snapshot.h"

struct run_options {
    const char *program;                /* NULL where from.path or resume is not */
    struct cli_target target;
    const char *resume;                 /* a snapshot to go on from */
    bool all_cores;
    int64_t limit;                      /* of cycles, 0: not given */
    struct machine_options engine;
    struct cli_list load;
    struct dump_options from;
};

/* what is not 0 without any option */
#define RUN_OPTIONS_DEFAULT \
    {.target.tpu = run_default_tpu, .engine = {.thread_count = 1}, .from.seed = 1}

extern const char run_default_tpu[];
extern const struct cli_options cli_run_options;

/* --tpu was given */
bool run_options_has_tpu(const struct run_options *o);

struct run_setup {
    const struct run_options *options;
    struct arena arena;
    struct isa_program program;
    struct machine *m;
    struct chip_origin *chip_origins;   /* where every parameter came from; not of a snapshot's */
    int last_core;                      /* cores 0..last_core run the program */
    struct from_dump dump;
    struct snapshot snapshot;           /* of options->resume: the machine is at its pause */
    bool is_told;                       /* what is wrong has been printed */
};

/* the file given, or the listing's, or what the snapshot is of; what reports call it */
const char *run_setup_title(const struct run_setup *s);

/*
 * In this order: read the program (prints what is wrong with its text, sets
 * is_told), make the machine, put program and data into it. `options` stay the
 * caller's and outlive the setup; run_setup_fini goes with every way out.
 */
int run_setup_read(struct run_setup *s, const struct run_options *options);
int run_setup_open(struct run_setup *s, struct err *e);
int run_setup_load(struct run_setup *s, struct err *e);
void run_setup_fini(struct run_setup *s);
#endif
