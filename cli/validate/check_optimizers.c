/* `systole check optimizers` holds compiled optimizers against their equations in doubles. */
#include "cli/validate/check.h"

#include "base/text.h"
#include "cli/common/options.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/validate/optimizer_check.h"
#include "base/progress.h"
#include "keras/optimizer/optimizer.h"

#include <stdbool.h>
#include <stdio.h>

#define STEPS_MAX 10000
#define CALLS_MAX 64

struct arguments {
    const char *tpu, *call[CALLS_MAX];
    int64_t steps, seed;
    int call_count;
    bool is_list;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    CLI_ROW_TPU(struct arguments, tpu, 1),
    {"steps", 0, "N", "updates of every variable (default: %s)", 1, CLI_WHOLE, AT(steps), .lo = 1,
     .hi = STEPS_MAX},
    CLI_ROW_SEED(struct arguments, seed, 1, "of variables and gradients"),
    {"list", 0, NULL, "print all optimizers and schedules with their numbers, and exit", 2,
     CLI_FLAG, AT(is_list)},
    {0}};

static int take_call(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->call_count == CALLS_MAX)
        return err_set(e, "at most %d optimizers", CALLS_MAX);
    args->call[args->call_count++] = text;
    return 0;
}

static const struct cli_syntax syntax = {
    .own.row = options, .argument = take_call, .args_doc = "[OPTIMIZER...]",
    .doc =
    "Compile the step of each optimizer, run it on a simulated core, and hold variables and slots "
    "against Keras's equation in doubles. Without OPTIMIZER: one call for every rule, every "
    "number and every schedule.\v"
    "Four variables, 48 x 40, 40, 3 x 3 x 8 x 16 and a single one, begin evenly in -1..1; "
    "gradients are random, of sizes over three decades. An error is the difference over the "
    "largest size that the element has had; the table has the worst element behind the last "
    "step.\n\n"
    "Exit status: 0 all variables within 1e-5, 1 one is not, or something failed.\n\n"
    "Examples:\n"
    "  systole check optimizers\n"
    "  systole check optimizers --list\n"
    "  systole check optimizers 'AdamW(1e-3, weight_decay=0.004)' --steps 1000\n"
    "  systole check optimizers 'SGD(CosineDecay(0.1, 100), momentum=0.9)' --tpu v6e"};

static void print_heading(const struct arguments *args)
{
    printf("%d steps on one core of %s, against doubles\n\n", (int)args->steps, args->tpu);
    printf("variable     slot  cycles of\n   error    error     a step  optimizer\n");
}

static void print_row(const struct optimizer_check *c)
{
    char slots[16] = "-";

    if (c->slots > 0)
        snprintf(slots, sizeof(slots), "%.1e", c->slots);
    printf("%8.1e  %7s  %9s  %s%s\n", c->variables, slots, text_thousands(c->cycles).text, c->call,
           c->variables <= OPTIMIZER_CHECK_LIMIT ? "" : "  ABOVE 1e-5");
}

static int run_all(const struct arguments *args, const char *const *call, int count,
                   struct err *e)
{
    struct progress p;
    int failed = 0;

    progress_begin(&p, count);
    for (int i = 0; i < count; i++) {
        struct optimizer_check c = {.call = call[i], .slice = args->tpu,
                                    .steps = (int)args->steps, .seed = (uint64_t)args->seed};

        progress_say(&p, call[i], i);
        if (optimizer_check_run(&c, e)) {
            progress_wipe(&p);
            return -1;
        }
        progress_wipe(&p);
        if (i == 0)
            print_heading(args);
        print_row(&c);
        failed += !(c.variables <= OPTIMIZER_CHECK_LIMIT);
    }
    if (failed)
        return err_set(e, "%d of %d optimizers are off by more than 1e-5", failed, count);
    printf("\nall %d are within 1e-5\n", count);
    return 0;
}

int check_run_optimizers(int argc, char **argv)
{
    struct arguments args = {.tpu = "v3-1", .steps = 20, .seed = 1};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    if (args.is_list) {
        optimizer_print_list(stdout);
        printf("\nIn the place of learning_rate, with s the steps so far:\n\n");
        schedule_print_list(stdout);
        return 0;
    }
    if (args.call_count)
        status = run_all(&args, args.call, args.call_count, &e);
    else
        status = run_all(&args, optimizer_check_calls, optimizer_check_call_count, &e);
    return status ? cli_fail(&e) : 0;
}
