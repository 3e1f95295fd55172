/* Reads, writes and compares records of the errors of measured rows. */
#include "cli/hardware/hardware_record.h"

#include "base/csv.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/hardware/hardware_sums.h"
#include "isa/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, ROWS_TOLD = 8 };

/* ----- files */

/* the numbers of a group's line, in the order of its columns */
static const struct { const char *name; size_t at; } figures[] = {
    {"mean", offsetof(struct hardware_record_group, mean)},
    {"median", offsetof(struct hardware_record_group, median)},
    {"second_mean", offsetof(struct hardware_record_group, second_mean)},
    {"by_time", offsetof(struct hardware_record_group, weighted)},
    {"ratio_of_sums", offsetof(struct hardware_record_group, ratio)},
    {"covered", offsetof(struct hardware_record_group, covered)},
    {"memory_mean", offsetof(struct hardware_record_group, memory_mean)},
    {"memory_median", offsetof(struct hardware_record_group, memory_median)},
    {"best_mean", offsetof(struct hardware_record_group, best_mean)},
    {"best_median", offsetof(struct hardware_record_group, best_median)}};

static double *figure(struct hardware_record_group *g, size_t i)
{
    return (double *)((char *)g + figures[i].at);
}

static const char *rows_path(const char *path, struct arena *a)
{
    size_t length = strlen(path);

    if (length > 4 && strcmp(path + length - 4, ".csv") == 0)
        length -= 4;
    return arena_printf(a, "%.*s_rows.csv", (int)length, path);
}

static int open_table(struct csv *c, const char *path, const char *const *columns, int count,
                      struct arena *a, struct err *e)
{
    uint8_t *text;
    size_t size;

    if (isa_file_read(path, a, &text, &size, e) || csv_parse(c, path, (char *)text, NULL, a, e))
        return -1;
    for (int i = 0; i < count; i++)
        if (csv_column(c, columns[i], e) < 0)
            return -1;
    return 0;
}

static const char *field(const struct csv *c, int row, const char *column)
{
    return csv_text(c, row, csv_find(c, column));
}

static int count_of(const struct csv *c, int row, const char *column, int *to, struct err *e)
{
    double value;

    if (csv_number(c, row, csv_find(c, column), 0, 1e9, &value, e))
        return -1;
    *to = isnan(value) ? 0 : (int)value;
    return 0;
}

static int read_groups(struct hardware_record *r, const char *path, struct arena *a, struct err *e)
{
    static const char *const columns[] = {"file", "group", "set", "rows", "scored", "best_mean",
                                          "best_median", "reason"};
    struct csv c;

    if (open_table(&c, path, columns, COUNT_OF(columns), a, e))
        return -1;
    for (int i = 0; i < c.row_count; i++) {
        struct hardware_record_group g = {
            .file = field(&c, i, "file"), .group = field(&c, i, "group"),
            .set = field(&c, i, "set"), .reason = field(&c, i, "reason")};

        if (count_of(&c, i, "rows", &g.rows, e) || count_of(&c, i, "scored", &g.scored, e))
            return -1;
        for (size_t k = 0; k < COUNT_OF(figures); k++)
            if (csv_number(&c, i, csv_find(&c, figures[k].name), 0, 1e9, figure(&g, k), e))
                return -1;
        MEM_ADD(r->group, r->group_count, r->group_capacity) = g;
    }
    return 0;
}

static int read_rows(struct hardware_record *r, const char *path, struct arena *a, struct err *e)
{
    static const char *const columns[] = {"file", "line", "row", "error", "memory"};
    struct csv c;

    if (open_table(&c, path, columns, COUNT_OF(columns), a, e))
        return -1;
    for (int i = 0; i < c.row_count; i++) {
        struct hardware_record_row row = {.file = field(&c, i, "file"),
                                          .name = field(&c, i, "row")};

        if (count_of(&c, i, "line", &row.line, e) ||
            csv_number(&c, i, csv_find(&c, "error"), -1e9, 1e9, &row.error_percent, e) ||
            csv_number(&c, i, csv_find(&c, "memory"), -1e9, 1e9, &row.memory_percent, e))
            return -1;
        MEM_ADD(r->row, r->row_count, r->row_capacity) = row;
    }
    return 0;
}

int hardware_record_read(struct hardware_record *r, const char *path, struct arena *a,
                         struct err *e)
{
    *r = (struct hardware_record){.group = NULL};
    if (read_groups(r, path, a, e) == 0 && read_rows(r, rows_path(path, a), a, e) == 0)
        return 0;
    hardware_record_free(r);
    return -1;
}

void hardware_record_free(struct hardware_record *r)
{
    mem_free(r->group);
    mem_free(r->row);
    *r = (struct hardware_record){.group = NULL};
}

static void print_number(double value, int decimals, FILE *to)
{
    if (!isnan(value))
        text_print_file(to, "%.*f", decimals, value);
}

static void print_groups(const struct hardware_record *r, FILE *to)
{
    fprintf(to, "file,group,set,rows,scored");
    for (size_t k = 0; k < COUNT_OF(figures); k++)
        fprintf(to, ",%s", figures[k].name);
    fprintf(to, ",reason\n");
    for (int i = 0; i < r->group_count; i++) {
        struct hardware_record_group *g = &r->group[i];

        text_print_csv(g->file, to);
        fputc(',', to);
        text_print_csv(g->group, to);
        fprintf(to, ",%s,%d,%d", g->set, g->rows, g->scored);
        for (size_t k = 0; k < COUNT_OF(figures); k++) {
            fputc(',', to);
            print_number(*figure(g, k), 2, to);
        }
        fputc(',', to);
        text_print_csv(g->reason, to);
        fputc('\n', to);
    }
}

static void print_rows(const struct hardware_record *r, FILE *to)
{
    fprintf(to, "file,line,row,error,memory\n");
    for (int i = 0; i < r->row_count; i++) {
        const struct hardware_record_row *row = &r->row[i];

        text_print_csv(row->file, to);
        fprintf(to, ",%d,", row->line);
        text_print_csv(row->name, to);
        fputc(',', to);
        print_number(row->error_percent, 1, to);
        fputc(',', to);
        print_number(row->memory_percent, 1, to);
        fputc('\n', to);
    }
}

int hardware_record_write(const struct hardware_record *r, const char *path, struct err *e)
{
    struct outfile groups, rows;
    struct arena a;
    int status = -1;

    arena_init(&a);
    if (outfile_begin(&groups, path, e) == 0) {
        print_groups(r, groups.to);
        if (outfile_begin(&rows, rows_path(path, &a), e) == 0) {
            print_rows(r, rows.to);
            status = outfile_commit(&rows, e);
        }
        if (status == 0)
            status = outfile_commit(&groups, e);
        else
            outfile_abandon(&groups);
    }
    arena_fini(&a);
    return status;
}

/* ----- what was simulated just now */

static void add_group(struct hardware_record *r, const char *file, const char *set,
                      struct hardware_group *g)
{
    struct hardware_record_group now = {
        .file = file, .group = g->name, .set = set, .rows = g->row_count, .reason = "",
        .scored = g->ours.count, .mean = hardware_mean(&g->ours),
        .median = hardware_median(&g->ours), .second_mean = hardware_second_mean(g),
        .weighted = hardware_weighted(g), .ratio = hardware_ratio(g),
        .covered = hardware_covered(g), .memory_mean = hardware_mean(&g->memory),
        .memory_median = hardware_median(&g->memory)};

    now.best_mean = now.mean;
    now.best_median = now.median;
    MEM_ADD(r->group, r->group_count, r->group_capacity) = now;
}

static void add_set(struct hardware_record *r, const struct hardware_file *f, const char *set)
{
    struct hardware_groups groups;

    hardware_groups_sum(&groups, f, strcmp(set, "part") == 0);
    for (int i = 0; i < groups.count; i++)
        if (groups.item[i].row_count)
            add_group(r, f->name, set, &groups.item[i]);
    hardware_groups_free(&groups);
}

static void add_rows(struct hardware_record *r, const struct hardware_file *f, struct arena *a)
{
    char name[NAME_BYTES];

    for (int i = 0; i < f->row_count; i++) {
        const struct hardware_row *from = &f->row[i];
        struct hardware_record_row row = {
            .file = f->name, .group = from->group ? from->group : "", .line = from->line, .error_percent = NAN, .memory_percent = NAN,
            .name = arena_strdup(a, hardware_short_name(from->workload, name, sizeof(name)))};

        if (hardware_is_scored(from)) {
            row.error_percent = hardware_error_percent(from->simulated_us[CODEGEN_XLA],
                                                       from->measured_us);
            row.memory_percent = 100 * (from->simulated_memory_bytes /
                                        from->measured_memory_bytes - 1);
        }
        MEM_ADD(r->row, r->row_count, r->row_capacity) = row;
    }
}

void hardware_record_make(struct hardware_record *r, const struct hardware_file *files, int count,
                          struct arena *a)
{
    *r = (struct hardware_record){.group = NULL};
    for (int i = 0; i < count; i++) {
        if (!files[i].row_count)
            continue;
        add_set(r, &files[i], "all");
        add_set(r, &files[i], "part");
        add_rows(r, &files[i], a);
    }
}

/* ----- now and before */

static const struct hardware_record_group *find_group(const struct hardware_record *r,
                                                      const struct hardware_record_group *like)
{
    for (int i = 0; i < r->group_count; i++)
        if (strcmp(r->group[i].file, like->file) == 0 &&
            strcmp(r->group[i].group, like->group) == 0 && strcmp(r->group[i].set, like->set) == 0)
            return &r->group[i];
    return NULL;
}

static bool has_file(const struct hardware_record *r, const char *file)
{
    for (int i = 0; i < r->group_count; i++)
        if (strcmp(r->group[i].file, file) == 0)
            return true;
    return false;
}

static bool is_above(double now, double best)
{
    return now > best + HARDWARE_MARGIN;
}

static bool is_worse(const struct hardware_record_group *now,
                     const struct hardware_record_group *old)
{
    return is_above(now->mean, old->best_mean) || is_above(now->median, old->best_median);
}

static double less(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static int join_group(struct hardware_record_group *now, const struct hardware_record_group *old,
                      const char *reason, struct err *e)
{
    if (now->rows == old->rows && now->scored < old->scored)
        return err_set(e, "%s, %s (%s): %d rows are scored, %d were: rows scored never become fewer",
                       now->file, now->group, now->set, now->scored, old->scored);
    now->reason = old->reason;
    if (!is_worse(now, old)) {
        now->best_mean = less(old->best_mean, now->mean);
        now->best_median = less(old->best_median, now->median);
        return 0;
    }
    if (!reason)
        return err_set(e, "%s, %s (%s): mean %.1f %%, median %.1f %%; the best recorded are %.1f and "
                       "%.1f %%: --reason says why it may become worse", now->file, now->group,
                       now->set, now->mean, now->median, old->best_mean, old->best_median);
    now->reason = reason;
    return 0;
}

int hardware_record_join(struct hardware_record *now, const struct hardware_record *old,
                         const char *reason, struct err *e)
{
    struct hardware_record joined = {.group = NULL};

    for (int i = 0; i < now->group_count; i++) {
        const struct hardware_record_group *before = find_group(old, &now->group[i]);

        if (before && join_group(&now->group[i], before, reason, e))
            return -1;
    }
    /* files of the old record that were not looked at keep their place */
    for (int i = 0; i < old->group_count; i++)
        if (!has_file(now, old->group[i].file))
            MEM_ADD(joined.group, joined.group_count, joined.group_capacity) = old->group[i];
    for (int i = 0; i < old->row_count; i++)
        if (!has_file(now, old->row[i].file))
            MEM_ADD(joined.row, joined.row_count, joined.row_capacity) = old->row[i];
    for (int i = 0; i < joined.group_count; i++)
        MEM_ADD(now->group, now->group_count, now->group_capacity) = joined.group[i];
    for (int i = 0; i < joined.row_count; i++)
        MEM_ADD(now->row, now->row_count, now->row_capacity) = joined.row[i];
    hardware_record_free(&joined);
    return 0;
}

/* how far a row is more off than it was, in points; a row that is scored no more is far */
struct change { const struct hardware_record_row *now; double before, points; };

static int by_points(const void *a, const void *b)
{
    double x = ((const struct change *)a)->points, y = ((const struct change *)b)->points;

    return (x < y) - (x > y);
}

static const struct hardware_record_row *find_row(const struct hardware_record *r,
                                                  const struct hardware_record_row *like)
{
    for (int i = 0; i < r->row_count; i++)
        if (r->row[i].line == like->line && strcmp(r->row[i].file, like->file) == 0)
            return &r->row[i];
    return NULL;
}

static void tell_rows(const struct hardware_record *now, const struct hardware_record *old,
                      const struct hardware_record_group *of, FILE *to)
{
    struct change *change = NULL;
    size_t capacity = 0;
    int count = 0;

    for (int i = 0; i < now->row_count; i++) {
        const struct hardware_record_row *row = &now->row[i], *before;
        double points;

        if (strcmp(row->file, of->file) != 0 ||
            (strcmp(of->group, HARDWARE_ALL_ROWS) != 0 && strcmp(row->group, of->group) != 0) ||
            !(before = find_row(old, row)) || isnan(before->error_percent))
            continue;
        points = isnan(row->error_percent) ? INFINITY
                                           : fabs(row->error_percent) - fabs(before->error_percent);
        if (points > HARDWARE_MARGIN)
            MEM_ADD(change, count, capacity) = (struct change){row, before->error_percent, points};
    }
    if (count)
        qsort(change, (size_t)count, sizeof(*change), by_points);
    for (int i = 0; i < count && i < ROWS_TOLD; i++) {
        fprintf(to, "    line %d, %s: %+.1f %%, now ", change[i].now->line, change[i].now->name,
                change[i].before);
        if (isnan(change[i].now->error_percent))
            fprintf(to, "not scored\n");
        else
            fprintf(to, "%+.1f %%\n", change[i].now->error_percent);
    }
    if (count > ROWS_TOLD)
        fprintf(to, "    and %d more\n", count - ROWS_TOLD);
    mem_free(change);
}

int hardware_record_compare(const struct hardware_record *now, const struct hardware_record *old,
                            const char *set, FILE *to)
{
    int worse = 0;

    for (int i = 0; i < now->group_count; i++) {
        const struct hardware_record_group *g = &now->group[i], *before;

        if (strcmp(g->set, set) != 0 || !(before = find_group(old, g)))
            continue;
        if (g->rows != before->rows) {
            fprintf(to, "%s, %s: %d rows, of which the record has %d: not compared\n", g->file,
                    g->group, g->rows, before->rows);
            continue;
        }
        if (g->scored >= before->scored && !is_worse(g, before))
            continue;
        fprintf(to, "%s, %s is worse: mean %.1f %%, median %.1f %%, %d rows scored; the best "
                "recorded are %.1f %% and %.1f %%, %d rows were scored\n", g->file, g->group,
                g->mean, g->median, g->scored, before->best_mean, before->best_median,
                before->scored);
        tell_rows(now, old, g, to);
        worse++;
    }
    return worse;
}
