/*
 * Reads the tables of an earlier run back: from JSON where it was kept, else from the sums of its
 * trace.
 */
#include "report/tables/saved.h"

#include "report/view/run_folder.h"
#include "report/native_trace/ntrace.h"

#include <string.h>

static void describe(struct saved *s, const struct run_folder *r)
{
    char machine[200];
    const char *title = run_text(r->stats, "title");

    snprintf(s->heading, sizeof(s->heading), "%s%s%s", *title ? title : "", *title ? "; " : "",
             run_folder_describe(r, machine, sizeof(machine)));
}

static int read_tables(struct saved *s, const struct run_folder *r, struct arena *a, struct err *e)
{
    const json_t *tables = json_object_get(r->stats, "tables");

    for (int i = 0; i < TABLE_COUNT; i++)
        table_init(&s->table[i], (enum table_id)i, a);
    if (!json_is_object(tables))
        return err_at(e, s->path, 0, 0, "has no tables: it was written by an earlier systole, or "
                      "changed; run the job again");
    for (int i = 0; i < TABLE_COUNT; i++) {
        const json_t *list = json_object_get(tables, table_info((enum table_id)i)->name);

        if (list && table_read_json(&s->table[i], list, e)) {
            snprintf(e->file, sizeof(e->file), "%s", s->path);
            return -1;
        }
    }
    describe(s, r);
    return 0;
}

static int open_folder(struct saved *s, struct arena *a, struct err *e)
{
    struct run_folder r;
    int status;

    if (run_folder_open(&r, s->path, a, e))
        return -1;
    status = read_tables(s, &r, a, e);
    run_folder_close(&r);
    return status;
}

/* statistics that the file keeps, if they are whole */
static int read_kept(struct saved *s, const struct ntrace *t, struct arena *a)
{
    struct run_folder r;
    struct err ignored;
    int status;

    if (run_folder_of_trace(&r, t, s->path, a, &ignored))
        return -1;
    status = read_tables(s, &r, a, &ignored);
    run_folder_close(&r);
    return status;
}

static int open_ntrace(struct saved *s, struct arena *a, struct err *e)
{
    struct ntrace *t = ntrace_open(s->path, e);

    if (!t)
        return -1;
    if (read_kept(s, t, a) != 0) {
        for (int i = 0; i < TABLE_COUNT; i++)
            table_init(&s->table[i], (enum table_id)i, a);
        saved_fill_from_ntrace(s, t, a);
    }
    if (ntrace_note_count(t) > 0)
        snprintf(s->note, sizeof(s->note), "%s", ntrace_note(t, 0));
    ntrace_close(t);
    return 0;
}

int saved_open(struct saved *s, const char *path, struct arena *a, struct err *e)
{
    *s = (struct saved){.path = path};
    return ntrace_has_suffix(path) ? open_ntrace(s, a, e) : open_folder(s, a, e);
}
