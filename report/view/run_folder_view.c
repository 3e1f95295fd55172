/* A run folder as a view: every number checked, so that what is explained of it holds. */
#include "report/view/counters.h"
#include "report/view/run_folder.h"
#include "report/view/view.h"

#include <string.h>

#define CORES_MAX 65536
#define COUNT_MAX (1LL << 52)           /* of anything: sums over all cores stay exact enough */

struct reading {
    const json_t *stats;
    const char *path;
    struct arena *arena;
    struct report_view *v;
    struct err *e;
    const char *op_name[OP_COUNT];      /* as stats.json writes them */
};

static int broken(const struct reading *r, const char *what)
{
    return err_at(r->e, r->path, 0, 0, "stats.json is damaged: %s", what);
}

/* a count that is there, in range */
static int read_count(const struct reading *r, const json_t *object, const char *key,
                      int64_t *to)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > COUNT_MAX)
        return err_at(r->e, r->path, 0, 0,
                      "stats.json is damaged: \"%s\" is not there or no count", key);
    *to = json_integer_value(value);
    return 0;
}

static int read_counters(const struct reading *r, const json_t *object, enum counter_owner owner,
                         void *counters)
{
    for (const struct counter *c = NULL; (c = counter_next(owner, c)) != NULL;)
        if (!(c->may_lack && !json_object_get(object, c->key))
            && read_count(r, object, c->key, counter_in(c, counters)))
            return -1;
    return 0;
}

/* ----- one core */

static int read_stalls(const struct reading *r, const json_t *core, struct core_counters *c)
{
    const json_t *stalls = json_object_get(core, "stalls");

    for (int i = 0; i < STALL_COUNT; i++)
        if (read_count(r, stalls, stall_name((enum stall_reason)i), &c->stall_cycles[i]))
            return -1;
    return 0;
}

static int read_units(const struct reading *r, json_t *core, struct core_counters *c)
{
    json_t *units = json_object_get(core, "units"), *unit;
    const char *name;

    json_object_foreach(units, name, unit) {
        struct unit_counters *u = &c->unit[c->unit_count];

        if (c->unit_count == MACHINE_UNIT_MAX)
            return broken(r, "a core has too many units");
        u->name = arena_strdup(r->arena, name);
        if (read_counters(r, unit, COUNTER_UNIT, u))
            return -1;
        c->unit_count++;
    }
    return 0;
}

/* operations that this version does not know are left out */
static int read_ops(const struct reading *r, json_t *core, struct core_counters *c)
{
    json_t *ops = json_object_get(core, "ops"), *value;
    const char *name;

    json_object_foreach(ops, name, value)
        for (int code = 0; code < OP_COUNT; code++)
            if (strcmp(r->op_name[code], name) == 0 &&
                read_count(r, ops, name, &c->op_count[code]))
                return -1;
    return 0;
}

static int check_core(const struct reading *r, const struct core_counters *c)
{
    cycle_t sum = c->issue_cycles + c->idle_cycles;

    for (int i = 0; i < STALL_COUNT; i++)
        sum += c->stall_cycles[i];
    if (c->cycles != r->v->cycles)
        return broken(r, "the cycles of a core are not those of the step");
    return sum == c->cycles ? 0 : broken(r, "the cycles of a core do not add up");
}

static int read_core(const struct reading *r, json_t *from, struct core_counters *c)
{
    if (read_counters(r, from, COUNTER_CORE, c) || read_stalls(r, from, c) ||
        read_units(r, from, c) || read_ops(r, from, c) ||
        read_counters(r, from, COUNTER_TRAFFIC, c))
        return -1;
    return check_core(r, c);
}

static int read_cores(const struct reading *r)
{
    const json_t *list = json_object_get(r->stats, "cores");
    struct report_view *v = r->v;
    struct core_counters *c;
    int cores_per_chip = v->core_count / v->chip_count, last_chip = -1;

    if (json_array_size(list) != (size_t)v->core_count)
        return broken(r, "\"cores\" has not one entry for each core");
    v->core = arena_array(r->arena, (size_t)v->core_count, sizeof(*v->core));
    c = arena_array(r->arena, (size_t)v->core_count, sizeof(*c));
    for (int i = 0; i < v->core_count; i++) {
        v->core[i] = &c[i];
        if (read_core(r, json_array_get(list, (size_t)i), &c[i]))
            return -1;
        v->active_count += view_is_active(v, i);
        v->active_chip_count += view_is_active(v, i) && i / cores_per_chip != last_chip;
        last_chip = view_is_active(v, i) ? i / cores_per_chip : last_chip;
    }
    return v->active_count ? 0 : broken(r, "no core issued anything");
}

/* ----- memory and links */

static int read_memory(const struct reading *r)
{
    const json_t *list = json_object_get(r->stats, "hbm");
    struct hbm_stats *h = arena_array(r->arena, (size_t)r->v->chip_count, sizeof(*h));

    if (json_array_size(list) != (size_t)r->v->chip_count)
        return broken(r, "\"hbm\" has not one entry for each chip");
    r->v->hbm = arena_array(r->arena, (size_t)r->v->chip_count, sizeof(*r->v->hbm));
    for (int i = 0; i < r->v->chip_count; i++) {
        r->v->hbm[i] = &h[i];
        if (read_counters(r, json_array_get(list, (size_t)i), COUNTER_HBM, &h[i]))
            return -1;
    }
    return 0;
}

static int read_links(const struct reading *r)
{
    const json_t *list = json_object_get(r->stats, "links");
    size_t count = json_array_size(list);
    struct net_link_stats *l = arena_array(r->arena, count, sizeof(*l));

    r->v->link = arena_array(r->arena, count, sizeof(*r->v->link));
    r->v->link_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *link = json_array_get(list, i);
        int64_t from = 0, end = 0;

        if (read_count(r, link, "from", &from) || read_count(r, link, "to", &end) ||
            read_counters(r, link, COUNTER_LINK, &l[i]))
            return -1;
        if (from >= r->v->chip_count || end >= r->v->chip_count)
            return broken(r, "a link joins a chip that is not there");
        l[i].from = (int)from;
        l[i].to = (int)end;
        r->v->link[i] = &l[i];
    }
    return 0;
}

/* ----- the slice */

static int read_slice(const struct reading *r, struct slice *slice)
{
    const struct report_view *v = r->v;

    if (slice_parse(slice, run_text(json_object_get(r->stats, "slice"), "name"), r->e) ||
        slice_fit(slice, v->chip, r->e))
        return -1;
    if (slice->chip_count != v->chip_count || slice->core_count != v->core_count)
        return broken(r, "\"slice\" has other numbers of chips and cores than its name");
    return 0;
}

static int read_sizes(const struct reading *r)
{
    struct report_view *v = r->v;
    const json_t *slice = json_object_get(r->stats, "slice");
    int64_t chips = run_int(slice, "chips"), cores = run_int(slice, "cores");

    if (chips < 1 || cores < chips || cores > CORES_MAX || cores % chips != 0)
        return broken(r, "\"slice\" has no numbers of chips and cores");
    v->chip_count = (int)chips;
    v->core_count = (int)cores;
    if (read_count(r, r->stats, "step_cycles", &v->cycles) ||
        read_count(r, r->stats, "model_flops_per_core", &v->model_flops) ||
        read_count(r, r->stats, "parameter_bytes", &v->parameter_bytes) ||
        read_count(r, r->stats, "input_bytes", &v->input_bytes))
        return -1;
    return v->cycles > 0 ? 0 : broken(r, "the step has no cycles");
}

static int check_kind(const struct reading *r)
{
    if (!json_is_object(json_object_get(r->stats, "chip")))
        return err_at(r->e, r->path, 0, 0,
                      "is of a run on the host interpreter, which has no cycles to explain");
    if (strcmp(run_text(r->stats, "mode"), "functional") == 0)
        return err_at(r->e, r->path, 0, 0,
                      "is of a run with --mode functional, which has no cycles to explain");
    return 0;
}

static void list_op_names(struct reading *r)
{
    char name[ISA_PATTERN_MAX];

    for (int code = 0; code < OP_COUNT; code++)
        r->op_name[code] = arena_strdup(
            r->arena, isa_print_pattern((enum isa_opcode)code, "", name, sizeof(name)));
}

static bool tells_of_chip(const struct run_folder *f)
{
    for (size_t i = 0; i < f->setting_count; i++)
        if (f->setting[i].is_chip)
            return true;
    return false;
}

int run_folder_view(const struct run_folder *f, struct arena *a, struct report_view *v,
                    struct err *e)
{
    struct reading r = {.stats = f->stats, .path = f->path, .arena = a, .v = v, .e = e};
    struct slice *slice = arena_alloc(a, sizeof(*slice));
    struct chip *chip = arena_alloc(a, sizeof(*chip));

    *v = (struct report_view){.slice = slice, .chip = chip, .title = "one step", .ops_core = -1};
    if (strcmp(run_text(f->stats, "mode"), "timing") == 0)
        v->mode = MODE_TIMING;
    if (check_kind(&r))
        return -1;
    if (!tells_of_chip(f))
        return err_at(e, f->path, 0, 0,
                      "has no config.ini with the chip's parameters, which belong to its numbers");
    list_op_names(&r);
    if (run_folder_chip(f, a, chip, e) || read_sizes(&r) || read_slice(&r, slice))
        return -1;
    return read_cores(&r) || read_memory(&r) || read_links(&r) ? -1 : 0;
}
