#include "report/folder.h"

#include "report/files.h"
#include "report/step_table.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *folder_temp_path(const char *path, struct arena *a)
{
    return arena_printf(a, "%s.tmp", path);
}

int folder_rename(const char *temp_path, const char *path, struct err *e)
{
    int saved;

    if (rename(temp_path, path) == 0)
        return 0;
    saved = errno;
    folder_remove(temp_path);
    return err_set(e, "cannot write %s: %s", path, strerror(saved));
}

void folder_remove(const char *temp_path)
{
    unlink(temp_path);
}

int folder_begin(struct folder_file *f, const char *path, struct arena *a, struct err *e)
{
    f->path = arena_strdup(a, path);
    f->temp_path = folder_temp_path(path, a);
    f->to = fopen(f->temp_path, "w");
    if (!f->to)
        return err_set(e, "cannot write %s: %s", f->temp_path, strerror(errno));
    return 0;
}

int folder_commit(struct folder_file *f, struct err *e)
{
    int saved;

    errno = 0;
    if (fflush(f->to) == 0 && !ferror(f->to) && fclose(f->to) == 0)
        return folder_rename(f->temp_path, f->path, e);
    saved = errno;
    folder_remove(f->temp_path);
    return err_set(e, "cannot write %s: %s", f->path, strerror(saved ? saved : EIO));
}

void folder_abandon(struct folder_file *f)
{
    fclose(f->to);
    folder_remove(f->temp_path);
}

/* only writing a file proves that a folder can be written */
static int prove_writable(const char *folder, struct err *e)
{
    struct arena a;
    char *probe;
    FILE *f;
    int status = 0;

    arena_init(&a);
    probe = arena_printf(&a, "%s/writable.tmp", folder);
    f = fopen(probe, "w");
    if (f) {
        fclose(f);
        folder_remove(probe);
    } else {
        status = err_set(e, "the output folder %s cannot be written: %s", folder,
                         strerror(errno));
    }
    arena_fini(&a);
    return status;
}

int report_open_folder(const char *path, struct err *e)
{
    struct stat st;

    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return err_set(e, "cannot make the output folder %s: %s", path, strerror(errno));
    if (stat(path, &st) != 0)
        return err_set(e, "cannot look at the output folder %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, "the output folder %s is a file; name a folder or a new name", path);
    return prove_writable(path, e);
}

enum content { CONTENT_CONFIG, CONTENT_TEXT, CONTENT_STEPS, CONTENT_STATS, CONTENT_COUNT };

static int write_content(enum content content, const struct report_run *r,
                         const struct report_view *v, const char *folder, struct arena *a,
                         struct err *e)
{
    static const char *const names[CONTENT_COUNT] = {
        "config.ini", "report.txt", "steps.csv", "stats.json"
    };
    struct folder_file f;
    int status = 0;

    if (folder_begin(&f, arena_printf(a, "%s/%s", folder, names[content]), a, e) != 0)
        return -1;
    switch (content) {
    case CONTENT_CONFIG: config_print(r, v, f.to); break;
    case CONTENT_TEXT: text_print_run(r, v, f.to); break;
    case CONTENT_STEPS: csv_print_steps(r, f.to); break;
    default: status = json_print_stats(r, v, f.to); break;
    }
    if (status != 0) {
        folder_abandon(&f);
        return err_set(e, "cannot write %s: out of memory or disk", f.path);
    }
    return folder_commit(&f, e);
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

static bool ends_in(const char *s, const char *suffix)
{
    size_t length = strlen(s), suffix_length = strlen(suffix);

    return length >= suffix_length && strcmp(s + length - suffix_length, suffix) == 0;
}

int report_write_trace(const struct report_step *s, const char *path, size_t event_limit,
                       size_t *left_out, struct err *e)
{
    struct arena a;
    struct report_view v;
    char *temp_path;
    int status;

    arena_init(&a);
    view_of_step(s, &a, &v);
    temp_path = folder_temp_path(path, &a);
    if (!v.trace)
        status = err_set(e, "no trace to write to %s: the last launch kept none", path);
    else
        status = chrome_write(&v, temp_path, ends_in(path, ".gz"), event_limit, left_out, e);
    if (status == 0)
        status = folder_rename(temp_path, path, e);
    else
        folder_remove(temp_path);
    arena_fini(&a);
    return status;
}
