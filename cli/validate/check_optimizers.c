/* `systole check optimizers` holds compiled optimizers against their equations in doubles. */
#include "cli/validate/check.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/validate/optimizer_check.h"
#include "base/progress.h"
#include "keras/optimizer/optimizer.h"

#include <argp.h>
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

enum { KEY_STEPS = 256, KEY_SEED, KEY_LIST };

static const struct argp_option options[] = {
    {"tpu", 't', "CHIP", 0, "chip of whose cores one computes (default: v3-1)", 1},
    {"steps", KEY_STEPS, "N", 0, "updates of every variable (default: 20)", 1},
    {"seed", KEY_SEED, "N", 0, "seed of variables and gradients (default: 1)", 1},
    {"list", KEY_LIST, 0, 0, "print all optimizers and schedules with their numbers, and exit", 2},
    {0}};

static int64_t number(const char *option, const char *text, int64_t lo, int64_t hi,
                      struct argp_state *state)
{
    int64_t value = lo;

    if (text_parse_int(text, lo, hi, &value))
        argp_error(state, "%s is \"%s\", allowed are whole numbers in %lld..%lld", option, text,
                   (long long)lo, (long long)hi);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 't': args->tpu = arg; return 0;
    case KEY_STEPS: args->steps = number("--steps", arg, 1, STEPS_MAX, state); return 0;
    case KEY_SEED: args->seed = number("--seed", arg, 0, INT64_MAX, state); return 0;
    case KEY_LIST: args->is_list = true; return 0;
    case ARGP_KEY_ARG:
        if (args->call_count == CALLS_MAX)
            argp_error(state, "at most %d optimizers may be given", CALLS_MAX);
        args->call[args->call_count++] = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "[OPTIMIZER...]",
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
    "  systole check optimizers 'SGD(CosineDecay(0.1, 100), momentum=0.9)' --tpu v6e",
    NULL, NULL, NULL};

static void print_heading(const struct arguments *args)
{
    printf("%d steps on one core of %s, against doubles\n\n", (int)args->steps, args->tpu);
    printf("variable     slot  cycles of\n   error    error     a step  optimizer\n");
}

static void print_row(const struct optimizer_check *c)
{
    char cycles[28], slots[16] = "-";

    if (c->slots > 0)
        snprintf(slots, sizeof(slots), "%.1e", c->slots);
    printf("%8.1e  %7s  %9s  %s%s\n", c->variables, slots,
           text_thousands(c->cycles, cycles, sizeof(cycles)), c->call,
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

    argp_parse(&parser, argc, argv, 0, NULL, &args);
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
