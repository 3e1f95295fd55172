/* Parses the options of `systole train`, `evaluate` and `predict`. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/train/train.h"
#include "files/weights.h"

enum kind { WORD, CHOICE, INT, REAL, FLAG };
enum use { USE_ALWAYS, USE_SIM, USE_HOST, USE_HYPER };

static const struct row {
    const char *section, *name, *standard, *arg, *meaning;
    double lo, hi;
    int64_t hi_integer;                 /* exact where a double is not */
    enum kind kind;
    enum use use;
} rows[OPT_COUNT] = {
#define OPT(id, section, name, kind, standard, lo, hi, arg, use, meaning) \
    {section, name, standard, arg, meaning, (double)(lo), (double)(hi), (int64_t)(hi), kind, use},
#include "cli/train/train_options.def"
};

static const struct use_rule {
    enum train_option option;
    int64_t needed;                     /* which word of the option's choices */
    const char *text;
} use_rules[] = {
    [USE_SIM] = {OPT_BACKEND, 0, "--backend sim"},
    [USE_HOST] = {OPT_BACKEND, 1, "--backend host"},
};

static const struct hyper_row { enum train_option option; enum hyper hyper; } hypers[] = {
    {OPT_LR, HYPER_LEARNING_RATE}, {OPT_MOMENTUM, HYPER_MOMENTUM}, {OPT_BETA_1, HYPER_BETA_1},
    {OPT_BETA_2, HYPER_BETA_2}, {OPT_EPSILON, HYPER_EPSILON},
};

const char *train_option_name(enum train_option o)
{
    return rows[o].name;
}

const char *train_option_section(enum train_option o)
{
    return rows[o].section;
}

const char *train_option_arg(enum train_option o)
{
    return rows[o].arg;
}

enum hyper train_option_hyper(enum train_option o)
{
    for (size_t i = 0; i < COUNT_OF(hypers); i++)
        if (hypers[i].option == o)
            return hypers[i].hyper;
    return HYPER_NONE;
}

bool train_option_applies(const struct train_options *options, enum train_option o)
{
    const struct use_rule *rule = &use_rules[rows[o].use];

    if (rows[o].use == USE_HYPER)
        return optimizer_takes(options->optimizer.rule, train_option_hyper(o));
    return rows[o].use == USE_ALWAYS || options->value[rule->option].integer == rule->needed;
}

static int set_value(struct train_value *v, const struct row *row, const char *text,
                     struct err *e)
{
    v->text = text;
    if (!*text && row->use == USE_HYPER)
        return 0;                       /* the optimizer's own */
    switch (row->kind) {
    case WORD:
        return 0;
    case FLAG:
        v->integer = strcmp(text, "yes") == 0;
        return 0;
    case CHOICE:
    case INT:
        return cli_read_value(&(struct cli_option){
            .name = row->name, .kind = row->kind == INT ? CLI_WHOLE : CLI_CHOICE,
            CLI_AT(struct train_value, integer), .lo = (int64_t)row->lo, .hi = row->hi_integer,
            .words = row->arg}, text, v, e);
    case REAL:
        if (text_parse_double(text, row->lo, row->hi, &v->real))
            return err_set(e, "--%s is \"%s\", allowed are numbers in %g..%g", row->name, text,
                           row->lo, row->hi);
        return 0;
    }
    return 0;
}

static void set_standards(struct train_options *o, enum train_task task)
{
    struct err e;

    *o = (struct train_options){.trace = TRACE_OPTIONS_DEFAULT, .task = task};
    for (int i = 0; i < OPT_COUNT; i++) {
        /* whoever does not train needs no optimizer, and no room for what one keeps */
        bool is_idle = task != TASK_TRAIN && i == OPT_OPTIMIZER;
        int status = set_value(&o->value[i], &rows[i], is_idle ? "SGD" : rows[i].standard, &e);

        assert(status == 0);            /* the table's own defaults are allowed */
    }
}

/* "--optimizer sgd, rmsprop, lars": those that take the number */
static void print_takers(enum hyper h, char *text, size_t bytes)
{
    size_t length = (size_t)snprintf(text, bytes, "--optimizer");
    const char *between = " ";

    for (int rule = 0; rule < RULE_COUNT && length < bytes; rule++)
        if (optimizer_takes((enum optimizer_rule)rule, h)) {
            size_t first = length + strlen(between);

            length += (size_t)snprintf(text + length, bytes - length, "%s%s", between,
                                       optimizer_name((enum optimizer_rule)rule));
            for (size_t i = first; i < bytes && text[i]; i++)
                text[i] = (char)tolower((unsigned char)text[i]);
            between = ", ";
        }
}

/* the optimizer of its text and of the numbers given beside it */
static int make_optimizer(struct train_options *o, struct arena *a, struct err *e)
{
    if (optimizer_parse(&o->optimizer, o->value[OPT_OPTIMIZER].text, a, e))
        return -1;
    for (size_t i = 0; i < COUNT_OF(hypers); i++) {
        const struct train_value *v = &o->value[hypers[i].option];

        if (v->is_given && optimizer_takes(o->optimizer.rule, hypers[i].hyper) &&
            optimizer_set(&o->optimizer, optimizer_hyper_name(hypers[i].hyper), v->real, e))
            return -1;
    }
    return 0;
}

/* An option that would do nothing is a mistake. */
static int check(void *values, struct err *e)
{
    struct train_options *o = values;
    bool is_host = o->value[OPT_BACKEND].integer == 1;
    char takers[256];
    struct err why;

    if (make_optimizer(o, o->texts, &why))
        return err_set(e, "--optimizer: %s", why.msg);
    if (o->value[OPT_LR].is_given && o->optimizer.schedule.kind != SCHEDULE_NONE)
        return err_set(e, "--lr does not go with %s of --optimizer, which makes the rate",
                       schedule_name(o->optimizer.schedule.kind));
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!o->value[i].is_given || train_option_applies(o, (enum train_option)i))
            continue;
        if (rows[i].use != USE_HYPER)
            return err_set(e, "--%s belongs to %s", rows[i].name, use_rules[rows[i].use].text);
        print_takers(train_option_hyper((enum train_option)i), takers, sizeof(takers));
        return err_set(e, "--%s belongs to %s", rows[i].name, takers);
    }
    if (o->value[OPT_OVERWRITE].is_given && !o->value[OPT_CHECKPOINT].is_given)
        return err_set(e, "--overwrite belongs to --checkpoint");
    if (o->value[OPT_CHECKPOINT_STEPS].is_given && !o->value[OPT_CHECKPOINT].is_given)
        return err_set(e, "--checkpoint-steps belongs to --checkpoint");
    if (o->value[OPT_OVERWRITE].is_given && o->value[OPT_RESUME].is_given)
        return err_set(e, "--overwrite removes the checkpoints that --resume goes on from");
    if (o->value[OPT_WEIGHTS].is_given && o->value[OPT_RESUME].is_given)
        return err_set(e, "--weights does not go with --resume, whose checkpoint has the weights");
    if (o->value[OPT_SAVE].is_given && weights_check_suffix(o->value[OPT_SAVE].text, e))
        return -1;
    if (o->task == TASK_PREDICT && (!o->value[OPT_DATA].is_given || !o->out_npy))
        return err_set(e, "a prediction needs samples and a place: --data x.npy --out y.npy");
    if (is_host && (o->set.count || o->trace.path))
        return err_set(e, "--%s belongs to --backend sim", o->set.count ? "set" : "trace");
    return trace_options_check_mode(&o->trace, (enum run_mode)o->value[OPT_MODE].integer, e);
}

/* a row of the table; `lo` of the option is its number */
static int parse_value(const struct cli_option *option, const char *text, void *values,
                       struct err *e)
{
    struct train_options *o = values;
    const struct row *row = &rows[option->lo];

    if (row->kind == WORD && !*text)
        return err_set(e, "--%s is empty", row->name);
    o->value[option->lo].is_given = true;
    return set_value(&o->value[option->lo], row, row->kind == FLAG ? "yes" : text, e);
}

/* of those who do not train */
static const enum train_option shared[] = {
    OPT_BATCH, OPT_INPUT_SHAPE, OPT_WEIGHTS, OPT_POLICY, OPT_PRECISION, OPT_BACKEND, OPT_REFERENCE_DOT,
    OPT_TPU, OPT_THREADS, OPT_SIMD, OPT_MODE, OPT_CHECK_RACES, OPT_PIPELINE, OPT_PIPELINE_CUTS,
    OPT_DEVICES, OPT_MESH, OPT_LAYOUTS,
};

static bool is_taken(enum train_task task, enum train_option o)
{
    bool is_shared = task == TASK_TRAIN;

    for (size_t i = 0; i < COUNT_OF(shared); i++)
        is_shared = is_shared || shared[i] == o;
    return is_shared || (task == TASK_EVALUATE && (o == OPT_LOSS || o == OPT_LOSS_WEIGHTS ||
                                                      o == OPT_METRICS));
}

/* rows of one task alone, `lo` as parse_value has it; behind the table's */
static const struct cli_option task_rows[][4] = {
    [TASK_TRAIN] = {{0}},
    [TASK_EVALUATE] = {
        {"data", 0, "PATH", "folder with x_test.npy and y_test.npy, gzipped or not, or with "
         "MNIST's IDX files; or a .npz of these arrays, or of those that it names, as in "
         "\"d.npz:x,y\"; of several inputs or outputs x_test_NAME and y_test_NAME (default: digits "
         "drawn by the program)", 1, CLI_OTHER,
         .parse = parse_value, .lo = OPT_DATA},
        CLI_ROW_JSON(struct train_options, json, 6), {0}},
    [TASK_PREDICT] = {
        {"data", 0, "FILE", "samples: x.npy, x.npy.gz, or d.npz:x; of several inputs a folder or "
         "a .npz with x_test_NAME of each", 1, CLI_OTHER,
         .parse = parse_value, .lo = OPT_DATA},
        {"out", 0, "FILE", "leave the predictions in this .npy; of several outputs in one for "
         "each: y_NAME.npy for y.npy, by the names of their layers", 6, CLI_TEXT,
         CLI_AT(struct train_options, out_npy)},
        CLI_ROW_JSON(struct train_options, json, 6), {0}},
};

static const char *help_of(const struct train_options *standards, int i, struct arena *a)
{
    const char *standard = standards->value[i].text;
    bool shows = rows[i].kind != FLAG && *standard && strcmp(standard, "0") != 0 &&
                 i != OPT_POLICY;       /* a file may say another one */

    if (standards->task != TASK_TRAIN && i == OPT_WEIGHTS)
        return "the weights: .weights.h5, .keras, .h5, safetensors, or the model.json of "
               "TensorFlow.js (default: those in the model's own file)";
    return shows ? arena_printf(a, "%s (default: %s)", rows[i].meaning, standard)
                 : rows[i].meaning;
}

/* The table's rows, under a heading per section. */
static void list_options(struct cli_option *list, const struct train_options *standards,
                         struct arena *a)
{
    static const char *const headings[][2] = {
        {"data", "Data:"}, {"train", "Training:"}, {"optimizer", "Optimizer:"},
        {"numerics", "Numerics:"}, {"machine", "Machine:"}, {"output", "Output:"},
    };
    enum train_task task = standards->task;

    for (size_t h = 0; h < COUNT_OF(headings); h++) {
        if (task != TASK_TRAIN && h == 2)
            continue;                   /* there is no optimizer */
        *list++ = (struct cli_option){
            .kind = CLI_HEADING, .group = (int)h + 1,
            .doc = task != TASK_TRAIN && h == 1 ? "Model:" : headings[h][1]};
        for (int i = 0; i < OPT_COUNT; i++)
            if (strcmp(rows[i].section, headings[h][0]) == 0 &&
                is_taken(task, (enum train_option)i))
                *list++ = (struct cli_option){
                    .name = rows[i].name, .arg = rows[i].arg, .group = (int)h + 1,
                    .kind = CLI_OTHER, .parse = parse_value, .lo = i,
                    .letter = i == OPT_TPU ? 't' : 0, .doc = help_of(standards, i, a)};
    }
    for (const struct cli_option *o = task_rows[task]; o->name; o++)
        *list++ = *o;
    *list = (struct cli_option)CLI_ROW_SET(struct train_options, set, 5);
}

static const char *const docs[] = {
    [TASK_TRAIN] =
    "Trains the Keras model in MODEL (what model.to_json() writes, a .keras, a whole .h5, or the "
    "model.json of TensorFlow.js) on a simulated slice of TPU chips: forward, backward, "
    "all-reduce of the gradients and update run as instructions on the simulated cores.\v"
    "Example:\n"
    "  systole train examples/mnist_mlp.json --data mnist/ --tpu v3-8 --epochs 20 \\\n"
    "      --batch 512 --optimizer adam --lr 0.001 --seed 1 --out out/\n"
    "The network of TensorFlow's TPU guide, 50 steps per execution:\n"
    "  systole train examples/mnist_cnn.json --data mnist/ --tpu v2-8 --batch 200 \\\n"
    "      --policy mixed_bfloat16 --steps-per-execution 50 --epochs 1\n"
    "Another optimizer, stopping early:\n"
    "  systole train examples/mnist_mlp.json --optimizer \"AdamW(1e-3, weight_decay=0.01)\" \\\n"
    "      --early-stopping 2 --csv-log log.csv\n"
    "A training in two parts:\n"
    "  systole train examples/mnist_mlp.json --checkpoint ckpt/ --epochs 2\n"
    "  systole train examples/mnist_mlp.json --checkpoint ckpt/ --resume --epochs 5\n"
    "A trace of two steps (docs/traces.md); without --steps it has one:\n"
    "  systole train examples/mnist_mlp.json --steps 2 --trace two.pftrace\n"
    "Weights that Keras left, trained on, for Keras again:\n"
    "  systole train model.keras --weights model.keras --save trained.keras",
    [TASK_EVALUATE] =
    "Tells loss and metrics of the Keras model in MODEL on samples with labels, as Keras's "
    "model.evaluate does, on a simulated slice of TPU chips. MODEL is a .keras, a whole .h5, the "
    "model.json of TensorFlow.js, or, with --weights, what model.to_json() writes.\v"
    "A last batch that is not full counts as far as it goes.\n\n"
    "Example:\n"
    "  systole train examples/mnist_mlp.json --epochs 1 --save mlp.keras\n"
    "  systole evaluate mlp.keras --tpu v3-8 --batch 512\n"
    "  systole evaluate examples/mnist_mlp.json --weights mlp.keras --data mnist.npz",
    [TASK_PREDICT] =
    "Makes of samples what the Keras model in MODEL predicts, as Keras's model.predict does, on a "
    "simulated slice of TPU chips. MODEL is a .keras, a whole .h5, the model.json of "
    "TensorFlow.js, or, with --weights, what model.to_json() writes.\v"
    "A last batch may have any size. Bytes become 0..1, as in training.\n\n"
    "Example:\n"
    "  systole predict mlp.keras --data mnist.npz:x_test --out predictions.npy --tpu v3-8",
};

static const char *const hints[] = {
    [TASK_TRAIN] = "(a Keras JSON file, such as examples/mnist_mlp.json)",
    [TASK_EVALUATE] = "(a .keras, or a Keras JSON file and --weights)",
    [TASK_PREDICT] = "(a .keras, or a Keras JSON file and --weights)",
};

static int settle_trace(struct train_options *o, struct err *e)
{
    const char *out = o->value[OPT_OUT].text;
    bool has_folder = *out && o->value[OPT_BACKEND].integer != 1;

    return trace_options_for_folder(&o->trace, has_folder ? out : NULL,
                                    (enum run_mode)o->value[OPT_MODE].integer, e);
}

int train_options_read(struct train_options *o, enum train_task task, struct arena *texts,
                       int argc, char **argv, struct err *e)
{
    struct cli_option list[OPT_COUNT + 16] = {{0}};
    static const struct cli_part with_trace[] = {
        {&cli_trace_options, offsetof(struct train_options, trace)}, {0}};
    const struct cli_syntax syntax = {
        .own = {list, task == TASK_TRAIN ? with_trace : NULL, check}, .noun = "model",
        .noun_at = offsetof(struct train_options, model_path), .noun_hint = hints[task],
        .args_doc = "MODEL", .doc = docs[task]};

    set_standards(o, task);
    o->texts = texts;
    list_options(list, o, texts);
    cli_parse(&syntax, argc, argv, o);
    if (settle_trace(o, e))
        return -1;
    o->command = command_of_argv(argc, argv, texts);
    return 0;
}
