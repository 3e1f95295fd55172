/* Reads stats.json and config.ini of a run, or the same out of its trace. */
#include "report/view/run_folder.h"

#include "base/units.h"
#include "report/native_trace/ntrace.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- numbers and texts of stats.json ---- */

int64_t run_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

double run_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

const char *run_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- opening ---- */

static int check_stats(const json_t *stats, const char *path, struct err *e)
{
    if (strcmp(run_text(stats, "format"), STATS_FORMAT) != 0)
        return err_at(e, path, 0, 0, "is no " STATS_FORMAT " file (its \"format\" says so)");
    if (run_int(stats, "version") > STATS_VERSION)
        return err_at(e, path, 0, 0,
                      "was written by a newer systole: version %lld, this one reads %d",
                      (long long)run_int(stats, "version"), STATS_VERSION);
    return 0;
}

static int read_stats(struct run_folder *r, const char *path, struct err *e)
{
    json_error_t where;
    FILE *f = fopen(path, "r");

    if (!f)
        return err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    r->stats = json_loadf(f, JSON_REJECT_DUPLICATES, &where);
    fclose(f);
    if (!r->stats)
        return err_at(e, path, where.line, where.column, "%s", where.text);
    if (check_stats(r->stats, path, e) == 0)
        return 0;
    run_folder_close(r);
    return -1;
}

struct reading {
    struct run_folder *folder;
    struct arena *arena;
    bool is_chip;                       /* from the first section of the chip on */
};

static int take_setting(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    struct run_folder *r = reading->folder;

    reading->is_chip |= strcmp(section, "chip") == 0;
    MEM_ADD(r->setting, r->setting_count, r->setting_capacity) = (struct run_setting){
        arena_printf(reading->arena, "%s.%s", section, key),
        arena_strdup(reading->arena, value), reading->is_chip};
    return 1;
}

static int open_folder(struct run_folder *r, const char *path, struct arena *a, struct err *e)
{
    struct reading reading = {.folder = r, .arena = a};
    struct stat st;
    FILE *f;
    int code;

    if (stat(arena_printf(a, "%s/stats.json", path), &st) != 0 && errno == ENOENT)
        return err_at(e, path, 0, 0, "is no folder of a run: it has no stats.json");
    if (read_stats(r, arena_printf(a, "%s/stats.json", path), e))
        return -1;
    f = fopen(arena_printf(a, "%s/config.ini", path), "r");
    code = f || errno == ENOENT ? 0 : errno;
    if (f) {                            /* lines that are no settings tell nothing */
        ini_parse_file(f, take_setting, &reading);
        code = ferror(f) ? errno : 0;
        fclose(f);
    }
    if (code == 0)
        return 0;
    run_folder_close(r);
    return err_at(e, path, 0, 0, "config.ini cannot be read: %s", strerror(code));
}

int run_folder_check_trace(const char *folder, const struct ntrace *t, struct err *e)
{
    static const char *const same[] = {"slice", "chip", "cores", "hbm", "links"};
    struct run_folder of_folder = {.path = folder}, of_trace;
    struct arena a;
    struct err why;
    bool is_same;

    arena_init(&a);
    is_same = open_folder(&of_folder, folder, &a, &why) != 0;
    if (!is_same && run_folder_of_trace(&of_trace, t, folder, &a, &why) == 0) {
        is_same = true;
        for (size_t i = 0; i < COUNT_OF(same); i++)
            is_same &= json_equal(json_object_get(of_folder.stats, same[i]),
                                  json_object_get(of_trace.stats, same[i]));
        run_folder_close(&of_trace);
    }
    run_folder_close(&of_folder);
    arena_fini(&a);
    return is_same ? 0 : err_at(e, folder, 0, 0, "its trace.strace is of another run than its "
                                "stats.json");
}

int run_folder_of_trace(struct run_folder *r, const struct ntrace *t, const char *path,
                        struct arena *a, struct err *e)
{
    const struct ntrace_info *info = ntrace_info(t);
    struct reading reading = {.folder = r, .arena = a, .is_chip = true};
    json_error_t where;
    char value[CHIP_TEXT_BYTES];

    *r = (struct run_folder){.path = path};
    if (!*info->stats_json)
        return err_at(e, path, 0, 0, "has no counters of the run, which are written at its end; "
                      "the folder that --out left has them");
    r->stats = json_loads(info->stats_json, JSON_REJECT_DUPLICATES, &where);
    if (!r->stats)
        return err_at(e, path, 0, 0, "its counters cannot be read: %s", where.text);
    if (check_stats(r->stats, path, e)) {
        run_folder_close(r);
        return -1;
    }
    for (size_t i = 0; i < chip_param_count; i++)
        take_setting(&reading, chip_params[i].section, chip_params[i].key,
                     chip_print_param(info->chip, i, value, sizeof(value)));
    return 0;
}

static int open_trace(struct run_folder *r, const char *path, struct arena *a, struct err *e)
{
    struct ntrace *t = ntrace_open(path, e);
    int status = t ? run_folder_of_trace(r, t, path, a, e) : -1;

    ntrace_close(t);
    return status;
}

int run_folder_open(struct run_folder *r, const char *path, struct arena *a, struct err *e)
{
    struct stat st;

    *r = (struct run_folder){.path = path};
    if (stat(path, &st) != 0)
        return err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return open_folder(r, path, a, e);
    return ntrace_has_suffix(path) ? open_trace(r, path, a, e) : read_stats(r, path, e);
}

void run_folder_close(struct run_folder *r)
{
    json_decref(r->stats);
    mem_free(r->setting);
    *r = (struct run_folder){0};
}

/* ---- what is known of it ---- */

const char *run_folder_setting(const struct run_folder *r, const char *name)
{
    for (size_t i = 0; i < r->setting_count; i++)
        if (strcmp(r->setting[i].name, name) == 0)
            return r->setting[i].value;
    return NULL;
}

int run_folder_chip(const struct run_folder *r, struct arena *a, struct chip *chip,
                    struct err *e)
{
    const char *name = run_text(json_object_get(r->stats, "slice"), "name");
    const char **set = arena_array(a, r->setting_count + 1, sizeof(*set));
    struct slice slice;
    int count = 0;

    if (!*name)
        return err_at(e, r->path, 0, 0, "has no chip: its stats.json names no slice");
    if (slice_parse(&slice, name, e) || chip_load_builtin(chip, slice.chip_name, NULL, a, e)) {
        snprintf(e->file, sizeof(e->file), "%s", r->path);
        return -1;
    }
    for (size_t i = 0; i < r->setting_count; i++)
        if (r->setting[i].is_chip)
            set[count++] = arena_printf(a, "%s=%s", r->setting[i].name, r->setting[i].value);
    return chip_set_all(chip, set, count, NULL, a, e);
}

char *run_folder_describe(const struct run_folder *r, char *buf, size_t buf_bytes)
{
    const json_t *chip = json_object_get(r->stats, "chip");
    const json_t *slice = json_object_get(r->stats, "slice");
    const char *model = run_folder_setting(r, "model.name");
    const char *comma = model ? ", " : "";

    model = model ? model : "";
    if (!json_is_object(chip))
        snprintf(buf, buf_bytes, "%s%son the host, without a chip", model, comma);
    else
        snprintf(buf, buf_bytes, "%s%s%s: %lld chip%s, %lld core%s, %s at %lld MHz", model, comma,
                 run_text(slice, "name"), (long long)run_int(slice, "chips"),
                 run_int(slice, "chips") == 1 ? "" : "s", (long long)run_int(slice, "cores"),
                 run_int(slice, "cores") == 1 ? "" : "s", run_text(chip, "name"),
                 (long long)run_int(chip, "clock_mhz"));
    return buf;
}
