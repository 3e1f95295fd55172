/* Parses the options of `systole train`. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/train/train.h"

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

static void set_standards(struct train_options *o)
{
    struct err e;

    *o = (struct train_options){.trace = TRACE_OPTIONS_DEFAULT};
    for (int i = 0; i < OPT_COUNT; i++) {
        int status = set_value(&o->value[i], &rows[i], rows[i].standard, &e);

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

/* The table's rows, under a heading per section. */
static void list_options(struct cli_option *list, const struct train_options *standards,
                         struct arena *a)
{
    static const char *const headings[][2] = {
        {"data", "Data:"}, {"train", "Training:"}, {"optimizer", "Optimizer:"},
        {"numerics", "Numerics:"}, {"machine", "Machine:"}, {"output", "Output:"},
    };

    for (size_t h = 0; h < COUNT_OF(headings); h++) {
        *list++ = (struct cli_option){.kind = CLI_HEADING, .doc = headings[h][1],
                                      .group = (int)h + 1};
        for (int i = 0; i < OPT_COUNT; i++) {
            const char *standard = standards->value[i].text;
            bool shows = rows[i].kind != FLAG && *standard && strcmp(standard, "0") != 0;

            if (strcmp(rows[i].section, headings[h][0]) == 0)
                *list++ = (struct cli_option){
                    .name = rows[i].name, .arg = rows[i].arg, .group = (int)h + 1,
                    .kind = CLI_OTHER, .parse = parse_value, .lo = i,
                    .letter = i == OPT_TPU ? 't' : 0,
                    .doc = shows ? arena_printf(a, "%s (default: %s)", rows[i].meaning, standard)
                                 : rows[i].meaning};
        }
    }
    *list = (struct cli_option)CLI_ROW_SET(struct train_options, set, 5);
}

static const char doc[] =
    "Trains the Keras model in MODEL.json (the file that model.to_json() writes) on a simulated "
    "slice of TPU chips: forward, backward, all-reduce of the gradients and update run as "
    "instructions on the simulated cores.\v"
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
    "  systole train examples/mnist_mlp.json --steps 2 --trace two.pftrace";

static int settle_trace(struct train_options *o, struct err *e)
{
    const char *out = o->value[OPT_OUT].text;
    bool has_folder = *out && o->value[OPT_BACKEND].integer != 1;

    return trace_options_for_folder(&o->trace, has_folder ? out : NULL,
                                    (enum run_mode)o->value[OPT_MODE].integer, e);
}

int train_options_read(struct train_options *o, struct arena *texts, int argc, char **argv,
                       struct err *e)
{
    struct cli_option list[OPT_COUNT + 16] = {{0}};
    static const struct cli_part parts[] = {
        {&cli_trace_options, offsetof(struct train_options, trace)}, {0}};
    const struct cli_syntax syntax = {
        .own = {list, parts, check}, .noun = "model",
        .noun_at = offsetof(struct train_options, model_path),
        .noun_hint = "(a Keras JSON file, such as examples/mnist_mlp.json)",
        .args_doc = "MODEL.json", .doc = doc};

    set_standards(o);
    o->texts = texts;
    list_options(list, o, texts);
    cli_parse(&syntax, argc, argv, o);
    if (settle_trace(o, e))
        return -1;
    o->command = command_of_argv(argc, argv, texts);
    return 0;
}
