/* systole check programs: are programs of others read, compiled, and right, on the host and on cores? */
#include "cli/validate/check.h"

#include "base/outfile.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/common/fail.h"
#include "cli/common/options.h"
#include "cli/exec/exec.h"
#include "cli/validate/apart.h"
#include "cli/validate/programs_record.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define PATHS_MAX 256
#define LIST_MAX 16
#define TRIPS_ASSUMED 10                /* in timing mode, of loops that end by a condition */

/* a way to carry a program out */
enum way_kind { WAY_HOST, WAY_CORES, WAY_TIMING };
struct way { enum way_kind kind; const char *tpu; };

struct arguments {
    const char *path[PATHS_MAX];
    int path_count;
    const char *ways, *only, *samples, *record, *against;
    bool first_form;
    int64_t seconds;
};

/* of one program in one form and one way; from the process that tried it */
struct program_result {
    enum program_outcome outcome;
    int compared, left_out, wrong, worst;       /* worst: a result's number */
    double worst_relative, worst_allowed;
    int64_t cycles;
    int kernels;
    double seconds;
    char message[300];
};

struct programs {
    const struct arguments *args;
    struct arena a;
    struct program_list list;
    struct way way[LIST_MAX];
    int way_count, tried, failed;
    struct program_record record, before;       /* of this run; --against */
    int worse;
    struct progress progress;
};

#define AT(member) CLI_AT(struct arguments, member)

static int add_path(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->path_count == PATHS_MAX)
        return err_set(e, "at most %d files and folders", PATHS_MAX);
    args->path[args->path_count++] = text;
    return 0;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->path_count ? 0 : err_set(e, "which programs? files, or folders of programs");
}

static const struct cli_option options[] = {
    {"ways", 'w', "WAY[,WAY…]", "host, a chip (values on its cores), or timing:CHIP (default: %s)",
     1, CLI_TEXT, AT(ways)},
    {"only", 0, "TEXT", "programs whose names hold this text", 1, CLI_TEXT, AT(only)},
    {"first-form", 0, NULL, "one form of each program, not all that lie there", 1, CLI_FLAG,
     AT(first_form)},
    {"seconds", 0, "N", "for each try; more is a failure (default: %s)", 1, CLI_WHOLE, AT(seconds),
     .lo = 1, .hi = 36000},
    {"samples", 0, "DIR", "folder that the given ones lie in; paths of records begin there "
     "(default: %s)", 2, CLI_TEXT, AT(samples)},
    {"record", 0, "FILE", "write what became of each try, as CSV", 2, CLI_TEXT, AT(record)},
    {"against", 0, "FILE", "exit with status 1 only where a try is worse than in this record", 2,
     CLI_TEXT, AT(against)},
    {0}};

static const struct cli_syntax syntax = {
    .own = {options, NULL, check}, .argument = add_path, .args_doc = "FILE|FOLDER...",
    .doc =
    "Read programs of JAX, TensorFlow and PyTorch/XLA, carry them out, hold their results against "
    "those that lie beside them, and print a table.\v"
    "A FOLDER with an index.csv has a folder for each row, with program.*, inputs.safetensors and "
    "outputs.safetensors; a result may be off by what the row says of rounding (f32_error, "
    "sensitivity, err_jax), relative to its largest magnitude, and at least 2e-5 (bf16 2e-2, "
    "8 bits 5e-2); integers must be equal. Values are those of --precision highest of systole "
    "exec, timing is as the program says. Exit status 1 where one fails, or, with --against, where one has become worse: "
    "right, refused, wrong and fails is the order.\n\n"
    "Examples:\n"
    "  systole check programs programs/jax\n"
    "  systole check programs programs/tf --ways host,v5e,timing:v6e,timing:v3\n"
    "  systole check programs stablehlo --samples ../samples --against record.csv"};

/* ----- one try, in a process of its own */

struct try { const struct program_case *program; const char *form; struct way way;
             const struct arguments *args; };

static void compare(struct program_result *r, const struct program_case *c, struct exec_program *p,
                    const struct exec_tensor *expected)
{
    for (int i = 0; i < p->result_count; i++) {
        struct exec_difference d;

        if (!expected[i].data || !p->result[i].data)
            continue;
        if (program_is_left_out(c, i)) {
            r->left_out++;
            continue;
        }
        d = exec_compare(&p->result[i], &expected[i]);
        r->compared++;
        if (d.is_exact_type ? d.unequal > 0 : !(d.relative <= c->bound))
            r->wrong++;
        if (d.is_exact_type ? d.unequal > 0 : d.relative > r->worst_relative) {
            r->worst = i;
            r->worst_relative = d.relative;
        }
    }
    r->worst_allowed = c->bound;
    r->outcome = r->wrong ? PROGRAM_WRONG : PROGRAM_DONE;
}

/* results that lie beside the program; a bounded one has the size that it has turned out to have */
static int read_expected(const struct program_case *c, struct exec_program *p,
                         struct exec_tensor **expected, struct err *e)
{
    *expected = arena_array(&p->arena, (size_t)p->result_count + 1, sizeof(**expected));
    for (int i = 0; i < p->result_count; i++) {
        (*expected)[i] = p->result[i];
        (*expected)[i].data = NULL;
    }
    return exec_read_safetensors(c->outputs, (struct exec_tensors){*expected, p->result_count},
                                 (struct exec_tensors){NULL, 0}, &p->arena, e);
}

/* a program of several devices runs on a slice that has as many, if only a chip is named */
static const char *slice_of(const struct try *t, int devices, char name[48])
{
    int most = t->program->devices, cores = 4;

    if (strchr(t->way.tpu, '-') || (most == 1 && devices == 1))
        return t->way.tpu;
    while (most == 1 && cores < devices)
        cores *= 2;
    snprintf(name, 48, "%.30s-%d", t->way.tpu, most == 1 ? cores : most);
    return name;
}

static int carry_out(const struct try *t, struct program_result *r, struct exec_program *p,
                     struct err *e)
{
    struct exec_options o = {.run = OP_OPTIONS_DEFAULT, .file = t->form, .steps = 1, .seed = 1,
                             .inputs = t->program->inputs};
    bool has_values = t->way.kind != WAY_TIMING;
    struct exec_tensor *expected;
    char name[48];

    o.precision = has_values ? EXEC_HIGHEST : EXEC_AS_PROGRAM;
    o.is_quiet = o.run.is_quiet = true;
    o.run.trace.is_unwanted = true;
    o.run.assume_trips = has_values ? 0 : TRIPS_ASSUMED;
    o.run.assume_branch = has_values ? BRANCH_NONE : BRANCH_TRUE;
    o.assumes_constants = !has_values;
    o.run.engine.mode = has_values ? MODE_BOTH : MODE_TIMING;
    o.backend = t->way.kind == WAY_HOST ? EXEC_ON_HOST : EXEC_ON_CORES;
    if (exec_load(&o, p, e))
        return -1;
    if (t->way.tpu)
        o.run.target.tpu = slice_of(t, p->graph.devices, name);
    if (has_values && exec_make_inputs(&o, p, e))
        return -1;
    p->graph.queue_entries = exec_queue_entries(&o, p);
    if ((t->way.kind != WAY_HOST && program_graph_lower(&p->graph, &p->arena, e)) ||
        (t->way.kind == WAY_HOST ? exec_on_host(&o, p, e) : exec_on_cores(&o, p, e)))
        return -1;
    r->cycles = o.run.cycles;
    r->kernels = o.run.kernels;
    if (!has_values || !t->program->outputs)
        return 0;
    if (read_expected(t->program, p, &expected, e))
        return -1;
    compare(r, t->program, p, expected);
    return 0;
}

/* the process ends, and with it its memory */
static void run_try(void *user, void *shared)
{
    struct program_result *r = shared;
    struct exec_program p = {0};
    clock_t since = clock();
    struct err e = {0};
    char text[sizeof(r->message)];

    r->outcome = PROGRAM_DONE;
    if (carry_out(user, r, &p, &e)) {
        r->outcome = PROGRAM_REFUSED;
        snprintf(r->message, sizeof(r->message), "%s", err_format(&e, text, sizeof(text)));
    }
    r->seconds = (double)(clock() - since) / CLOCKS_PER_SEC;
}

/* ----- the table */

static const char *way_name(const struct way *w, char name[32])
{
    snprintf(name, 32, "%s%s", w->kind == WAY_HOST ? "host" : w->kind == WAY_TIMING ? "timing:" : "",
             w->tpu ? w->tpu : "");
    return name;
}

static const char *form_name(const char *path)
{
    const char *stroke = strrchr(path, '/');
    const char *name = stroke ? stroke + 1 : path;

    return strncmp(name, "program.", 8) == 0 ? name + 8 : name;
}

static void print_row(struct programs *s, const struct try *t, const struct program_result *r,
                      const struct apart_end *end)
{
    char way[32];

    progress_wipe(&s->progress);
    printf("%-36.36s %-14.14s %-12s ", t->program->name, form_name(t->form),
           way_name(&t->way, way));
    if (end->kind != APART_DONE)
        printf("fails: %s\n", end->message);
    else if (r->outcome == PROGRAM_REFUSED)
        printf("refused: %s\n", r->message);
    else if (r->compared == 0)
        printf("ok %30s %6d %14s %7.1f\n", "", r->kernels, text_thousands(r->cycles).text,
               r->seconds);
    else
        printf("%s %3d of %3d, %2d out, %.1e of %.1e %6d %14s %7.1f%s\n", r->wrong ? "WRONG" : "ok",
               r->compared - r->wrong, r->compared, r->left_out, r->worst_relative,
               r->worst_allowed, r->kernels, text_thousands(r->cycles).text, r->seconds,
               r->wrong ? arena_printf(&s->a, "  worst result %d", r->worst) : "");
    fflush(stdout);
}

/* where the program lies among the samples */
static const char *path_of(const struct programs *s, const char *form)
{
    size_t length = strlen(s->args->samples);

    return strncmp(form, s->args->samples, length) == 0 && form[length] == '/' ? form + length + 1
                                                                              : form;
}

static void note(struct programs *s, const struct try *t, const struct program_result *r,
                 const struct apart_end *end)
{
    struct program_record_row row = {.path = path_of(s, t->form), .right = r->compared - r->wrong,
                                     .outcome = r->outcome, .compared = r->compared};
    const struct program_record_row *before;
    char way[32];

    row.way = arena_strdup(&s->a, way_name(&t->way, way));
    if (end->kind != APART_DONE || r->outcome == PROGRAM_REFUSED)
        row.right = row.compared = 0;
    if (end->kind != APART_DONE)
        row.outcome = PROGRAM_FAILED;
    program_record_add(&s->record, &row);
    before = program_record_find(&s->before, row.path, way);
    if (before && program_record_compare(&row, before) < 0) {
        s->worse++;
        printf("%s %s is worse: %s, %d of %d; it was %s, %d of %d\n", row.path, way,
               program_outcome_name(row.outcome), row.right, row.compared,
               program_outcome_name(before->outcome), before->right, before->compared);
    }
}

static int try_one(struct programs *s, const struct program_case *c, const char *form,
                   const struct way *w, struct err *e)
{
    struct try t = {c, form, *w, s->args};
    struct program_result r;
    struct apart_end end;

    progress_fraction(&s->progress, c->name, 0);
    if (apart_run(run_try, &t, &r, sizeof(r), (int)s->args->seconds, &end, e))
        return -1;
    s->tried++;
    s->failed += end.kind != APART_DONE || r.outcome != PROGRAM_DONE;
    print_row(s, &t, &r, &end);
    note(s, &t, &r, &end);
    return 0;
}

static int try_all(struct programs *s, struct err *e)
{
    for (int i = 0; i < s->list.count; i++) {
        const struct program_case *c = &s->list.item[i];

        if (s->args->only && !strstr(c->name, s->args->only))
            continue;
        for (int f = 0; f < (s->args->first_form ? 1 : c->form_count); f++) {
            for (int w = 0; w < s->way_count; w++) {
                if (s->way[w].kind != WAY_TIMING && !c->inputs && c->is_listed)
                    continue;
                if (try_one(s, c, c->form[f], &s->way[w], e))
                    return -1;
            }
        }
    }
    printf("\n%d tries, %d fail\n", s->tried, s->failed);
    if (s->args->record && program_record_write(&s->record, s->args->record, e))
        return -1;
    if (s->args->against)
        return s->worse ? err_set(e, "%d of %d are worse than in %s", s->worse, s->tried,
                                  s->args->against) : 0;
    return s->failed ? err_set(e, "%d of %d fail", s->failed, s->tried) : 0;
}

static int read_ways(struct programs *s, struct err *e)
{
    char *list = arena_strdup(&s->a, s->args->ways), *text;

    while ((text = strtok_r(list, ",", &list))) {
        struct way w = {.kind = WAY_CORES, .tpu = text};

        if (s->way_count == LIST_MAX)
            return err_set(e, "--ways names more than %d", LIST_MAX);
        if (strcmp(text, "host") == 0)
            w = (struct way){.kind = WAY_HOST};
        else if (strncmp(text, "timing:", 7) == 0)
            w = (struct way){.kind = WAY_TIMING, .tpu = text + 7};
        s->way[s->way_count++] = w;
    }
    return s->way_count ? 0 : err_set(e, "--ways names nothing");
}

static const char *path_among(struct programs *s, const char *path)
{
    return path[0] == '/' || strcmp(s->args->samples, ".") == 0
               ? path : arena_printf(&s->a, "%s/%s", s->args->samples, path);
}

int check_run_programs(int argc, char **argv)
{
    struct arguments args = {.ways = "host,v5e", .samples = ".", .seconds = 120};
    struct programs s = {.args = &args};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&s.a);
    progress_begin(&s.progress, 1);
    status = read_ways(&s, &e);
    if (status == 0 && args.record)
        status = outfile_check(args.record, &e);
    if (status == 0 && args.against)
        status = program_record_read(&s.before, args.against, &s.a, &e);
    for (int i = 0; i < args.path_count && status == 0; i++)
        status = programs_list(&s.list, path_among(&s, args.path[i]), &s.a, &e);
    status = status || try_all(&s, &e) ? -1 : 0;
    progress_wipe(&s.progress);
    status = status ? cli_fail(&e) : 0;
    mem_free(s.list.item);
    mem_free(s.record.item);
    mem_free(s.before.item);
    arena_fini(&s.a);
    return status;
}
