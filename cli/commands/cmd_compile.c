/* systole compile: a model to the program of a core, and what it is made of. */
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/compile/compile.h"
#include "base/progress.h"
#include "isa/disasm.h"
#include "report/folder/report.h"
#include "stack/module/index_assume.h"
#include "stack/nn/zoo.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_SET = 256, KEY_CODEGEN, KEY_EMIT, KEY_OUT, KEY_DUMP, KEY_TUNE, KEY_CACHE, KEY_RUN,
    KEY_BATCH, KEY_POLICY, KEY_OPTIMIZER, KEY_INFERENCE, KEY_LIST, KEY_INDEX, KEY_NO_MEGACORE,
    KEY_BUCKET, KEY_NO_OVERLAP, KEY_ALL_CHIPS
};

static const struct argp_option options[] = {
    {"tpu", 't', "CHIP", 0,
     "chip to compile for (default: v5e): one core of it, on v4 and v5p both as one device; of a "
     "slice of several chips, as in v3-8, every core, each with a batch of its own", 1},
    {"no-megacore", KEY_NO_MEGACORE, 0, 0, "compile for one core on v4 and v5p, too", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"codegen", KEY_CODEGEN, "POLICY", 0,
     "xla (default): as XLA would compile it; best: as well as we can", 1},
    {"list", KEY_LIST, 0, 0, "list the models known by name with their options, and exit", 1},
    {"batch", KEY_BATCH, "N", 0, "samples of a step, of a JSON file (default: 256)", 2},
    {"policy", KEY_POLICY, "NAME", 0, "likewise: float32 (default) or mixed_bfloat16", 2},
    {"optimizer", KEY_OPTIMIZER, "NAME", 0, "likewise, by Keras's name (default: Adam)", 2},
    {"inference", KEY_INFERENCE, 0, 0, "likewise: evaluation instead of a training step", 2},
    {"bucket", KEY_BUCKET, "SIZE", 0,
     "of several chips: gradients that are all-reduced together, with K, M, G for powers of 1024 "
     "(default: by links, latency, and what hides them)", 2},
    {"all-chips", KEY_ALL_CHIPS, 0, 0,
     "likewise, with --run: simulate every chip (default: the first one stands for all where none "
     "is special: axes that are rings or two chips long)", 3},
    {"no-overlap", KEY_NO_OVERLAP, 0, 0, "likewise: no kernel runs beside an all-reduce", 2},
    {"run", KEY_RUN, 0, 0, "simulate one step, too: cycles of each kernel", 3},
    {"assume-index", KEY_INDEX, "WHAT", 0,
     "with --run: rows that gathers and scatters ask for: uniform (default), zipf, or a file of "
     "numbers", 3},
    {"tune", KEY_TUNE, 0, 0, "time each kernel with its tilings, and take the fastest", 3},
    {"tune-cache", KEY_CACHE, "FILE", 0,
     "tilings found before, and by --tune now (its default: tune.txt)", 3},
    {"emit", KEY_EMIT, "WHAT", 0,
     "graph: HLO with layouts and places; llo: each kernel's operations before they are "
     "scheduled, in virtual registers; bundles: assembly; listing: bundles with how often each "
     "issued and how long it waited (needs --run)", 4},
    {"dump-after", KEY_DUMP, "PASS", 0, "print the graph after this pass, or after all", 4},
    {"out", KEY_OUT, "DIR", 0, "write what --emit and --dump-after say to files there", 4},
    {0}};

/* index of `text` among the words, or a usage error that lists them */
static int choose(const char *option, const char *text, const char *const *words, int count,
                  struct argp_state *state)
{
    char all[120] = "";

    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", words[i]);
    }
    argp_error(state, "%s is \"%s\", allowed are %s", option, text, all);
    return 0;
}

static const char *const policies[] = {"xla", "best"};
static const char *const precisions[] = {"float32", "mixed_bfloat16"};
static const char *const emits[] = {"graph", "llo", "bundles", "listing"};

static void check_stage(const char *name, struct argp_state *state)
{
    const char *const *names;
    size_t count;
    char all[200] = "";

    if (module_is_stage(name, &names, &count))
        return;
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", names[i]);
    argp_error(state, "--dump-after is \"%s\", allowed are %s", name, all);
}

static void finish(struct compile_request *o, struct argp_state *state)
{
    if (!o->model)
        argp_error(state, "which model? A Keras model's JSON file, or a name (see --list)");
    if (o->model && o->json_option && !compile_is_file(o->model))
        argp_error(state, "%s is an option of JSON files; of a named model it is written behind "
                   "the name, e.g. %s:train,batch=8 (see --list)", o->json_option, o->model);
    if (o->emit == EMIT_LISTING && !o->is_run)
        argp_error(state, "--emit listing tells how often bundles issued: it needs --run");
    if (o->is_tuned && !o->tune_cache)
        o->tune_cache = "tune.txt";
}

static void note_json_option(struct compile_request *o, int key)
{
    static const int keys[] = {KEY_BATCH, KEY_POLICY, KEY_OPTIMIZER, KEY_INFERENCE};
    static const char *const names[] = {"--batch", "--policy", "--optimizer", "--inference"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (key == keys[i])
            o->json_option = names[i];
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct compile_request *o = state->input;
    struct err e;

    note_json_option(o, key);
    switch (key) {
    case 't': o->tpu = arg; return 0;
    case KEY_SET: cli_list_add(&o->set, arg, state); return 0;
    case KEY_CODEGEN:
        o->codegen = (enum codegen)choose("--codegen", arg, policies, 2, state);
        return 0;
    case KEY_BATCH:
        if (text_parse_int(arg, 1, 1 << 20, &o->batch) != 0)
            argp_error(state, "--batch is \"%s\", allowed are whole numbers in 1..%d", arg,
                       1 << 20);
        return 0;
    case KEY_POLICY:
        o->policy = (enum keras_policy)choose("--policy", arg, precisions, 2, state);
        return 0;
    case KEY_OPTIMIZER:
        if (optimizer_find(arg, &o->optimizer, &e))
            argp_error(state, "--optimizer: %s", e.msg);
        return 0;
    case KEY_INFERENCE: o->is_inference = true; return 0;
    case KEY_NO_MEGACORE: o->no_megacore = true; return 0;
    case KEY_BUCKET:
        if (text_parse_bytes(arg, 1, (int64_t)1 << 40, &o->bucket_bytes) != 0)
            argp_error(state, "--bucket is \"%s\", allowed are sizes from 1 byte to 1T, as in 4M",
                       arg);
        return 0;
    case KEY_ALL_CHIPS: o->all_chips = true; return 0;
    case KEY_NO_OVERLAP: o->sums_wait = true; return 0;
    case KEY_RUN: o->is_run = true; return 0;
    case KEY_INDEX: o->assume_index = arg; return 0;
    case KEY_TUNE: o->is_tuned = true; return 0;
    case KEY_CACHE: o->tune_cache = arg; return 0;
    case KEY_EMIT:
        o->emit = (enum compile_emit)(1 + choose("--emit", arg, emits, 4, state));
        return 0;
    case KEY_DUMP:
        check_stage(arg, state);
        o->dump_after = arg;
        return 0;
    case KEY_OUT: o->folder = arg; return 0;
    case KEY_LIST:
        zoo_print(stdout);
        exit(0);
    case ARGP_KEY_ARG:
        if (o->model)
            argp_error(state, "only one model may be given, not \"%s\" and \"%s\"", o->model, arg);
        o->model = arg;
        return 0;
    case ARGP_KEY_END: finish(o, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Compile a step of a model, kernel by kernel, and show what each costs. MODEL is a Keras "
    "model's JSON file, or a name with options.\v"
    "Examples:\n"
    "  systole compile resnet50:train,batch=8 --tpu v5e --run\n"
    "  systole compile resnet50:train,batch=128 --tpu v3-8 --run\n"
    "  systole compile examples/mnist_mlp.json --tpu v5e --run\n"
    "  systole compile examples/mnist_mlp.json --dump-after fusion\n"
    "  systole compile examples/mnist_mlp.json --tpu v3 --tune --tune-cache v3.txt --run\n"
    "  systole compile examples/mnist_mlp.json --run --emit listing --out listing/";

static const struct argp parser = {options, parse_option, "MODEL", doc, NULL, NULL, NULL};

struct session {
    struct compile_request *o;
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct graph graph;
    struct tuning *tuning;
    struct module module;
    struct compile_times times;
    struct index_data indices;
    struct progress progress;
};

static void on_stage(void *user, const char *stage, int done, int count)
{
    struct session *s = user;

    if (count > 0)
        progress_fraction(&s->progress, stage, (double)done / (double)count);
}

/* a file of the folder; standard output where none is wanted */
static int begin_file(struct session *s, const char *name, struct outfile *f, struct err *e)
{
    f->to = stdout;
    if (!s->o->folder)
        return 0;
    return outfile_begin(f, arena_printf(&s->arena, "%s/%s", s->o->folder, name), e);
}

static int end_file(struct session *s, struct outfile *f, struct err *e)
{
    return s->o->folder ? outfile_commit(f, e) : 0;
}

static int compile(struct session *s, bool may_dump, struct err *e)
{
    int replicas = s->o->replica_count;
    struct module_settings m = {.chip = &s->chip, .codegen = s->o->codegen,
                                .replica_count = replicas, .slice = replicas > 1 ? &s->slice : NULL,
                                .megacore = s->chip.chip_megacore && !s->o->no_megacore &&
                                            replicas == 1,
                                .bucket_bytes = s->o->bucket_bytes, .sums_wait = s->o->sums_wait,
                                .tuning = s->tuning, .on_stage = on_stage,
                                .user = s};
    bool dumps = may_dump && s->o->dump_after;
    struct outfile f;
    int status;

    if (dumps && begin_file(s, "passes.hlo", &f, e))
        return -1;
    m.dump_after = dumps ? s->o->dump_after : NULL;
    m.dump_to = dumps ? f.to : NULL;
    progress_begin(&s->progress, 1);
    status = module_compile(&s->graph, &m, &s->arena, &s->module, e);
    progress_wipe(&s->progress);
    if (status && dumps && s->o->folder)
        outfile_abandon(&f);
    if (status)
        return cli_add_chip(s->o->tpu, e);
    return dumps ? end_file(s, &f, e) : 0;
}

static int tune(struct session *s, struct err *e)
{
    compile_tune(&s->module, &s->slice, s->tuning);
    return tuning_save(s->tuning, s->o->tune_cache, e) || compile(s, false, e);
}

static int emit(struct session *s, struct err *e)
{
    static const char *const names[] = {"", "module.hlo", "kernels.llo", "program.tasm",
                                        "listing.txt"};
    struct outfile f;
    int status = 0;

    if (s->o->emit == EMIT_NOTHING)
        return 0;
    if (begin_file(s, names[s->o->emit], &f, e))
        return -1;
    if (s->o->emit == EMIT_GRAPH)
        module_dump_graph(&s->module, f.to);
    else if (s->o->emit == EMIT_LLO)
        status = module_dump_llo(&s->module, f.to, e);
    else if (s->o->emit == EMIT_BUNDLES)
        isa_print_program(&s->module.linked[0].program, f.to);
    else
        compile_print_listing(&s->module, &s->times, f.to);
    if (status && s->o->folder)
        outfile_abandon(&f);
    return status ? -1 : end_file(s, &f, e);
}

static int prepare(struct session *s, struct err *e)
{
    struct compile_request *o = s->o;
    int32_t first;

    index_data_parse(&s->indices, o->assume_index);
    if (index_data_fill(&s->indices, INT32_MAX, 0, &first, 1, e) ||
        cli_load_slice(o->tpu, &o->set, &s->slice, &s->chip, NULL, &s->arena, e) ||
        (o->tune_cache && tuning_load(s->tuning, o->tune_cache, e)) ||
        (o->is_tuned && outfile_check(o->tune_cache, e)) ||
        (o->folder && report_make_folder(o->folder, e)))
        return -1;
    o->replica_count = s->slice.chip_count > 1 ? s->slice.core_count : 1;
    if (compile_make_graph(o, &s->graph, &s->arena, e))
        return -1;
    if (o->is_run)
        index_assume(&s->graph);
    return 0;
}

/* no chip is special: the same neighbours everywhere */
static bool chips_are_alike(const struct slice *slice)
{
    for (int i = 0; i < slice->dims; i++)
        if (slice->dim[i] > 2 && !slice->is_ring[i])
            return false;
    return !slice->is_twisted;
}

static int launch(struct session *s, struct err *e)
{
    bool one_chip = s->o->replica_count > 1 && !s->o->all_chips && chips_are_alike(&s->slice);
    int cores = one_chip ? (int)s->chip.chip_cores : s->o->replica_count;
    struct compile_launch l = {.slice = &s->slice, .chip = &s->chip, .cores = cores,
                               .one_chip = one_chip,
                               .per_bundle = s->o->emit == EMIT_LISTING, .graph = &s->graph,
                               .indices = s->indices};

    return compile_run(&s->module, &l, &s->arena, &s->times, e);
}

static int run(struct session *s, struct err *e)
{
    const struct compile_request *o = s->o;

    if (prepare(s, e) || compile(s, true, e) || (o->is_tuned && tune(s, e)))
        return -1;
    if (o->is_run && launch(s, e))
        return -1;
    compile_print_summary(&s->module, o, &s->slice, &s->chip, o->is_run ? &s->times : NULL);
    return emit(s, e);
}

int cmd_compile(int argc, char **argv)
{
    struct compile_request o = {
        .tpu = "v5e", .batch = 256, .assume_index = "uniform", .optimizer = RULE_ADAM};
    struct session s = {.o = &o, .tuning = tuning_create()};
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &o);
    arena_init(&s.arena);
    graph_init(&s.graph, &s.arena, "empty");
    status = run(&s, &e) ? cli_fail(&e) : 0;
    graph_fini(&s.graph);
    tuning_destroy(s.tuning);
    arena_fini(&s.arena);
    return status;
}
