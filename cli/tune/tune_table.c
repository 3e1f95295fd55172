/* All variants in a table, the best one by name; axes of the map. */
#include "cli/tune/tune.h"

#include <math.h>
#include <string.h>

#include "base/outfile.h"
#include "base/table.h"
#include "base/text.h"

#define NEAR 1.05                       /* times the best: as good, as far as one knows */
#define HEAT_MAX 3.0                    /* times the best, from which on colours do not change */

const char *tune_variant_text(const struct tune *t, const struct tune_variant *v, struct arena *a)
{
    const char *text = "";

    for (int i = 0; i < t->axis_count; i++)
        text = arena_printf(a, "%s%s%s=%s", text, i ? " " : "", t->axis[i].name,
                            t->axis[i].value[v->value[i]]);
    return text;
}

double tune_heat(const struct tune *t, const struct tune_variant *v)
{
    double best = (double)t->variant[t->best].result.cycles;
    double slower = log((double)v->result.cycles / best) / log(HEAT_MAX);

    return slower < 1 ? slower : 1;
}

int tune_reason(const struct tune *t, const struct tune_variant *v)
{
    int count = 0;

    for (const struct tune_variant *o = t->variant; o < v; o++) {
        bool is_new = !o->result.is_done;

        for (const struct tune_variant *p = t->variant; p < o && is_new; p++)
            is_new = p->result.is_done || strcmp(p->result.message, o->result.message) != 0;
        if (is_new && !strcmp(o->result.message, v->result.message))
            return count;
        count += is_new;
    }
    return count;
}

/* ----- axes */

static int find_axis(const struct tune *t, const char *name, size_t length)
{
    for (int i = 0; i < t->axis_count; i++)
        if (strlen(t->axis[i].name) == length && !strncmp(t->axis[i].name, name, length))
            return i;
    return -1;
}

int tune_choose_axes(struct tune *t, struct err *e)
{
    t->rows = t->columns = -1;
    if (t->map) {
        const char *comma = strchr(t->map, ',');
        size_t length = comma ? (size_t)(comma - t->map) : strlen(t->map);

        t->rows = find_axis(t, t->map, length);
        t->columns = comma ? find_axis(t, comma + 1, strlen(comma + 1)) : -1;
        if (t->rows < 0 || (comma && t->columns < 0) || t->rows == t->columns)
            return err_set(e, "--map is \"%s\", wanted are two of the parameters that vary, with a "
                           "comma between", t->map);
        if (comma)
            return 0;
        t->columns = t->rows;
        t->rows = -1;
        return 0;
    }
    for (int i = t->axis_count - 1; i >= 0; i--) {
        if (t->axis[i].count < 2 && t->axis_count > 1)
            continue;
        if (t->columns < 0)
            t->columns = i;
        else if (t->rows < 0)
            t->rows = i;
    }
    if (t->columns < 0)
        t->columns = t->axis_count - 1;
    return 0;
}

const struct tune_variant *tune_at(const struct tune *t, int row, int column)
{
    const struct tune_variant *found = NULL;

    for (int i = 0; i < t->count; i++) {
        const struct tune_variant *v = &t->variant[i];

        if ((t->rows >= 0 && v->value[t->rows] != row) || v->value[t->columns] != column)
            continue;
        if (!found || (v->result.is_done &&
                       (!found->result.is_done || v->result.cycles < found->result.cycles)))
            found = v;
    }
    return found;
}

/* ----- the table */

enum { COLUMN_CYCLES, COLUMN_US, COLUMN_SLOWER, COLUMN_VMEM, COLUMN_MXU, COLUMN_HBM, COLUMN_WHY,
       COLUMN_COUNT };

static struct table_field *fields(const struct tune *t, struct arena *a)
{
    static const struct table_field own[COLUMN_COUNT + 1] = {
        {TABLE_SHOWN(INT, "cycles", NULL), .width = 12},
        {TABLE_SHOWN(REAL, "us", NULL), .decimals = 1},
        {TABLE_SHOWN(REAL, "slower", "of the best"), .decimals = 3},
        {TABLE_SHOWN(INT, "vmem_bytes", "VMEM bytes"), .width = 11},
        {TABLE_SHOWN(REAL, "mxu_percent", "MXU"), .decimals = 1, .suffix = " %"},
        {TABLE_SHOWN(REAL, "hbm_percent", "HBM"), .decimals = 1, .suffix = " %"},
        {TABLE_SHOWN(TEXT, "reason", "why not"), .is_whole_text = true}, {0}};
    struct table_field *f = arena_array(a, (size_t)t->axis_count + COLUMN_COUNT + 1, sizeof(*f));

    for (int i = 0; i < t->axis_count; i++)
        f[i] = (struct table_field){TABLE_SHOWN(TEXT, t->axis[i].name, NULL), .is_right = true};
    memcpy(f + t->axis_count, own, sizeof(own));
    return f;
}

static void fill(const struct tune *t, struct table *table)
{
    for (int i = 0; i < t->count; i++) {
        const struct tune_variant *v = &t->variant[i];
        const struct tune_result *r = &v->result;

        table_add_row(table);
        for (int k = 0; k < t->axis_count; k++)
            table_put_text(table, k, t->axis[k].value[v->value[k]]);
        if (!r->is_done) {
            table_put_text(table, t->axis_count + COLUMN_WHY, r->message);
            continue;
        }
        table_put_int(table, t->axis_count + COLUMN_CYCLES, r->cycles);
        table_put_real(table, t->axis_count + COLUMN_US, r->us);
        table_put_real(table, t->axis_count + COLUMN_SLOWER,
                       (double)r->cycles / (double)t->variant[t->best].result.cycles);
        table_put_int(table, t->axis_count + COLUMN_VMEM, r->vmem_bytes);
        table_put_real(table, t->axis_count + COLUMN_MXU, r->mxu_percent);
        table_put_real(table, t->axis_count + COLUMN_HBM, r->hbm_percent);
    }
}

static int count_near(const struct tune *t)
{
    int near = 0;

    for (int i = 0; i < t->count; i++)
        near += t->variant[i].result.is_done &&
                (double)t->variant[i].result.cycles <=
                    NEAR * (double)t->variant[t->best].result.cycles;
    return near;
}

void tune_print(const struct tune *t)
{
    struct table table;
    struct arena a;
    int runs = 0;

    arena_init(&a);
    table_begin(&table, fields(t, &a), &a);
    fill(t, &table);
    table_print_text(&table, stdout);
    for (int i = 0; i < t->count; i++)
        runs += t->variant[i].result.is_done;
    printf("\n%d of %d variants run", runs, t->count);
    if (t->best >= 0)
        printf("; best: %s, %s cycles = %.2f us (%d within 5 %% of it)",
               tune_variant_text(t, &t->variant[t->best], &a),
               text_thousands(t->variant[t->best].result.cycles).text,
               t->variant[t->best].result.us, count_near(t));
    printf("\n");
    arena_fini(&a);
}

int tune_write_csv(const struct tune *t, struct err *e)
{
    struct table table;
    struct outfile f;
    struct arena a;

    if (outfile_begin(&f, t->csv, e))
        return -1;
    arena_init(&a);
    table_begin(&table, fields(t, &a), &a);
    fill(t, &table);
    table_print_csv(&table, f.to);
    arena_fini(&a);
    return outfile_commit(&f, e);
}
