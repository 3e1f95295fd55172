/* systole summary: what a Keras model is made of, and what each layer costs on a chip. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "cli/common/options.h"
#include "keras/model/summary.h"

#include <string.h>

struct arguments {
    const char *path, *tpu;
    struct cli_list set;
    struct summary_options options;
    enum keras_policy policy;
    bool has_policy, is_plain;
};

enum { KEY_SET = 256, KEY_CODEGEN, KEY_BATCH, KEY_POLICY, KEY_INFERENCE, KEY_PLAIN };

static const struct argp_option options[] = {
    {"tpu", 't', "CHIP", 0, "chip to predict cycles for (default: v3): one core of it", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"codegen", KEY_CODEGEN, "POLICY", 0,
     "xla (default): as XLA would compile it; best: as well as we can", 1},
    {"batch", KEY_BATCH, "N", 0, "samples on the core at a time (default: 8)", 1},
    {"policy", KEY_POLICY, "NAME", 0,
     "float32, mixed_bfloat16 or bfloat16 (default: what the file says)", 1},
    {"inference", KEY_INFERENCE, 0, 0, "take the forward pass alone, as for prediction", 1},
    {"plain", KEY_PLAIN, 0, 0, "print layers, shapes, parameters and operations without cycles", 1},
    {0}};

static void parse_codegen(struct arguments *args, const char *text, struct argp_state *state)
{
    args->options.codegen = strcmp(text, "best") == 0 ? CODEGEN_BEST : CODEGEN_XLA;
    if (args->options.codegen == CODEGEN_XLA && strcmp(text, "xla") != 0)
        argp_error(state, "--codegen is \"%s\", allowed are xla, best", text);
}

static void parse_policy(struct arguments *args, const char *text, struct argp_state *state)
{
    struct err e;

    args->has_policy = true;
    if (keras_policy_find(text, &args->policy, &e) != 0)
        argp_error(state, "--policy: %s", e.msg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 't': args->tpu = arg; return 0;
    case KEY_SET: cli_list_add(&args->set, arg, state); return 0;
    case KEY_CODEGEN: parse_codegen(args, arg, state); return 0;
    case KEY_POLICY: parse_policy(args, arg, state); return 0;
    case KEY_INFERENCE: args->options.has_backward = false; return 0;
    case KEY_PLAIN: args->is_plain = true; return 0;
    case KEY_BATCH:
        if (text_parse_int(arg, 1, 1 << 20, &args->options.batch) != 0)
            argp_error(state, "--batch is \"%s\", allowed are whole numbers in 1..%d", arg,
                       1 << 20);
        return 0;
    case ARGP_KEY_ARG:
        if (args->path)
            argp_error(state, "only one model may be given, not \"%s\" and \"%s\"", args->path,
                       arg);
        args->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->path)
            argp_error(state, "which model? A Keras model's JSON file is needed");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "MODEL.json",
    "Show the layers of a Keras model: shapes, parameters, operations, and the cycles that the "
    "compiler predicts for each on one core.\v"
    "Cycles are those of the cost model of the step's kernels, each counted for the layer that it "
    "came from; what was fused into another layer's kernel counts there. The loss, the optimizer "
    "and sums over replicas are left out.\n\n"
    "Examples:\n"
    "  systole summary examples/mnist_cnn.json --tpu v2 --batch 25 --policy mixed_bfloat16\n"
    "  systole summary examples/char_transformer.json --inference\n"
    "  systole summary examples/resnet_small.json --plain",
    NULL, NULL, NULL};

static int summarize(struct arguments *args, struct model *m, struct variable_set *set,
                     struct arena *a, struct err *e)
{
    struct summary s;
    struct slice slice;
    struct chip chip;

    if (model_from_json(m, a, args->path, e) || model_build(m, set, e))
        return -1;
    if (args->has_policy)
        m->policy = args->policy;
    if (!args->is_plain) {
        if (cli_load_slice(args->tpu, &args->set, &slice, &chip, NULL, a, e))
            return -1;
        args->options.chip = &chip;
    }
    if (summary_make(m, &args->options, a, &s, e))
        return args->is_plain ? -1 : cli_add_chip(args->tpu, e);
    summary_print(&s, stdout);
    return 0;
}

int cmd_summary(int argc, char **argv)
{
    struct arguments args = {.tpu = "v3", .options = {.batch = 8, .has_backward = true}};
    struct variable_set set;
    struct model m = {0};
    struct arena a;
    struct err e = {0};
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    variable_set_init(&set, &a);
    status = summarize(&args, &m, &set, &a, &e) ? cli_fail(&e) : 0;
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&a);
    return status;
}
