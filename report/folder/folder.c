/* Makes the folder of a run and writes its files one by one, after all tables are checked. */
#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "report/export/export.h"
#include "report/folder/files.h"
#include "report/tables/identities.h"
#include "report/tables/tables.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

    if (outfile_allow(path, e))
        return -1;
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

/* What goes into the folder: everything that the writers need. */
struct contents {
    const struct report_run *run;
    const struct report_view *view;     /* NULL when no machine ran */
    struct table table[TABLE_COUNT];
    struct arena arena;
};

static int print_config(const struct contents *c, FILE *to)
{
    config_print(c->run, c->view, to);
    return 0;
}

static int print_text(const struct contents *c, FILE *to)
{
    run_text_print(c->run, c->view, to);
    return 0;
}

static int print_steps(const struct contents *c, FILE *to)
{
    csv_print_steps(c->run, to);
    return 0;
}

static int print_stats(const struct contents *c, FILE *to)
{
    return json_print_stats(c->run, c->view, c->table, to);
}

static int print_stats_txt(const struct contents *c, FILE *to)
{
    stats_txt_print(c->run, c->view, to);
    return 0;
}

static const struct {
    const char *name;
    int (*print)(const struct contents *c, FILE *to);
} writers[] = {
    {"config.ini", print_config}, {"report.txt", print_text}, {"steps.csv", print_steps},
    {"stats.json", print_stats}, {"stats.txt", print_stats_txt},
};

/* one file, by writer or, where that is NULL, the CSV of a table */
static int write_file(struct contents *c, const char *folder, const char *name,
                      int (*print)(const struct contents *, FILE *), const struct table *table,
                      struct err *e)
{
    const char *path = arena_printf(&c->arena, "%s/%s", folder, name);
    struct outfile f;

    if (outfile_begin(&f, path, e) != 0)
        return -1;
    if (!print)
        table_print_csv(table, f.to);
    else if (print(c, f.to) != 0 && !ferror(f.to)) {
        outfile_abandon(&f);
        return err_set(e, "cannot write %s: out of memory", path);
    }
    return outfile_commit(&f, e);
}

static int write_files(struct contents *c, const char *folder, struct err *e)
{
    int status = 0;

    for (size_t i = 0; i < COUNT_OF(writers) && status == 0; i++)
        status = write_file(c, folder, writers[i].name, writers[i].print, NULL, e);
    for (int i = 0; i < TABLE_COUNT && status == 0; i++)
        if (table_info((enum table_id)i)->file)
            status = write_file(c, folder, table_info((enum table_id)i)->file, NULL, &c->table[i],
                                e);
    return status;
}

static bool is_of_run(const char *name)
{
    bool is_found = strcmp(name, "trace.strace") == 0 || strcmp(name, "host_profile.csv") == 0 ||
                    /* as systole export names it */
                    (strncmp(name, "trace.", strlen("trace.")) == 0 && export_format_of_path(name));

    for (size_t i = 0; i < COUNT_OF(writers) && !is_found; i++)
        is_found = strcmp(name, writers[i].name) == 0;
    for (int i = 0; i < TABLE_COUNT && !is_found; i++)
        is_found = table_info((enum table_id)i)->file &&
                   strcmp(name, table_info((enum table_id)i)->file) == 0;
    return is_found;
}

/* stats.json goes first: what has none is no folder of a run to anybody who reads it meanwhile */
void report_clear_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    unlinkat(dirfd(dir), "stats.json", 0);
    while ((entry = readdir(dir)) != NULL)
        if (is_of_run(entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    outfile_clean(path);
}

/* c->arena is there; `view` is filled and used where a machine ran */
static void gather(struct contents *c, const struct report_run *r, struct report_view *view)
{
    c->run = r;
    c->view = NULL;
    if (r->step.machine) {
        c->view = view;
        view_of_step(&r->step, &c->arena, view);
    }
    tables_fill(r, c->view, &c->arena, c->table);
}

int report_write_folder(const struct report_run *r, const char *path, struct err *e)
{
    struct contents c;
    struct report_view view;
    char mistake[200];
    const char *broken;
    int status;

    arena_init(&c.arena);
    gather(&c, r, &view);
    broken = identities_broken(r, c.view, c.table, mistake, sizeof(mistake));
    if (broken)
        fprintf(stderr, "systole: numbers that contradict each other: %s\n", broken);
    assert(!broken);
    status = write_files(&c, path, e);
    arena_fini(&c.arena);
    return status;
}

char *report_stats_json(const struct report_run *r)
{
    struct contents c;
    struct report_view view;
    char *text;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);
    int status;

    arena_init(&c.arena);
    gather(&c, r, &view);
    status = print_stats(&c, to);
    arena_fini(&c.arena);
    text_memory_end(to, &text);
    if (status == 0)
        return text;
    free(text);
    return NULL;
}
