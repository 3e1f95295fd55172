/* Lists what a sweep may vary: the parameters of a chip and the options of the command. */
#include "cli/sweep/sweep.h"

#include "base/text.h"
#include "base/units.h"
#include "sim/chip/chip.h"

#include <assert.h>
#include <string.h>

#define NAMES_MAX 256
#define COMMANDS_MAX 8

struct names {
    const char *name[NAMES_MAX], *arg[NAMES_MAX];
    size_t count;
};

static void add_name(void *context, const char *name, const char *arg)
{
    struct names *n = context;

    if (n->count < NAMES_MAX) {
        n->name[n->count] = name;
        n->arg[n->count++] = arg;
    }
}

static const struct sweep_command *find_command(const struct sweep *s)
{
    for (size_t i = 0; i < s->known_count; i++)
        if (strcmp(s->known[i].name, s->command[0]) == 0)
            return &s->known[i];
    return NULL;
}

/* the argument that the option takes; NULL: no such option, or one without */
static const char *argument_of(const struct sweep *s, const char *name)
{
    struct names n = {.count = 0};

    find_command(s)->list(add_name, &n);
    for (size_t i = 0; i < n.count; i++)
        if (strcmp(n.name[i], name) == 0)
            return n.arg[i];
    return NULL;
}

bool sweep_command_takes(const struct sweep *s, const char *name)
{
    return argument_of(s, name) != NULL;
}

static int check_number(const struct chip_param *p, const struct sweep_axis *axis,
                        const char *value, struct err *e)
{
    int64_t whole;
    double real;

    if (p->kind == CHIP_INT && !p->choices &&
        text_parse_int(value, (int64_t)p->lo, (int64_t)p->hi, &whole))
        return err_set(e, "--vary %s: %s, allowed are whole numbers in %.0f..%.0f", axis->key,
                       value, p->lo, p->hi);
    if (p->kind == CHIP_REAL && text_parse_double(value, p->lo, p->hi, &real))
        return err_set(e, "--vary %s: %s, allowed are numbers in %g..%g", axis->key, value, p->lo,
                       p->hi);
    return 0;
}

static int check_chip_key(const struct sweep_axis *axis, struct arena *a, struct err *e)
{
    const char **names = arena_array(a, chip_param_count, sizeof(*names));

    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];

        names[i] = arena_printf(a, "%s.%s", p->section, p->key);
        if (strcmp(names[i], axis->key) != 0)
            continue;
        for (size_t v = 0; v < axis->count; v++)
            if (check_number(p, axis, axis->value[v], e))
                return -1;
        return 0;
    }
    return err_set(e, "--vary: a chip has no parameter \"%s\"%s; systole chips v3 lists them",
                   axis->key, text_did_you_mean(axis->key, names, chip_param_count).text);
}

static int check_option_key(const struct sweep *s, const struct sweep_axis *axis, struct err *e)
{
    struct names n = {.count = 0};

    if (strcmp(axis->key, "out") == 0 || strcmp(axis->key, "trace") == 0)
        return err_set(e, "--vary: --%s is no setting of a point; each has its own folder",
                       axis->key);
    if (sweep_command_takes(s, axis->key))
        return 0;
    find_command(s)->list(add_name, &n);
    return err_set(e, "--vary: systole %s has no option --%s with a value%s", s->command[0],
                   axis->key, text_did_you_mean(axis->key, n.name, n.count).text);
}

/* "--out DIR", "--out=DIR" or a beginning of it, which argp takes, among the command's own */
static bool has_argument(const struct sweep *s, const char *name)
{
    for (int i = 1; i < s->command_count; i++) {
        size_t length = strcspn(s->command[i], "=");

        if (length > strlen("--a") && strncmp(s->command[i], name, length) == 0)
            return true;
    }
    return false;
}

/* what all points would write over each other's */
static int check_outputs(const struct sweep *s, struct err *e)
{
    static const char *const names[] = {"checkpoint", "csv-log", "asm", "out-npy", "result",
                                        "save", "save-at", "utilization", "view"};
    char option[32];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(option, sizeof(option), "--%s", names[i]);
        if (sweep_command_takes(s, names[i]) && has_argument(s, option))
            return err_set(e, "%s would be written anew by every point; --vary %s=A,B names one for "
                           "each, or run one by itself", option, names[i]);
    }
    return 0;
}

static int check_command(const struct sweep *s, struct err *e)
{
    const char *names[COMMANDS_MAX], *out;

    assert(s->known_count <= COMMANDS_MAX);
    for (size_t i = 0; i < s->known_count; i++)
        names[i] = s->known[i].name;
    if (!find_command(s))
        return err_set(e, "a sweep runs train, gemm or run, not \"%s\"%s", s->command[0],
                       text_did_you_mean(s->command[0], names, s->known_count).text);
    out = argument_of(s, "out");
    if (!out || strcmp(out, "DIR") != 0)
        return err_set(e, "systole %s leaves no folder to compare", s->command[0]);
    if (has_argument(s, "--out"))
        return err_set(e, "--out goes before the command: each point gets a folder in it");
    if (has_argument(s, "--trace"))
        return err_set(e, "--trace would be written anew by every point; trace one by itself");
    return check_outputs(s, e);
}

int sweep_check_keys(const struct sweep *s, struct err *e)
{
    struct arena a;
    int status = check_command(s, e);

    arena_init(&a);
    for (int i = 0; i < s->axis_count && !status; i++)
        status = s->axis[i].is_chip ? check_chip_key(&s->axis[i], &a, e)
                                    : check_option_key(s, &s->axis[i], e);
    arena_fini(&a);
    return status;
}
