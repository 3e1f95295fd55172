/* systole check models: does a training step of whole models compile and run, on slices? */
#include "cli/validate/check.h"
#include "cli/common/options.h"

#include "base/outfile.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/compile/compile.h"
#include "cli/validate/apart.h"
#include "stack/module/index_assume.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MODELS_MAX 256
#define LIST_MAX 16
#define SECONDS_MAX 60                  /* of processor time, for compiling */
#define RUN_SECONDS_MAX 300             /* and all of it */
#define PLACING_MAX 1.2                 /* HBM in use, of what is alive at once */
#define SMALL_BATCH 8                   /* which must fit */

enum step_outcome { STEP_DONE, STEP_LARGE, STEP_REFUSED, STEP_FAULT };

struct step_result {
    enum step_outcome outcome;
    int64_t kernels, predicted, cycles, hbm_bytes, alive_bytes, limit_bytes, largest;
    double seconds;                     /* of processor time that compiling took */
    char message[512];
};

struct arguments {
    const char *model[MODELS_MAX];
    int model_count;
    struct cli_list set;
    const char *tpus, *batches, *json;
    int policy;
    bool is_compiled_only;
};

struct models {
    const struct arguments *args;
    struct arena a;
    const char *tpu[LIST_MAX];
    int64_t batch[LIST_MAX];
    int tpu_count, batch_count;
    int tried, large, failed;
    FILE *json;                         /* or NULL */
    struct progress progress;
};

#define AT(member) CLI_AT(struct arguments, member)

static int add_model(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->model_count == MODELS_MAX)
        return err_set(e, "at most %d files and folders", MODELS_MAX);
    args->model[args->model_count++] = text;
    return 0;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->model_count ? 0 : err_set(e, "which models? files, or folders of files");
}

static const struct cli_option options[] = {
    {"tpu", 't', "NAME[,NAME…]", "chips or slices (default: %s)", 1, CLI_TEXT, AT(tpus)},
    CLI_ROW_SET(struct arguments, set, 1),
    {"batch", 0, "N[,N…]", "samples of a core's step (default: %s)", 1, CLI_TEXT, AT(batches)},
    {"policy", 0, "NAME", "float32 (default) or mixed_bfloat16", 1, CLI_CHOICE, AT(policy),
     .words = "float32|mixed_bfloat16"},
    {"compile-only", 0, NULL, "tell the cycles that are predicted, and simulate none", 2, CLI_FLAG,
     AT(is_compiled_only)},
    CLI_ROW_JSON(struct arguments, json, 3),
    {0}};

static const struct cli_syntax syntax = {
    .own = {options, NULL, check}, .argument = add_model, .args_doc = "FILE|FOLDER...",
    .doc =
    "Compile the training step of each model for each slice and batch, run it in timing mode, and "
    "print a table.\v"
    "FILE is a Keras model as model.to_json() writes it; of a FOLDER all files whose names end so. "
    "A step whose arrays do not fit the HBM is told with what is alive at its fullest moment, and "
    "with the largest batch that fits.\n\n"
    "Exit status: 0 all compile in 60 s of processor time, run, and take at most 1.2 times the HBM "
    "that is alive at once, or do not fit with a batch above 8; 1 one does not; 2 wrong usage.\n\n"
    "Examples:\n"
    "  systole check models examples/mnist_mlp.json\n"
    "  systole check models applications/ --tpu v3-8,v5e-8 --batch 8,32,128"};

/* ----- one step, in a process of its own */

struct step { const char *model, *tpu; int64_t batch; const struct arguments *args; };

static int launch(const struct module *m, const struct graph *g, const struct slice *slice,
                  const struct chip *chip, struct arena *a, struct step_result *r, struct err *e)
{
    int replicas = compile_replicas_on(slice);
    bool one_chip = replicas > 1 && compile_chips_are_alike(slice, m);
    struct compile_launch l = {.slice = slice, .chip = chip, .one_chip = one_chip, .graph = g,
                               .cores = one_chip ? (int)chip->chip_cores : replicas};
    struct compile_times times;

    index_data_parse(&l.indices, "uniform");
    if (compile_run(m, &l, a, &times, e))
        return -1;
    r->cycles = times.total_cycles;
    return 0;
}

static enum step_outcome make_step(const struct step *s, struct step_result *r, struct err *e)
{
    struct compile_request o = {.model = s->model, .batch = s->batch, .optimizer = RULE_ADAM,
                                .target = {.tpu = s->tpu, .set = s->args->set},
                                .policy = s->args->policy > 0 ? KERAS_MIXED_BFLOAT16
                                                              : KERAS_FLOAT32};
    struct arena *a = mem_alloc(sizeof(*a));
    struct module *m = mem_alloc(sizeof(*m));
    struct module_settings settings;
    struct slice slice;
    struct chip *chip = mem_alloc(sizeof(*chip));
    clock_t since = clock();
    struct graph g;
    int status;

    arena_init(a);
    graph_init(&g, a, "empty");
    if (cli_load_slice(&o.target, &slice, chip, NULL, a, e))
        return STEP_REFUSED;
    o.replica_count = compile_replicas_on(&slice);
    if (compile_make_graph(&o, &g, a, e))
        return STEP_REFUSED;
    index_assume(&g);
    settings = compile_settings(&o, &slice, chip);
    status = module_compile(&g, &settings, a, m, e);
    r->hbm_bytes = m->hbm_bytes;
    r->alive_bytes = m->alive_bytes;
    r->limit_bytes = m->hbm_limit;
    r->kernels = m->kernel_count;
    r->seconds = (double)(clock() - since) / CLOCKS_PER_SEC;
    if (status && m->hbm_bytes > m->hbm_limit) {
        r->largest = compile_largest_batch(&o, &settings, m);
        return STEP_LARGE;
    }
    if (status)
        return STEP_REFUSED;
    for (int i = 0; i < m->kernel_count; i++)
        r->predicted += m->kernel[i].segment->cost.total_cycles * m->kernel[i].times;
    return !s->args->is_compiled_only && launch(m, &g, &slice, chip, a, r, e) ? STEP_FAULT
                                                                              : STEP_DONE;
}

/* the process ends, and with it its memory */
static void run_step(void *user, void *shared)
{
    struct step_result *r = shared;
    struct err e = {0};

    r->outcome = make_step(user, r, &e);
    snprintf(r->message, sizeof(r->message), "%s", r->outcome == STEP_DONE ? "" : e.msg);
}

/* ----- the table */

static const char *name_of(const char *path)
{
    const char *stroke = strrchr(path, '/');

    return stroke ? stroke + 1 : path;
}

/* what is wrong with it; "": nothing */
static const char *verdict(const struct step *s, const struct step_result *r,
                           const struct apart_end *end)
{
    if (end->kind != APART_DONE)
        return end->message;
    if (r->outcome == STEP_REFUSED || r->outcome == STEP_FAULT)
        return r->message;
    if (r->outcome == STEP_LARGE && (s->batch <= SMALL_BATCH || r->largest == 0))
        return r->message;
    if (r->outcome == STEP_DONE && (double)r->hbm_bytes > PLACING_MAX * (double)r->alive_bytes)
        return "takes more than 1.2 times the HBM that is alive at once";
    return r->seconds > SECONDS_MAX ? "takes more than 60 s to compile" : "";
}

static void print_row(struct models *m, const struct step *s, const struct step_result *r,
                      const char *wrong)
{
    int64_t cycles = s->args->is_compiled_only ? r->predicted : r->cycles;
    char name[32];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(name_of(s->model), "."), name_of(s->model));
    progress_wipe(&m->progress);
    printf("%-20s %-8s %5lld  ", name, s->tpu, (long long)s->batch);
    if (r->outcome == STEP_DONE && !*wrong)
        printf("%7lld %16s", (long long)r->kernels, text_thousands(cycles).text);
    else
        printf("%24s", r->outcome == STEP_LARGE ? "does not fit" : "fails");
    printf("  %9s  %9s  %5.2f  %6.1f", text_bytes(r->hbm_bytes).text,
           text_bytes(r->alive_bytes).text,
           r->alive_bytes > 0 ? (double)r->hbm_bytes / (double)r->alive_bytes : 0, r->seconds);
    if (r->outcome == STEP_LARGE)
        printf("  largest batch %lld", (long long)r->largest);
    printf("\n");
    if (*wrong)
        printf("    %s\n", wrong);
    else if (r->outcome == STEP_LARGE)
        printf("    %s\n", r->message);
    fflush(stdout);
}

static void write_json(struct models *m, const struct step *s, const struct step_result *r,
                       const char *wrong)
{
    static const char *const names[] = {"done", "does not fit", "refused", "fault"};

    if (m->json)
        fprintf(m->json, "%s\n  {\"model\": \"%s\", \"tpu\": \"%s\", \"batch\": %lld, "
                "\"outcome\": \"%s\", \"fails\": %s, \"predicted\": %lld, \"cycles\": %lld, "
                "\"hbm_bytes\": %lld, \"alive_bytes\": %lld, \"largest\": %lld}",
                m->tried > 1 ? "," : "", name_of(s->model), s->tpu, (long long)s->batch,
                names[r->outcome], *wrong ? "true" : "false", (long long)r->predicted,
                (long long)r->cycles, (long long)r->hbm_bytes, (long long)r->alive_bytes,
                (long long)r->largest);
}

static int try_step(struct models *m, const char *model, const char *tpu, int64_t batch,
                    struct err *e)
{
    const struct step s = {model, tpu, batch, m->args};
    struct step_result r;
    struct apart_end end;
    const char *wrong;

    progress_fraction(&m->progress, name_of(model), 0);
    if (apart_run(run_step, (void *)&s, &r, sizeof(r), RUN_SECONDS_MAX, &end, e))
        return -1;
    wrong = verdict(&s, &r, &end);
    m->tried++;
    m->large += r.outcome == STEP_LARGE && !*wrong;
    m->failed += *wrong != '\0';
    print_row(m, &s, &r, wrong);
    write_json(m, &s, &r, wrong);
    return 0;
}

static int try_model(struct models *m, const char *model, struct err *e)
{
    for (int t = 0; t < m->tpu_count; t++)
        for (int b = 0; b < m->batch_count; b++)
            if (try_step(m, model, m->tpu[t], m->batch[b], e))
                return -1;
    return 0;
}

/* ----- what is asked for */

static int is_model(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int try_folder(struct models *m, const char *folder, struct err *e)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, is_model, alphasort), status = 0;

    if (count < 0)
        return err_set(e, "%s: cannot be read", folder);
    if (count == 0)
        status = err_set(e, "%s: holds no .json files", folder);
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = try_model(m, arena_printf(&m->a, "%s/%s", folder, entry[i]->d_name), e);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static int read_lists(struct models *m, struct err *e)
{
    char *list = arena_strdup(&m->a, m->args->tpus), *text;

    while ((text = strtok_r(list, ",", &list)))
        if (m->tpu_count < LIST_MAX)
            m->tpu[m->tpu_count++] = text;
    list = arena_strdup(&m->a, m->args->batches);
    while ((text = strtok_r(list, ",", &list)))
        if (m->batch_count == LIST_MAX ||
            text_parse_int(text, 1, 1 << 20, &m->batch[m->batch_count++]))
            return err_set(e, "--batch is \"%s\", allowed are up to %d whole numbers in 1..%d",
                           m->args->batches, LIST_MAX, 1 << 20);
    return m->batch_count && m->tpu_count ? 0 : err_set(e, "--tpu or --batch names nothing");
}

static int try_all(struct models *m, struct err *e)
{
    struct stat what;
    int status = 0;

    printf("model                slice    batch  kernels           cycles        HBM      alive  "
           "times       s\n");
    for (int i = 0; i < m->args->model_count && status == 0; i++) {
        const char *path = m->args->model[i];
        bool is_folder = stat(path, &what) == 0 && S_ISDIR(what.st_mode);

        status = is_folder ? try_folder(m, path, e) : try_model(m, path, e);
    }
    if (status)
        return -1;
    printf("\n%d steps, %d of them larger than the HBM; cycles %s, HBM beside what is alive at "
           "once\n", m->tried, m->large,
           m->args->is_compiled_only ? "predicted" : "simulated");
    return m->failed ? err_set(e, "%d of %d steps fail", m->failed, m->tried) : 0;
}

static int with_json(struct models *m, struct err *e)
{
    struct outfile f;
    int status;

    if (!m->args->json)
        return try_all(m, e);
    if (outfile_begin(&f, m->args->json, e))
        return -1;
    m->json = f.to;
    fprintf(f.to, "[");
    status = try_all(m, e);
    fprintf(f.to, "]\n");
    return m->tried ? outfile_commit(&f, status ? &(struct err){0} : e) || status
                    : (outfile_abandon(&f), -1);
}

int check_run_models(int argc, char **argv)
{
    struct arguments args = {.tpus = "v2-8,v3-8,v5e-8,v6e-8", .batches = "8,32,128"};
    struct models m = {.args = &args};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&m.a);
    progress_begin(&m.progress, 1);
    status = read_lists(&m, &e) || with_json(&m, &e) ? -1 : 0;
    progress_wipe(&m.progress);
    status = status ? cli_fail(&e) : 0;
    arena_fini(&m.a);
    return status;
}
