/* Fills the run folder of a command that makes one launch: settings, counters and their origin. */
#include "cli/common/out_folder.h"

#include "report/view/run_programs.h"

#include <assert.h>

void out_folder_add(struct out_folder *f, const char *section, const char *key, const char *value,
                    bool is_given)
{
    if (!value)
        return;
    assert(f->option_count < OUT_OPTIONS_MAX);
    f->option[f->option_count++] = (struct report_option){
        section, key, value, is_given ? "command line" : "default"};
}

void out_folder_add_engine(struct out_folder *f, const struct machine_options *engine,
                           struct arena *a)
{
    static const char *const modes[] = {[MODE_BOTH] = "both", [MODE_TIMING] = "timing",
                                        [MODE_FUNCTIONAL] = "functional"};
    const char *simd = engine->simd ? engine->simd : "auto";

    out_folder_add(f, "machine", "mode", modes[engine->mode], engine->mode != MODE_BOTH);
    out_folder_add(f, "machine", "threads", arena_printf(a, "%d", engine->thread_count),
                   engine->thread_count != 1);
    out_folder_add(f, "machine", "simd", simd, engine->simd != NULL);
    out_folder_add(f, "machine", "no-memo", engine->no_memo ? "yes" : "no", engine->no_memo);
    out_folder_add(f, "machine", "check-races", engine->check_races ? "yes" : "no",
                   engine->check_races);
    out_folder_add(f, "machine", "check-unwritten", engine->check_unwritten ? "yes" : "no",
                   engine->check_unwritten);
}

const struct chip_origin *out_folder_origins(const char *origin, struct arena *a)
{
    struct chip_origin *o = arena_array(a, chip_param_count, sizeof(*o));

    for (size_t i = 0; i < chip_param_count; i++)
        o[i].origin = origin;
    return o;
}

const char *out_folder_run(const char *path, struct arena *a)
{
    const char *note, *run = run_programs_dearest(path, a, &note);

    if (note)
        fprintf(stderr, "systole: %s\n", note);
    return run;
}

int out_folder_write(const struct out_folder *f, const struct report_step *step,
                     double host_seconds, struct err *e)
{
    struct report_run run = {
        .command = f->command, .chip_origins = f->chip_origins, .option = f->option,
        .option_count = f->option_count, .step = *step, .host_seconds = host_seconds};

    if (!f->path)
        return 0;
    if (report_make_folder(f->path, e) || report_write_folder(&run, f->path, e))
        return -1;
    printf("results in %s\n", f->path);
    return 0;
}
