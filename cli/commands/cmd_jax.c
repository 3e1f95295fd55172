/* systole jax: a user's own script of JAX, Flax, Keras or PyTorch/XLA on a simulated slice. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "cli/common/options.h"
#include "cli/python/python.h"

#include <string.h>

struct arguments {
    struct python_options options;
    char **argument;
    int count;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_mode(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    static const char *const names[] = {"both", "timing", "functional", "host"};
    struct arguments *args = values;

    (void)o;
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            args->options.mode = i;
            return 0;
        }
    }
    return err_set(e, "--mode is \"%s\", allowed are both, timing, functional and host%s", text,
                   text_did_you_mean(text, names, 4).text);
}

static int parse_precision(const struct cli_option *o, const char *text, void *values,
                           struct err *e)
{
    struct arguments *args = values;

    (void)o;
    args->options.is_highest = strcmp(text, "highest") == 0;
    if (args->options.is_highest || strcmp(text, "program") == 0)
        return 0;
    return err_set(e, "--precision is \"%s\", allowed are program and highest", text);
}

static const struct cli_option options[] = {
    {"tpu", 't', "NAME", "slice of chips as the cloud names it (default: SYSTOLE_TPU in the "
     "environment, else " PYTHON_TPU ")", 1, CLI_TEXT, AT(options.tpu)},
    CLI_ROW_OUT(struct arguments, options.out, 1),
    {"mode", 'm', "MODE", "both (default): values and cycles; timing: cycles, all values being "
     "zero; functional: values; host: values without a simulated core", 1, CLI_OTHER,
     .parse = parse_mode},
    {"precision", 0, "MODE", "of f32 products: program (default): as each asks for; highest: as exact "
     "as they can be, all of them", 1, CLI_OTHER, .parse = parse_precision},
    {"assume-trips", 0, "N", "in timing mode: how often loops run that end by a computed condition",
     1, CLI_WHOLE, AT(options.assume_trips), .lo = 1, .hi = INT32_MAX},
    {"threads", 0, "N", "host threads; never changes a result or a cycle", 1, CLI_WHOLE,
     AT(options.threads), .lo = 1, .hi = 256},
    {"quiet", 'q', NULL, "no summary at the end", 1, CLI_FLAG, AT(options.is_quiet)},
    {"python", 0, "PROGRAM", "the Python that has your JAX (default: PYTHON in the environment, "
     "else python3)", 2, CLI_TEXT, AT(options.python)},
    {0}};

static void take_script(void *values, char **argv, int count)
{
    struct arguments *args = values;

    args->argument = argv;
    args->count = count;
}

static const struct cli_syntax syntax = {
    .own = {.row = options}, .rest = take_script, .args_doc = "[--] [SCRIPT ARGUMENT...]",
    .doc =
    "Run your own script of JAX, Flax, Keras 3 or PyTorch/XLA, unchanged, on the cores of a "
    "simulated slice: it sets the variables that have JAX load Systole's library, and becomes "
    "Python.\v"
    "What stands behind SCRIPT is the script's; Python's own options stand behind --. Without a "
    "script Python asks for lines. A folder of --out is read by report, explain and systole-view.\n\n"
    "Examples:\n"
    "  systole jax --tpu v5e-8 train.py --epochs 2\n"
    "  systole jax --tpu v2-8 --out run examples/jax/mnist_keras.py --steps 20\n"
    "  systole jax -- -m pytest tests\n"
    "  systole jax -- -c 'import jax; print(jax.devices())'"};

int cmd_jax(int argc, char **argv)
{
    struct arguments args = {.options.mode = -1};
    struct python_variable v[PYTHON_VARIABLES_MAX];
    const char *interpreter;
    struct arena a;
    struct err e;
    int count;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    interpreter = python_interpreter(args.options.python, &a, &e);
    if (interpreter && python_variables(&args.options, &a, v, &count, &e) == 0)
        python_become(interpreter, args.argument, args.count, v, count, &e);
    arena_fini(&a);
    return cli_fail(&e);
}
