#include "base/outfile.h"
#include "report/export.h"
#include "report/files.h"
#include "report/step_table.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* only writing a file proves that a folder can be written */
static int prove_writable(const char *folder, struct err *e)
{
    struct arena a;
    struct err why;
    int status;

    arena_init(&a);
    status = outfile_check(arena_printf(&a, "%s/config.ini", folder), &why);
    arena_fini(&a);
    return status ? err_set(e, "the output folder %s cannot be used: %s", folder, why.msg) : 0;
}

/* 1 = made, 0 = was there */
static int make_folder(const char *path, struct err *e)
{
    struct stat st;

    if (mkdir(path, 0777) == 0)
        return 1;
    if (errno != EEXIST)
        return err_set(e, "cannot make the output folder %s: %s", path, strerror(errno));
    if (stat(path, &st) != 0)
        return err_set(e, "cannot look at the output folder %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, "the output folder %s is a file; name a folder or a new name", path);
    return 0;
}

static int check_trace(const char *path, struct err *e)
{
    return export_check_path(path, e) || outfile_check(path, e) ? -1 : 0;
}

int report_check_outputs(const char *folder, const char *trace, struct err *e)
{
    int is_made = folder ? make_folder(folder, e) : 0, status = 0;

    if (is_made < 0)
        return -1;
    if (folder)
        status = prove_writable(folder, e);
    if (trace && status == 0)
        status = check_trace(trace, e);
    if (is_made)
        rmdir(folder);
    return status;
}

int report_make_folder(const char *path, struct err *e)
{
    return make_folder(path, e) < 0 ? -1 : 0;
}

enum content { CONTENT_CONFIG, CONTENT_TEXT, CONTENT_STEPS, CONTENT_STATS, CONTENT_COUNT };

static int write_content(enum content content, const struct report_run *r,
                         const struct report_view *v, const char *folder, struct arena *a,
                         struct err *e)
{
    static const char *const names[CONTENT_COUNT] = {
        "config.ini", "report.txt", "steps.csv", "stats.json"
    };
    const char *path = arena_printf(a, "%s/%s", folder, names[content]);
    struct outfile f;
    int status = 0;

    if (outfile_begin(&f, path, e) != 0)
        return -1;
    switch (content) {
    case CONTENT_CONFIG: config_print(r, v, f.to); break;
    case CONTENT_TEXT: text_print_run(r, v, f.to); break;
    case CONTENT_STEPS: csv_print_steps(r, f.to); break;
    default: status = json_print_stats(r, v, f.to); break;
    }
    if (status == 0)
        return outfile_commit(&f, e);
    outfile_abandon(&f);
    return err_set(e, "cannot write %s: out of memory or disk", path);
}

int report_write_folder(const struct report_run *r, const char *path, struct err *e)
{
    struct arena a;
    struct report_view view, *v = NULL;
    int status = 0;

    arena_init(&a);
    if (r->step.machine) {
        v = &view;
        view_of_step(&r->step, &a, v);
    }
    for (int c = 0; c < CONTENT_COUNT && status == 0; c++)
        status = write_content((enum content)c, r, v, path, &a, e);
    arena_fini(&a);
    return status;
}
