/* systole compile: a model to the program of a core, and what it is made of. */
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "base/units.h"
#include "cli/compile/compile.h"
#include "base/progress.h"
#include "import/read/read.h"
#include "isa/disasm.h"
#include "report/folder/report.h"
#include "stack/module/index_assume.h"
#include "stack/nn/zoo.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) CLI_AT(struct compile_request, member)

static int parse_optimizer(const struct cli_option *o, const char *text, void *values,
                           struct err *e)
{
    struct compile_request *r = values;
    struct err why;

    (void)o;
    r->has_optimizer = true;
    return optimizer_find(text, &r->optimizer, &why) ? err_set(e, "--optimizer: %s", why.msg) : 0;
}

static int parse_stage(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct compile_request *r = values;
    const char *const *names;
    size_t count;
    char all[200] = "";

    (void)o;
    r->dump_after = text;
    if (module_is_stage(text, &names, &count))
        return 0;
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", names[i]);
    return err_set(e, "--dump-after is \"%s\", allowed are %s", text, all);
}

static int list_models(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    (void)o;
    (void)text;
    (void)values;
    (void)e;
    zoo_print(stdout);
    exit(0);
}

static const struct cli_option options[] = {
    {"no-megacore", 0, NULL, "for one core on v4 and v5p, too, which are compiled for as one "
     "device of both", 1, CLI_FLAG, AT(no_megacore)},
    CLI_ROW_CODEGEN(struct compile_request, codegen, 1),
    {"list", 0, NULL, "list the models known by name with their options, and exit", 1, CLI_OTHER,
     .parse = list_models},
    {"batch", 0, "N", "of a JSON file: samples of a step (default: 256)", 2, CLI_WHOLE, AT(batch),
     .lo = 1, .hi = 1 << 20},
    {"input-shape", 0, "SIZES", "likewise, of samples, where the file leaves them open: 28x28x1, or "
     "by input, image=28x28x1,ids=64", 2, CLI_TEXT, AT(input_sizes)},
    {"policy", 0, "NAME", "likewise: float32 or mixed_bfloat16 (default: what the file says)", 2, CLI_CHOICE,
     AT(policy_given), .words = "float32|mixed_bfloat16"},
    {"optimizer", 0, "NAME", "likewise, by Keras's name (default: Adam)", 2, CLI_OTHER,
     .parse = parse_optimizer},
    {"inference", 0, NULL, "likewise: evaluation instead of a training step", 2, CLI_FLAG,
     AT(is_inference)},
    {"bucket", 0, "SIZE",
     "of several chips: gradients that are all-reduced together, with K, M, G for powers of 1024 "
     "(default: by links, latency, and what hides them)", 2, CLI_BYTES, AT(bucket_bytes), .lo = 1,
     .hi = (int64_t)1 << 40},
    {"all-chips", 0, NULL,
     "likewise, with --run: simulate every chip (default: the first one stands for all where all "
     "do the same: axes that are rings or two chips long, and from 16 chips on meshes, too)", 3, CLI_FLAG, AT(all_chips)},
    {"no-overlap", 0, NULL, "likewise: no kernel runs beside an all-reduce", 2, CLI_FLAG,
     AT(sums_wait)},
    {"run", 0, NULL, "simulate one step, too: cycles of each kernel", 3, CLI_FLAG, AT(is_run)},
    {"assume-index", 0, "WHAT",
     "with --run: rows that gathers and scatters ask for: uniform (default), zipf, or a file of "
     "numbers", 3, CLI_TEXT, AT(assume_index)},
    {"assume-trips", 0, "N",
     "likewise, of a program of HLO: how often loops run that end by a computed condition", 3,
     CLI_WHOLE, AT(assume_trips), .lo = 1, .hi = INT32_MAX},
    {"assume-branch", 0, "WHICH", "likewise: which computation a conditional takes; of "
     "numbered ones true is the first, false the last", 3, CLI_CHOICE,
     AT(assume_branch), .words = "none|true|false"},
    {"assume-constants", 0, NULL, "others stand for elements of constants that the file leaves "
     "out, {...}", 3, CLI_FLAG, AT(assumes_constants)},
    {"as-is", 0, NULL, "of a program that its compiler has optimized and scheduled: keep its kernels, their order, layouts, places and copies, and show its estimates beside ours", 3, CLI_FLAG, AT(is_kept)},
    {"json", 0, NULL, "with --as-is: print the table of units as JSON, and nothing else", 4, CLI_FLAG,
     AT(is_json)},
    {"tune", 0, NULL, "time each kernel with its tilings, and take the fastest", 3, CLI_FLAG,
     AT(is_tuned)},
    {"tune-cache", 0, "FILE", "tilings found before, and by --tune now (its default: tune.txt)", 3,
     CLI_TEXT, AT(tune_cache)},
    {"emit", 0, "WHAT",
     "graph: HLO with layouts and places; llo: each kernel's operations before they are "
     "scheduled, in virtual registers; bundles: assembly; listing: bundles with how often each "
     "issued and how long it waited (needs --run)", 4, CLI_CHOICE, AT(emit),
     .words = "graph|llo|bundles|listing"},
    {"dump-after", 0, "PASS", "print the graph after this pass, or after all", 4, CLI_OTHER,
     .parse = parse_stage},
    {"out", 0, "DIR", "write what --emit and --dump-after say to files there", 4, CLI_TEXT,
     AT(folder)},
    {0}};

/* options of JSON files: given where they are not as at first */
static const char *json_option(const struct compile_request *o)
{
    return o->batch ? "--batch" : o->policy_given >= 0 ? "--policy"
           : o->has_optimizer ? "--optimizer" : o->is_inference ? "--inference"
           : o->input_sizes ? "--input-shape" : NULL;
}

static int check(void *values, struct err *e)
{
    struct compile_request *o = values;

    if (json_option(o) && !compile_is_file(o->model))
        return err_set(e, "%s is an option of JSON files; of a named model it is written behind "
                       "the name, e.g. %s:train,batch=8 (see --list)", json_option(o), o->model);
    if (json_option(o) && program_is_file(o->model))
        return err_set(e, "%s is an option of Keras models; %s is a program, whose shapes are fixed",
                       json_option(o), o->model);
    if (o->is_kept && !(compile_is_file(o->model) && program_is_file(o->model)))
        return err_set(e, "--as-is keeps what a compiler has decided in a scheduled program of HLO; %s "
                       "is none", o->model);
    if (o->is_json && !o->is_kept)
        return err_set(e, "--json prints what --as-is compares: it needs --as-is");
    if (o->emit == EMIT_LISTING && !o->is_run)
        return err_set(e, "--emit listing tells how often bundles issued: it needs --run");
    if (o->is_tuned && !o->tune_cache)
        o->tune_cache = "tune.txt";
    o->batch = o->batch ? o->batch : 256;
    o->policy = o->policy_given > 0 ? KERAS_MIXED_BFLOAT16 : KERAS_FLOAT32;
    return 0;
}

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct compile_request, target)}, {0}};

static const char doc[] =
    "Compile a step of a model, kernel by kernel, and show what each costs. MODEL is a Keras "
    "model's JSON file, a program of HLO or StableHLO, or a name with options.\v"
    "It is compiled for one core of a chip, on v4 and v5p for both as one device; of a slice of "
    "several chips, as in v3-8, for every core, each with a batch of its own.\n\n"
    "Examples:\n"
    "  systole compile resnet50:train,batch=8 --tpu v5e --run\n"
    "  systole compile resnet50:train,batch=128 --tpu v3-8 --run\n"
    "  systole compile examples/mnist_mlp.json --tpu v5e --run\n"
    "  systole compile step.after_optimizations.txt --tpu v6e --as-is --run\n"
    "  systole compile step.mlirbc --tpu v6e --run --assume-trips 10\n"
    "  systole compile examples/mnist_mlp.json --dump-after fusion\n"
    "  systole compile examples/mnist_mlp.json --tpu v3 --tune --tune-cache v3.txt --run\n"
    "  systole compile examples/mnist_mlp.json --run --emit listing --out listing/";

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .noun = "model",
    .noun_at = offsetof(struct compile_request, model),
    .noun_hint = "A Keras model's JSON file, a program of HLO or StableHLO, or a name (see --list)", .args_doc = "MODEL",
    .doc = doc};

struct session {
    struct compile_request *o;
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct graph graph;
    struct tuning *tuning;
    struct outfile_lock lock;           /* of the tuning cache, until it is written */
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
    struct module_settings m = compile_settings(s->o, &s->slice, &s->chip);
    bool dumps = may_dump && s->o->dump_after;
    struct outfile f;
    int status;

    if (dumps && begin_file(s, "passes.hlo", &f, e))
        return -1;
    m.tuning = s->tuning;
    m.on_stage = on_stage;
    m.user = s;
    m.dump_after = dumps ? s->o->dump_after : NULL;
    m.dump_to = dumps ? f.to : NULL;
    progress_begin(&s->progress, 1);
    status = module_compile(&s->graph, &m, &s->arena, &s->module, e);
    progress_wipe(&s->progress);
    if (status && dumps && s->o->folder)
        outfile_abandon(&f);
    if (status) {
        compile_add_largest_batch(s->o, &m, &s->module, e);
        return cli_add_chip(&s->o->target, e);
    }
    return dumps ? end_file(s, &f, e) : 0;
}

static int tune(struct session *s, struct err *e)
{
    compile_tune(&s->module, &s->slice, s->tuning);
    return tuning_save(s->tuning, s->o->tune_cache, e) || compile(s, false, e);
}

static int emit(struct session *s, struct err *e)
{
    static const char *const names[] = {"module.hlo", "kernels.llo", "program.tasm",
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
        cli_load_slice(&o->target, &s->slice, &s->chip, NULL, &s->arena, e) ||
        (o->is_tuned && outfile_lock(&s->lock, o->tune_cache, e)) ||
        (o->tune_cache && tuning_load(s->tuning, o->tune_cache, e)) ||
        (o->is_tuned && outfile_check(o->tune_cache, e)) ||
        (o->folder && report_make_folder(o->folder, e)))
        return -1;
    o->replica_count = compile_replicas_on(&s->slice);
    if (compile_make_graph(o, &s->graph, &s->arena, e))
        return -1;
    if (o->is_run)
        index_assume(&s->graph);
    return 0;
}

static int launch(struct session *s, struct err *e)
{
    bool one_chip = s->o->replica_count > 1 && !s->o->all_chips &&
                    compile_chips_are_alike(&s->slice, &s->module);
    int cores = one_chip ? (int)s->chip.chip_cores : s->o->replica_count;
    struct compile_launch l = {.slice = &s->slice, .chip = &s->chip, .cores = cores,
                               .one_chip = one_chip, .shows_progress = true,
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
    if (o->is_json) {
        compile_print_kept_json(&s->module, o->kept, o->is_run ? &s->times : NULL);
        return emit(s, e);
    }
    compile_print_summary(&s->module, o, &s->slice, &s->chip, o->is_run ? &s->times : NULL);
    if (o->is_kept)
        compile_print_kept(&s->module, o->kept, o->is_run ? &s->times : NULL);
    return emit(s, e);
}

int cmd_compile(int argc, char **argv)
{
    struct compile_request o = {
        .target.tpu = "v5e", .emit = EMIT_NOTHING, .policy_given = -1, .assume_index = "uniform",
        .optimizer = RULE_ADAM};
    struct session s = {.o = &o, .tuning = tuning_create()};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &o);
    arena_init(&s.arena);
    graph_init(&s.graph, &s.arena, "empty");
    status = run(&s, &e) ? cli_fail(&e) : 0;
    graph_fini(&s.graph);
    tuning_destroy(s.tuning);
    outfile_unlock(&s.lock);
    arena_fini(&s.arena);
    return status;
}
