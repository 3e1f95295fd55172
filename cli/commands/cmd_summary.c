/* systole summary: what a Keras model is made of, and what each layer costs on a chip. */
#include "cli/commands/cli.h"

#include "cli/common/options.h"
#include "files/model_file.h"
#include "keras/model/summary.h"

struct arguments {
    const char *path, *input_sizes;
    struct cli_target target;
    struct summary_options options;
    enum keras_policy policy;
    bool has_policy, is_forward, is_plain, is_json;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_policy(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;
    struct err why;

    (void)o;
    args->has_policy = true;
    return keras_policy_find(text, &args->policy, &why) ? err_set(e, "--policy: %s", why.msg) : 0;
}

static const struct cli_option options[] = {
    CLI_ROW_CODEGEN(struct arguments, options.codegen, 1),
    {"batch", 0, "N", "samples on the core at a time (default: %s)", 1, CLI_WHOLE,
     AT(options.batch), .lo = 1, .hi = 1 << 20},
    {"input-shape", 0, "SIZES", "of samples, where the file leaves them open: 28x28x1, or by input, "
     "image=28x28x1,ids=64", 1, CLI_TEXT, AT(input_sizes)},
    {"policy", 0, "NAME", "float32, mixed_bfloat16 or bfloat16 (default: what the file says)", 1,
     CLI_OTHER, .parse = parse_policy},
    {"inference", 0, NULL, "the forward pass alone, as for prediction", 1, CLI_FLAG,
     AT(is_forward)},
    {"plain", 0, NULL, "no cycles: layers, shapes, parameters and operations alone", 1, CLI_FLAG,
     AT(is_plain)},
    {"json", 0, NULL, "the rows as JSON, for programs", 1, CLI_FLAG, AT(is_json)},
    {0}};

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct arguments, target)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, NULL}, .noun = "model", .noun_at = offsetof(struct arguments, path),
    .noun_hint = "A Keras model's JSON file is needed", .args_doc = "MODEL.json",
    .doc =
    "Show the layers of a Keras model: shapes, parameters, operations, and the cycles that the "
    "compiler predicts for each on one core of a chip.\v"
    "Cycles are those of the cost model of the step's kernels, each counted for the layer that it "
    "came from; what was fused into another layer's kernel counts there. The loss, the optimizer "
    "and sums over replicas are left out.\n\n"
    "Examples:\n"
    "  systole summary examples/mnist_cnn.json --tpu v2 --batch 25 --policy mixed_bfloat16\n"
    "  systole summary examples/char_transformer.json --inference\n"
    "  systole summary examples/resnet_small.json --plain"};

static int summarize(struct arguments *args, struct model *m, struct variable_set *set,
                     struct arena *a, struct err *e)
{
    struct summary s;
    struct slice slice;
    struct chip chip;

    if (model_file_read(m, a, args->path, args->input_sizes, NULL, e) || model_build(m, set, e))
        return -1;
    if (args->has_policy)
        m->policy = args->policy;
    args->options.has_backward = !args->is_forward;
    if (!args->is_plain) {
        if (cli_load_slice(&args->target, &slice, &chip, NULL, a, e))
            return -1;
        args->options.chip = &chip;
    }
    if (summary_make(m, &args->options, a, &s, e))
        return args->is_plain ? -1 : cli_add_chip(&args->target, e);
    if (args->is_json)
        return summary_print_json(&s, stdout, e);
    summary_print(&s, stdout);
    return 0;
}

int cmd_summary(int argc, char **argv)
{
    struct arguments args = {.target.tpu = "v3", .options.batch = 8};
    struct variable_set set;
    struct model m = {0};
    struct arena a;
    struct err e = {0};
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    variable_set_init(&set, &a);
    status = summarize(&args, &m, &set, &a, &e) ? cli_fail(&e) : 0;
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&a);
    return status;
}
