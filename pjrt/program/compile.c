/* Compiles programs of callers, and loads them onto devices. */
#include "pjrt/program/program.h"

#include "base/progress.h"
#include "pjrt/abi/functions.h"
#include "pjrt/buffer/array.h"
#include "pjrt/program/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct PJRT_Executable *program_hold(struct PJRT_Executable *p)
{
    atomic_fetch_add(&p->holders, 1);
    return p;
}

void program_drop(struct PJRT_Executable *p)
{
    if (!p || atomic_fetch_sub(&p->holders, 1) != 1)
        return;
    executable_fini(&p->x);
    mem_free(p->optimized);
    mem_free(p->program);
    mem_free(p->option_bytes);
    pthread_mutex_destroy(&p->mutex);
    arena_fini(&p->arena);
    mem_free(p);
}

/* ----- what is told of it */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (const unsigned char *c = bytes; size--; c++)
        hash = (hash ^ *c) * UINT64_C(1099511628211);   /* FNV-1a */
    return hash;
}

static void make_fingerprint(struct PJRT_Executable *p)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    hash = hash_bytes(hash, p->program, p->program_bytes);
    hash = hash_bytes(hash, p->option_bytes, p->option_size);
    hash = hash_bytes(hash, p->slice_name, strlen(p->slice_name));
    snprintf(p->fingerprint, sizeof(p->fingerprint), "%016llx", (unsigned long long)hash);
}

static void list_outputs(struct PJRT_Executable *p)
{
    size_t dims = 0, most;
    const char **kind;
    size_t *size;

    p->outputs = p->x.result_count;
    p->parameters = p->x.parameter_count;
    most = (size_t)(p->outputs > p->parameters ? p->outputs : p->parameters) + 1;
    for (int i = 0; i < p->outputs; i++)
        dims += (size_t)p->x.result[i]->rank;
    p->output_type = arena_array(&p->arena, most, sizeof(*p->output_type));
    p->output_rank = arena_array(&p->arena, most, sizeof(*p->output_rank));
    p->output_dim = arena_array(&p->arena, dims + 1, sizeof(*p->output_dim));
    kind = arena_array(&p->arena, 2 * most, sizeof(*kind));
    size = arena_array(&p->arena, 2 * most, sizeof(*size));
    p->output_kind = kind;
    p->output_kind_size = size;
    p->parameter_kind = kind + most;
    p->parameter_kind_size = size + most;
    dims = 0;
    for (int i = 0; i < p->outputs; i++) {
        const struct hlo_type *t = p->x.result[i];

        p->output_type[i] = element_type(t->element);
        p->output_rank[i] = (size_t)t->rank;
        for (int d = 0; d < t->rank; d++)
            p->output_dim[dims++] = t->dim[d];
    }
    for (size_t i = 0; i < 2 * most; i++) {
        kind[i] = memory_kind_name(MEMORY_DEVICE);
        size[i] = strlen(kind[i]);
    }
    program_list_placements(p);
}

/* as JAX says it of an argument that may be anywhere in the results */
static bool gives_up(const struct hlo_instruction *parameter)
{
    const struct hlo_pairs *other = &hlo_detail(parameter)->other;

    for (int i = 0; i < other->count; i++)
        if (strcmp(other->item[i].key, "jax.buffer_donor") == 0)
            return strcmp(other->item[i].value, "false") != 0;
    return false;
}

/* parameters whose place a result takes, and those that the program gives up otherwise */
static void list_donations(struct PJRT_Executable *p)
{
    const struct hlo_module *m = p->x.graph.module;
    const struct hlo_computation *entry = &m->computation[m->entry];

    p->is_donated = arena_array(&p->arena, (size_t)p->parameters + 1, sizeof(*p->is_donated));
    for (int i = 0; i < m->alias_count; i++)
        if (m->alias[i].parameter < p->parameters && m->alias[i].parameter_path.count == 0)
            p->is_donated[m->alias[i].parameter] = true;
    for (int i = 0; i < p->parameters && i < entry->parameter_count; i++)
        if (gives_up(&entry->instruction[entry->parameter[i]]))
            p->is_donated[i] = true;
    for (int i = 0; i < m->other.count; i++) {
        const char *text = m->other.item[i].value;

        if (strcmp(m->other.item[i].key, "buffer_donor") != 0)
            continue;
        for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '(')) {
            long number = strtol(at + 1, NULL, 10);

            if (number >= 0 && number < p->parameters)
                p->is_donated[number] = true;
        }
    }
}

/* ----- compiling */

static enum PJRT_Error_Code code_of(enum executable_stage stage)
{
    switch (stage) {
    case EXECUTABLE_READ: return PJRT_Error_Code_INVALID_ARGUMENT;
    case EXECUTABLE_FIT: return PJRT_Error_Code_RESOURCE_EXHAUSTED;
    case EXECUTABLE_CUT: case EXECUTABLE_LOWER: return PJRT_Error_Code_UNIMPLEMENTED;
    default: return PJRT_Error_Code_INTERNAL;
    }
}

/* One device needs one chip; several need the slice, for its links. */
static int set_up(struct executable_settings *to, const struct PJRT_Executable *p,
                  const struct PJRT_TopologyDescription *t, const struct settings *s,
                  struct slice *one_chip, struct arena *a, struct err *e)
{
    int64_t devices = p->options.replicas * p->options.partitions;
    int32_t *core;

    *to = (struct executable_settings){
        .slice = &t->slice, .chip = &t->chip, .codegen = s->codegen, .is_host = s->is_host,
        .is_highest = s->is_highest,
        .has_megacore = t->cores_each > 1, .assume_trips = s->assume_trips,
        .assume_branch = s->assume_branch,
        .queue_entries = s->queue_entries,
        .cache = kept_programs(),
        .engine = {.mode = s->mode, .thread_count = s->thread_count},
        .replicas = p->options.replicas, .partitions = p->options.partitions};
    if (devices == 1) {
        to->slice = one_chip;
        return slice_parse(one_chip, t->slice.chip_name, e) || slice_fit(one_chip, &t->chip, e)
               ? -1 : 0;
    }
    core = arena_array(a, (size_t)devices, sizeof(*core));
    for (int64_t i = 0; i < devices; i++)
        core[i] = t->device[p->options.device ? p->options.device[i] : i].core;
    to->core = core;
    return 0;
}

static struct PJRT_Error *make(struct PJRT_Executable *p,
                               const struct PJRT_TopologyDescription *t, const struct settings *s)
{
    struct executable_settings settings;
    enum executable_stage stage;
    struct slice one_chip;
    struct err e = {0};

    if (compile_options_read(&p->options, p->option_bytes, p->option_size, t, &p->arena, &e) ||
        set_up(&settings, p, t, s, &one_chip, &p->arena, &e))
        return pjrt_error_of(PJRT_Error_Code_INVALID_ARGUMENT, &e);
    if (executable_make(&p->x, &settings, p->program, p->program_bytes, "program", &stage, &e))
        return pjrt_error_of(code_of(stage), &e);
    p->name = p->x.graph.module->name;
    list_outputs(p);
    list_donations(p);
    program_list_shardings(p);
    program_list_layouts(p);
    make_fingerprint(p);
    return NULL;
}

static char *keep_bytes(const char *bytes, size_t size)
{
    char *kept = mem_alloc_unset(size + 1);

    if (size)
        memcpy(kept, bytes, size);
    kept[size] = 0;
    return kept;
}

struct PJRT_Executable *program_compile(const struct PJRT_TopologyDescription *t,
                                        const struct settings *settings, const char *code,
                                        size_t code_size, const char *options, size_t option_size,
                                        struct PJRT_Error **error)
{
    struct PJRT_Executable *p = mem_alloc(sizeof(*p));

    atomic_init(&p->holders, 1);
    arena_init(&p->arena);
    arena_init(&p->x.arena);
    pthread_mutex_init(&p->mutex, NULL);
    p->program = keep_bytes(code, code_size);
    p->program_bytes = code_size;
    p->option_bytes = keep_bytes(options, option_size);
    p->option_size = option_size;
    p->slice_name = arena_strdup(&p->arena, t->name);
    p->compile_s = -progress_seconds();
    *error = make(p, t, settings);
    p->compile_s += progress_seconds();
    if (!*error)
        return p;
    program_drop(p);
    return NULL;
}

static void watch_begin(void *watcher, struct executable *x) { account_begin_launch(watcher, x); }

static void watch_end(void *watcher, struct executable *x, bool is_done)
{
    account_end_launch(watcher, x, is_done);
}

/* launches are told of to the account of the client that loads it first */
static void keep_account(struct PJRT_Client *c, struct PJRT_Executable *p)
{
    static const struct executable_watch watch = {watch_begin, watch_end};

    pthread_mutex_lock(&p->mutex);
    if (!p->account) {
        p->account = account_compiled(c->account, &p->x, p->program, p->program_bytes,
                                      p->x.loaded.was_found, p->compile_s);
        p->x.watch = &watch;
        p->x.watcher = p->account;
    }
    pthread_mutex_unlock(&p->mutex);
}

struct PJRT_LoadedExecutable *program_load(struct PJRT_Client *c, struct PJRT_Executable *p)
{
    struct PJRT_LoadedExecutable *l = mem_alloc(sizeof(*l));

    l->executable = p;
    l->client = c;
    keep_account(c, p);
    l->device_count = p->options.is_portable && !p->options.device
                      ? 0 : (int)(p->options.replicas * p->options.partitions);
    l->device = mem_alloc(((size_t)l->device_count + 1) * sizeof(*l->device));
    l->logical = mem_alloc(((size_t)l->device_count + 1) * sizeof(*l->logical));
    for (int i = 0; i < l->device_count; i++) {
        l->device[i] = c->device_list[p->options.device ? p->options.device[i] : i];
        l->logical[i].replica = (int)(i / p->options.partitions);
        l->logical[i].partition = (int)(i % p->options.partitions);
    }
    return l;
}

/* ----- the interface */

static struct PJRT_Error *check_format(const struct PJRT_Program *program)
{
    static const char *const known[] = {"mlir", "hlo"};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (program->format_size == strlen(known[i]) &&
            memcmp(program->format, known[i], program->format_size) == 0)
            return NULL;
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the program's format is \"%.*s\"; known are "
                      "mlir and hlo", (int)program->format_size, program->format);
}

struct PJRT_Error *pjrt_Client_Compile(struct PJRT_Client_Compile_Args *args)
{
    struct PJRT_Error *error = check_format(args->program);
    struct PJRT_Executable *p;

    if (error)
        return error;
    p = program_compile(args->client->topology, &args->client->settings, args->program->code,
                        args->program->code_size, args->compile_options,
                        args->compile_options_size, &error);
    if (p)
        args->executable = program_load(args->client, p);
    return error;
}

struct PJRT_Error *pjrt_Compile(struct PJRT_Compile_Args *args)
{
    struct PJRT_Error *error = check_format(args->program);
    struct settings settings;
    struct err e;

    if (error)
        return error;
    if (settings_read(&settings, &e))
        return pjrt_error_of(PJRT_Error_Code_INVALID_ARGUMENT, &e);
    args->executable = program_compile(args->topology, &settings, args->program->code,
                                       args->program->code_size, args->compile_options,
                                       args->compile_options_size, &error);
    return error;
}

struct PJRT_Error *pjrt_Client_Load(struct PJRT_Client_Load_Args *args)
{
    if (strcmp(args->executable->slice_name, args->client->topology->name) != 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the program was compiled for %s, this "
                          "is %s", args->executable->slice_name, args->client->topology->name);
    args->loaded_executable = program_load(args->client, program_hold(args->executable));
    return NULL;
}
