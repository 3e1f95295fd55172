/*
 * Compares the settings and counters of two runs, and ranks the differences of one core's cycles.
 */
#include "report/diff/diff.h"

#include "base/units.h"
#include "report/diff/diff_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct diff_row *diff_add(struct diff *d, enum diff_section section, const char *name,
                          const char *unit, double a, double b)
{
    d->row = mem_grow(d->row, &d->row_capacity, d->row_count + 1, sizeof(*d->row));
    d->row[d->row_count] = (struct diff_row){
        .section = section, .name = arena_strdup(d->arena, name), .unit = unit,
        .in_a = true, .in_b = true, .a = a, .b = b,
        .is_whole = a == floor(a) && b == floor(b)};
    return &d->row[d->row_count++];
}

/* ---- settings ---- */

/* What a run leaves where and how the host works it out changes none of its numbers. */
static bool is_compared(const char *name)
{
    static const char *const left_out[] = {
        "command.", "output.", "machine.threads", "machine.simd", "machine.no-memo",
        "machine.check-"
    };

    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        if (strncmp(name, left_out[i], strlen(left_out[i])) == 0)
            return false;
    return true;
}

/* of a stats.json by itself nothing is known, and a run on the host has no chip */
static bool has_settings(const struct run_folder *r, bool is_chip)
{
    for (size_t i = 0; i < r->setting_count; i++)
        if (r->setting[i].is_chip == is_chip)
            return true;
    return false;
}

static void add_setting(struct diff *d, const struct run_setting *s, const char *a, const char *b)
{
    if (!is_compared(s->name) || (a && b && strcmp(a, b) == 0) ||
        !has_settings(d->run[0], s->is_chip) || !has_settings(d->run[1], s->is_chip))
        return;
    MEM_ADD(d->setting, d->setting_count, d->setting_capacity) = (struct diff_setting){
        s->name, a, b, s->is_chip};
}

static void compare_settings(struct diff *d)
{
    const struct run_folder *a = d->run[0], *b = d->run[1];

    for (size_t i = 0; i < a->setting_count; i++)
        add_setting(d, &a->setting[i], a->setting[i].value,
                    run_folder_setting(b, a->setting[i].name));
    for (size_t i = 0; i < b->setting_count; i++)
        if (!run_folder_setting(a, b->setting[i].name))
            add_setting(d, &b->setting[i], NULL, b->setting[i].value);
}

/* ---- every number ---- */

static size_t count_leaves(const json_t *v)
{
    const char *key;
    json_t *member;
    size_t count = 0, i;

    if (json_is_object(v)) {
        json_object_foreach((json_t *)v, key, member)
            count += strncmp(key, "host", 4) != 0 ? count_leaves(member) : 0;
        return count;
    }
    if (!json_is_array(v))
        return v != NULL;
    json_array_foreach(v, i, member)
        count += count_leaves(member);
    return count;
}

static void compare_values(struct diff *d, const json_t *a, const json_t *b);

static void compare_objects(struct diff *d, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)a, key, member)
        if (strncmp(key, "host", 4) != 0)
            compare_values(d, member, json_object_get(b, key));
    json_object_foreach((json_t *)b, key, member)
        if (strncmp(key, "host", 4) != 0 && !json_object_get(a, key))
            compare_values(d, NULL, member);
}

static void compare_values(struct diff *d, const json_t *a, const json_t *b)
{
    if (json_is_object(a) && json_is_object(b)) {
        compare_objects(d, a, b);
    } else if (json_is_array(a) && json_is_array(b)) {
        size_t count = json_array_size(a) > json_array_size(b) ? json_array_size(a)
                                                               : json_array_size(b);

        for (size_t i = 0; i < count; i++)
            compare_values(d, json_array_get(a, i), json_array_get(b, i));
    } else {
        size_t leaves = count_leaves(a) > count_leaves(b) ? count_leaves(a) : count_leaves(b);

        d->number_count += leaves;
        d->number_differs += json_equal(a, b) ? 0 : leaves;
    }
}

/* ---- the step ---- */

static const json_t *core_of(const struct diff *d, int run)
{
    return json_array_get(json_object_get(d->run[run]->stats, "cores"), (size_t)d->core);
}

static int check_core(const struct diff *d, int run, struct err *e)
{
    size_t count = json_array_size(json_object_get(d->run[run]->stats, "cores"));
    const json_t *core = core_of(d, run), *cycles;
    int64_t sum = run_int(core, "issue") + run_int(core, "idle");
    const char *name;

    if ((size_t)d->core >= count)
        return err_at(e, d->run[run]->path, 0, 0,
                      "no core %d to compare: the run has %zu core%s", d->core, count,
                      count == 1 ? "" : "s");
    json_object_foreach(json_object_get(core, "stalls"), name, cycles)
        sum += json_integer_value(cycles);
    if (sum != run_int(core, "cycles") || sum != run_int(d->run[run]->stats, "step_cycles"))
        return err_at(e, d->run[run]->path, 0, 0,
                      "issue, stalls and idle of core %d add up to %lld cycles, the step has %lld",
                      d->core, (long long)sum,
                      (long long)run_int(d->run[run]->stats, "step_cycles"));
    return 0;
}

static void add_step(struct diff *d)
{
    static const struct { const char *key, *name, *unit; } rows[] = {
        {"step_cycles", "step", "cycles"}, {"step_us", "step time", "us"},
        {"device_us", "device time, with the launch", "us"},
        {"host_us", "host time, with input and dispatch", "us"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        diff_add(d, DIFF_STEP, rows[i].name, rows[i].unit,
                 run_real(d->run[0]->stats, rows[i].key),
                 run_real(d->run[1]->stats, rows[i].key));
}

static int by_difference(const void *x, const void *y)
{
    const struct diff_row *a = x, *b = y;
    double da = fabs(a->b - a->a), db = fabs(b->b - b->a);

    if (da != db)
        return da > db ? -1 : 1;
    if (a->b + a->a != b->b + b->a)
        return a->b + a->a > b->b + b->a ? -1 : 1;
    return strcmp(a->name, b->name);
}

void diff_rank(struct diff *d, size_t first)
{
    if (d->row_count > first)
        qsort(d->row + first, d->row_count - first, sizeof(*d->row), by_difference);
}

static void add_cycles(struct diff *d)
{
    const json_t *a = core_of(d, 0), *b = core_of(d, 1);
    size_t first = d->row_count;

    diff_add(d, DIFF_CYCLES, "issue", "cycles", run_real(a, "issue"), run_real(b, "issue"));
    diff_add(d, DIFF_CYCLES, "idle", "cycles", run_real(a, "idle"), run_real(b, "idle"));
    diff_add_members(d, DIFF_CYCLES, "cycles", json_object_get(a, "stalls"),
                     json_object_get(b, "stalls"));
    diff_rank(d, first);
}

double diff_step_cycles(const struct diff *d)
{
    return run_real(d->run[1]->stats, "step_cycles") - run_real(d->run[0]->stats, "step_cycles");
}

double diff_step_us(const struct diff *d)
{
    return run_real(d->run[1]->stats, "step_cycles") / d->mhz[1] -
           run_real(d->run[0]->stats, "step_cycles") / d->mhz[0];
}

double diff_clock_us(const struct diff *d)
{
    return run_real(d->run[0]->stats, "step_cycles") * (1.0 / d->mhz[1] - 1.0 / d->mhz[0]);
}

static void find_kind(struct diff *d)
{
    d->is_timed = true;
    for (int i = 0; i < 2; i++) {
        const json_t *chip = json_object_get(d->run[i]->stats, "chip");

        d->mhz[i] = run_real(chip, "clock_mhz");
        d->is_timed &= d->mhz[i] > 0.0 && run_int(d->run[i]->stats, "step_cycles") > 0;
    }
}

int diff_make(struct diff *d, const struct run_folder *a, const struct run_folder *b, int core,
              struct arena *arena, struct err *e)
{
    *d = (struct diff){.run = {a, b}, .core = core, .arena = arena};
    find_kind(d);
    if (d->is_timed && (check_core(d, 0, e) || check_core(d, 1, e)))
        return -1;
    compare_settings(d);
    compare_objects(d, a->stats, b->stats);
    if (d->is_timed) {
        add_step(d);
        add_cycles(d);
    }
    diff_add_counts(d);
    return 0;
}

void diff_fini(struct diff *d)
{
    mem_free(d->row);
    mem_free(d->setting);
    *d = (struct diff){0};
}

bool diff_is_equal(const struct diff *d)
{
    return d->setting_count == 0 && d->number_differs == 0;
}
