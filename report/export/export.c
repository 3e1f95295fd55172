/*
 * Chooses the format of an export by name or suffix, checks what is asked for against the trace,
 * and writes the file.
 */
#include "report/export/export_names.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>
#include <sys/stat.h>

#define KIND(id) (1u << EXPORT_##id)
#define ALL ((1u << EXPORT_KIND_COUNT) - 1)

static const struct export_format formats[] = {
    {".xplane.pb", "xspace", "XProf, TensorBoard", ALL, false, export_write_xspace},
    {".pftrace", "perfetto", "ui.perfetto.dev", ALL & ~KIND(FLAGS), false, export_write_perfetto},
    {".kanata", "kanata", "Konata", KIND(BUNDLES) | KIND(STALLS) | KIND(UNIT), true,
     export_write_kanata},
};

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);

    return length > end && strcmp(path + length - end, suffix) == 0;
}

const struct export_format *export_format_of_path(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (ends_in(path, formats[i].suffix))
            return &formats[i];
    return NULL;
}

/* who asks for Chrome's JSON, which was a format once, is told what took its place */
static int refuse_chrome(const char *what, struct err *e)
{
    return err_set(e, "%s: the JSON of Chrome is gone; write for Perfetto, which ui.perfetto.dev "
                   "opens: --format perfetto, a name in .pftrace", what);
}

int export_refuse_path(const char *path, const char *suffixes, struct err *e)
{
    if (ends_in(path, ".json") || ends_in(path, ".json.gz"))
        return refuse_chrome(path, e);
    return err_set(e, "the trace is to be %s; its name must end in %s.pftrace, .xplane.pb or "
                   ".kanata", path, suffixes);
}

int export_check_path(const char *path, struct err *e)
{
    if (export_format_of_path(path) || ntrace_has_suffix(path))
        return 0;
    return export_refuse_path(path, ".strace, ", e);
}

const struct export_format *export_format_named(const char *name, struct err *e)
{
    const char *names[COUNT_OF(formats)];

    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
        names[i] = formats[i].name;
    }
    if (strcmp(name, "chrome") == 0 || strcmp(name, "json") == 0 || strcmp(name, "json.gz") == 0)
        refuse_chrome(name, e);
    else
        err_set(e, "there is no format \"%s\"%s; allowed are xspace, perfetto, kanata", name,
                text_did_you_mean(name, names, COUNT_OF(names)).text);
    return NULL;
}

/* ----- what is wanted, held against what the trace has */

static int resolve_core(struct export_run *r, struct err *e)
{
    struct export_options *o = &r->options;

    if (o->core >= r->info->core_count)
        return err_set(e, "there is no core %d; the trace has cores 0..%d", o->core,
                       r->info->core_count - 1);
    if (o->core >= 0 && !ntrace_program(r->t, o->core))
        return err_set(e, "core %d ran no program", o->core);
    for (int core = 0; core < r->info->core_count && r->format->has_one_core && o->core < 0; core++)
        if (ntrace_program(r->t, core))
            o->core = core;
    if (r->format->has_one_core && o->core < 0)
        return err_set(e, "no core ran a program");
    return 0;
}

static int resolve(struct export_run *r, struct err *e)
{
    struct export_options *o = &r->options;
    cycle_t cycles = r->info->cycles;

    if (o->level > r->info->level)
        return err_set(e, "the trace was recorded at level %s and has nothing of level %s",
                       trace_level_name(r->info->level), trace_level_name(o->level));
    if (r->format->has_one_core && o->level < TRACE_BUNDLE)
        return err_set(e, "%s shows bundles, which level %s does not have; bundle or slot does",
                       r->format->name, trace_level_name(o->level));
    if (o->end && o->first >= o->end)
        return err_set(e, "the window %lld:%lld is empty", (long long)o->first,
                       (long long)o->end);
    if (o->first > 0 && o->first >= cycles)
        return err_set(e, "the window begins at cycle %lld, the trace ends at %lld",
                       (long long)o->first, (long long)cycles);
    if (o->end == 0 || o->end > cycles)
        o->end = cycles;
    r->end = o->end;
    r->kinds = r->format->kinds;
    if (r->format->has_one_core && o->level < TRACE_SLOT)
        r->kinds &= ~KIND(UNIT);
    return resolve_core(r, e);
}

static int64_t file_bytes(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static int write_file(struct export_run *r, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    export_plan(r);
    if (r->format->write(r, f.to, e) || ntrace_check_reads(r->t, e)) {
        outfile_abandon(&f);
        return -1;
    }
    if (outfile_commit(&f, e))
        return -1;
    r->result.bytes = file_bytes(path);
    return 0;
}

int export_write(struct ntrace *t, const struct export_format *f, const struct export_options *o,
                 const char *path, struct export_result *result, struct err *e)
{
    struct export_run r = {.t = t, .info = ntrace_info(t), .format = f, .options = *o,
                           .path = path};
    int status;

    arena_init(&r.arena);
    r.names = export_names_create();
    r.programs = export_programs_create(t, r.names, &r.arena);
    status = resolve(&r, e) ? -1 : write_file(&r, path, e);
    r.result.first = r.options.first;
    r.result.end = r.end;
    r.result.core = r.options.core;
    *result = r.result;
    export_names_destroy(r.names);
    arena_fini(&r.arena);
    return status;
}
