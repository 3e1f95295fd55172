/* The folder of a program: itself as it came, the reports and a trace of its first launch. */
#include "pjrt/account/account_impl.h"

#include "base/outfile.h"
#include "exec/module_tables.h"
#include "report/folder/report.h"
#include "report/native_trace/ntrace_writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TRACE_RECORDS 10000000          /* of a trace that nobody asked for: some 100 MB at most */
#define NAME_BYTES 80

static char *path_in(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = mem_alloc(bytes);

    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static void give_up(struct account *a, const struct err *e)
{
    pthread_mutex_lock(&a->lock);
    account_fail_files(a, e);
    pthread_mutex_unlock(&a->lock);
}

/* "003_jit_step": what is no letter, digit or dash of a function's name is no part of a file's */
static char *folder_name(const struct account_program *p)
{
    char *name = mem_alloc(NAME_BYTES);
    int length = snprintf(name, NAME_BYTES, "%03d_%s", p->number, p->name);

    for (int i = 0; i < length && i < NAME_BYTES; i++)
        if (name[i] && !isalnum((unsigned char)name[i]) && name[i] != '-')
            name[i] = '_';
    return name;
}

static bool is_bytecode(const struct account_program *p)
{
    return p->byte_count >= 4 && memcmp(p->bytes, "ML\xefR", 4) == 0;
}

static int write_program(const struct account_program *p, const char *folder, struct err *e)
{
    char *path = path_in(folder, is_bytecode(p) ? "program.mlirbc" : "program.hlo");
    struct outfile f;
    int status = outfile_begin(&f, path, e);

    if (status == 0) {
        fwrite(p->bytes, 1, p->byte_count, f.to);
        status = outfile_commit(&f, e);
    }
    mem_free(path);
    return status;
}

static int begin_trace(struct account_program *p, struct executable *x, const char *folder,
                       struct err *e)
{
    struct ntrace_options o = {.level = TRACE_BUNDLE, .record_limit = TRACE_RECORDS,
                               .title = p->name};
    char *path = path_in(folder, "trace.strace");

    p->trace_path = outfile_temporary(path, e);
    mem_free(path);
    p->trace = p->trace_path ? ntrace_writer_open(p->trace_path, &o, e) : NULL;
    if (!p->trace)
        return -1;
    ntrace_writer_name_launch(p->trace, "first launch");
    machine_set_trace(x->loaded.machine, ntrace_writer_sink(p->trace));
    return 0;
}

void account_begin_folder(struct account_program *p, struct executable *x)
{
    char *folder;
    struct err e;
    int status;

    if (!p->account->out || p->file)
        return;
    p->file = folder_name(p);
    folder = path_in(p->account->out, p->file);
    status = report_make_folder(folder, &e);
    if (status == 0) {
        report_clear_folder(folder);
        status = write_program(p, folder, &e);
    }
    if (status == 0 && x->settings.engine.mode != MODE_FUNCTIONAL)
        status = begin_trace(p, x, folder, &e);
    mem_free(folder);
    if (status)
        give_up(p->account, &e);
}

/* ----- behind the launch */

static const struct chip_origin *origins(struct arena *a)
{
    struct chip_origin *o = arena_array(a, chip_param_count, sizeof(*o));

    for (size_t i = 0; i < chip_param_count; i++)
        o[i] = (struct chip_origin){.origin = "chip file", .note = ""};
    return o;
}

static void fill_step(struct account_program *p, const struct executable *x, struct arena *a,
                      struct report_layer *layer, struct report_step *step)
{
    const struct module *m = &x->loaded.module;

    *layer = (struct report_layer){.name = p->name, .product_flops = m->flops};
    *step = (struct report_step){.title = p->name, .machine = x->loaded.machine,
                                 .program = &m->linked[0].program, .model_flops = m->flops,
                                 .layer = layer, .layer_count = 1};
    module_list_sources(m, a, step);
    module_list_buffers(m, a, step);
}

static int end_trace(struct account_program *p, const struct executable *x,
                     const struct report_run *run, const char *folder, struct err *e)
{
    char *stats, *path;
    int status;

    machine_set_trace(x->loaded.machine, NULL);
    stats = run ? report_stats_json(run) : NULL;
    if (stats)
        ntrace_writer_put_stats(p->trace, stats);
    free(stats);
    status = ntrace_writer_close(p->trace, e);
    p->trace = NULL;
    if (status == 0 && run) {
        path = path_in(folder, "trace.strace");
        status = outfile_publish(p->trace_path, path, e);
        mem_free(path);
    }
    return status;
}

static int write_folder(struct account_program *p, const struct executable *x, const char *folder,
                        bool is_done, struct err *e)
{
    const struct account_client *c = &p->account->client;
    static const char *const modes[] = {[MODE_BOTH] = "both", [MODE_TIMING] = "timing",
                                        [MODE_FUNCTIONAL] = "functional"};
    const struct report_option option[] = {
        {"op", "program", p->name, "JAX"}, {"machine", "tpu", c->slice->name, "SYSTOLE_TPU"},
        {"machine", "mode", modes[x->settings.engine.mode], "SYSTOLE_MODE"}};
    struct report_run run = {.option = option, .option_count = sizeof(option) / sizeof(*option)};
    struct report_layer layer;
    struct arena a;
    int status = 0;

    arena_init(&a);
    if (is_done) {
        run.chip_origins = origins(&a);
        fill_step(p, x, &a, &layer, &run.step);
    }
    if (p->trace)
        status = end_trace(p, x, is_done ? &run : NULL, folder, e);
    if (status == 0 && is_done)
        status = report_write_folder(&run, folder, e);
    arena_fini(&a);
    return status;
}

void account_end_folder(struct account_program *p, struct executable *x, bool is_done)
{
    char *folder;
    struct err e;

    if (p->account->out && p->file) {
        folder = path_in(p->account->out, p->file);
        if (write_folder(p, x, folder, is_done, &e))
            give_up(p->account, &e);
        mem_free(folder);
    }
    if (p->trace) {                     /* of files that are given up */
        machine_set_trace(x->loaded.machine, NULL);
        ntrace_writer_close(p->trace, &e);
        p->trace = NULL;
    }
    if (p->trace_path)
        outfile_drop(p->trace_path);
    p->trace_path = NULL;
}
